//! Golden folders. `golden/<case>/arguments` holds the arguments of `host`, one a line; it runs in a copy of the folder.
//! `expected.yml`: the output of a run that succeeds, with `expected.warnings` for what it says besides. `expected.err`: what a run says that
//! fails with exit code 1 (or the code in `expected.code`), which prints nothing and leaves no file behind. BLESS=1 rewrites them.

use anyhow::Result;
use boson_tests::{Ran, compare, folders, host, root};
use std::fs;
use std::path::Path;

#[test]
fn every_golden_folder_is_as_expected() {
    let mut wrong = Vec::new();
    for case in folders(&root().join("tests/golden")).unwrap() {
        if let Some(what) = run(&case).unwrap_or_else(|error| Some(format!("{}: {error:#}", case.display()))) {
            wrong.push(what);
        }
    }
    assert!(
        wrong.is_empty(),
        "{} golden folders differ (BLESS=1 rewrites them):\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn run(case: &Path) -> Result<Option<String>> {
    let scratch = tempfile::tempdir()?;
    copy(case, scratch.path())?;
    let before = listing(scratch.path())?;
    let examples = root().join("docs/examples");
    let arguments = fs::read_to_string(case.join("arguments"))?.replace("{examples}", &examples.display().to_string());
    let ran = host(scratch.path(), arguments.lines())?;
    let said = ran
        .stderr
        .replace(&examples.display().to_string(), "{examples}")
        .replace(&scratch.path().display().to_string(), "{here}");
    let code = fs::read_to_string(case.join("expected.code")).map_or(1, |text| text.trim().parse().unwrap_or(1));
    if case.join("expected.err").exists() || (ran.code != 0 && !case.join("expected.yml").exists()) {
        return failed(case, &ran, &said, code, &before, &listing(scratch.path())?);
    }
    if ran.code != 0 {
        return Ok(Some(format!("{}: exit code {}\n{said}", case.display(), ran.code)));
    }
    let output = compare(&case.join("expected.yml"), &ran.stdout)?;
    let warnings = case.join("expected.warnings");
    if output.is_none() && (!said.is_empty() || warnings.exists()) {
        return compare(&warnings, &said);
    }
    Ok(output)
}

fn failed(
    case: &Path,
    ran: &Ran,
    said: &str,
    code: i32,
    before: &[String],
    after: &[String],
) -> Result<Option<String>> {
    if ran.code != code {
        return Ok(Some(format!(
            "{}: exit code {}, not {code}\n{said}",
            case.display(),
            ran.code
        )));
    }
    if !ran.stdout.is_empty() {
        return Ok(Some(format!(
            "{}: a failed run printed {:?}",
            case.display(),
            ran.stdout
        )));
    }
    if before != after {
        return Ok(Some(format!("{}: a failed run left files: {after:?}", case.display())));
    }
    compare(&case.join("expected.err"), said)
}

fn listing(directory: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        found.push(entry.file_name().to_string_lossy().into_owned());
        if entry.path().is_dir() && !entry.path().is_symlink() {
            found.extend(listing(&entry.path())?);
        }
    }
    found.sort();
    Ok(found)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let Some(name) = path.file_name() else { continue };
        if path.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&path)?, to.join(name))?;
        } else if path.is_dir() {
            copy(&path, &to.join(name))?;
        } else if !name.to_string_lossy().starts_with("expected.") {
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}
