//! Rendering the templates that do not depend on the instance once (docs/decisions/0051-templates-rendered-once.md)
//! gives what rendering all of them on each instance does.

use anyhow::{Context, Result};
use boson_tests::golden::{Case, cases};
use boson_tests::{Ran, host};
use std::fs;
use std::path::{Path, PathBuf};

/// A comment in ERB, which changes no output, with words by which a template counts as one that depends on the instance
/// and reaches the templates after it.
const COMMENT: &str = "<%# spec @@ %>";
/// Its error shows the Ruby code of the template.
const QUOTED: &str = "templates/syntax-error";

#[test]
fn one_rendering_stands_for_all_instances() {
    let mut compared = 0;
    for case in cases().unwrap().into_iter().filter(|case| case.name != QUOTED) {
        let once = converted(&case, None).with_context(|| case.name.clone()).unwrap();
        let always = converted(&case, Some(COMMENT))
            .with_context(|| case.name.clone())
            .unwrap();
        let (Some(once), Some(always)) = (once, always) else {
            continue;
        };
        compared += 1;
        assert_eq!(always.code, once.code, "{}: {}", case.name, always.stderr);
        assert_eq!(always.stdout, once.stdout, "{}", case.name);
        assert_eq!(always.stderr, once.stderr, "{}", case.name);
    }
    assert!(compared > 100, "only {compared} cases have templates");
}

/// The result of the case if it converts jobs with templates, each of them with this at its end.
fn converted(case: &Case, end: Option<&str>) -> Result<Option<Ran>> {
    let arguments = case.arguments().unwrap_or_default();
    if !arguments.starts_with("convert\n") {
        return Ok(None);
    }
    let folder = tempfile::tempdir()?;
    case.write_inputs(folder.path())?;
    let templates = templates(folder.path())?;
    for file in templates.iter().filter(|_| end.is_some()) {
        let text = fs::read_to_string(file)?;
        fs::write(file, text + end.unwrap_or_default())?;
    }
    if templates.is_empty() {
        return Ok(None);
    }
    host(folder.path(), arguments.lines()).map(Some)
}

/// The files of jobs that Ruby evaluates.
fn templates(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            found.extend(templates(&path)?);
            continue;
        }
        let is_one = path.components().any(|part| part.as_os_str() == "templates") || path.ends_with("monit");
        if is_one && fs::read_to_string(&path).is_ok_and(|text| text.contains("<%")) {
            found.push(path);
        }
    }
    Ok(found)
}
