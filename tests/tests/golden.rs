//! Runs the golden cases (see `boson_tests::golden`): `host` with the case's arguments, in a directory with its inputs.
//!
//! `{examples}` in an argument is `docs/examples`. The files `stdin` and `environment` (`NAME=VALUE` lines) hold the
//! input and the environment. A run that succeeds prints `expected.yml` and the warnings `expected.warnings`, and
//! writes the files in `expected.files`; its exit code is 0 or the one in `expected.code`, as that of `host diff`. A
//! run that fails prints nothing, leaves no file behind, ends with exit code 1 or the one in `expected.code`, and
//! reports `expected.err`. BLESS=1 rewrites the expectations; read them before you commit them. CASE=<part of a name>
//! runs some of them.

#![allow(clippy::unwrap_used, reason = "in the functions that tests share, too")]

use anyhow::{Context, Result};
use boson_tests::golden::{Case, cases};
use boson_tests::{Ran, Run, compare, root};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

#[test]
fn every_golden_case_is_as_expected() {
    let only = std::env::var("CASE").unwrap_or_default();
    let cases = cases().unwrap().into_iter().filter(|case| case.name.contains(&only));
    let cases = Mutex::new(cases.collect::<Vec<_>>().into_iter());
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(case) = next(&cases) {
                    let what = run(&case).unwrap_or_else(|error| Some(format!("{error:#}")));
                    wrong.lock().extend(what.map(|what| format!("{}: {what}", case.name)));
                }
            });
        }
    });
    let mut wrong = wrong.into_inner();
    wrong.sort();
    assert!(
        wrong.is_empty(),
        "{} golden cases differ (BLESS=1 rewrites them):\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// A copy of a file would not follow the changes of the fixture.
#[test]
fn no_case_repeats_a_file_of_its_fixtures() {
    let mut repeated = Vec::new();
    for case in cases().unwrap() {
        for (path, shared) in given(&case).unwrap() {
            let own = case.folder.join(path);
            if own.is_file() && !own.is_symlink() && fs::read(&own).unwrap() == fs::read(shared).unwrap() {
                repeated.push(own);
            }
        }
    }
    assert!(repeated.is_empty(), "remove {repeated:#?}");
}

/// The files that a case has from fixtures. Later ones replace earlier ones.
fn given(case: &Case) -> Result<BTreeMap<PathBuf, PathBuf>> {
    let mut given = BTreeMap::new();
    for (path, fixture) in case.fixtures()? {
        if fixture.is_dir() {
            let files = listing(&fixture)?.into_iter();
            given.extend(files.map(|file| (path.join(&file), fixture.join(&file))));
        } else {
            given.insert(path, fixture);
        }
    }
    Ok(given)
}

fn next(cases: &Mutex<std::vec::IntoIter<Case>>) -> Option<Case> {
    cases.lock().next()
}

/// Runs one case. `None`: as expected; otherwise the difference.
fn run(case: &Case) -> Result<Option<String>> {
    let scratch = tempfile::tempdir()?;
    case.write_inputs(scratch.path())?;
    let before = listing(scratch.path())?;
    let ran = start(case, scratch.path())?;
    let case = case.folder.as_path();
    if ran.stderr.contains("panicked at") {
        return Ok(Some(format!("panics\n{}", ran.stderr)));
    }
    let bless = std::env::var_os("BLESS").is_some();
    let fails = if bless {
        ran.code != 0 && ran.stdout.is_empty()
    } else {
        case.join("expected.err").exists()
    };
    if bless {
        ["expected.yml", "expected.warnings", "expected.err"]
            .iter()
            .for_each(|name| drop(fs::remove_file(case.join(name))));
        let _ = fs::remove_dir_all(case.join("expected.files"));
    }
    let mut made = listing(scratch.path())?;
    made.retain(|path| !before.contains(path));
    if fails {
        failed(case, &ran, &made)
    } else {
        Ok(succeeded(case, &ran)?.or(files(case, scratch.path(), &made)?))
    }
}

fn start(case: &Case, scratch: &Path) -> Result<Ran> {
    let examples = root().join("docs/examples").display().to_string();
    let arguments = case.arguments()?.replace("{examples}", &examples);
    let mut run = Run::new(scratch, arguments.lines());
    run.input = fs::read(scratch.join("stdin")).unwrap_or_default();
    let environment = fs::read_to_string(scratch.join("environment")).unwrap_or_default();
    run.environment = environment
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    let mut ran = run.start()?;
    for text in [&mut ran.stdout, &mut ran.stderr] {
        *text = text
            .replace(&examples, "{examples}")
            .replace(&scratch.display().to_string(), "{here}");
    }
    Ok(ran)
}

fn succeeded(case: &Path, ran: &Ran) -> Result<Option<String>> {
    let code = code(case, 0);
    if ran.code != code {
        return Ok(Some(format!("exit code {}, not {code}\n{}", ran.code, ran.stderr)));
    }
    let output = compare(&case.join("expected.yml"), &ran.stdout)?;
    let warnings = case.join("expected.warnings");
    if output.is_none() && (!ran.stderr.is_empty() || warnings.exists()) {
        return compare(&warnings, &ran.stderr);
    }
    Ok(output)
}

/// The expected exit code. `usual`: without the file.
fn code(case: &Path, usual: i32) -> i32 {
    let text = fs::read_to_string(case.join("expected.code"));
    text.map_or(usual, |text| text.trim().parse().unwrap_or(usual))
}

fn failed(case: &Path, ran: &Ran, made: &[PathBuf]) -> Result<Option<String>> {
    let code = code(case, 1);
    if ran.code != code {
        return Ok(Some(format!("exit code {}, not {code}\n{}", ran.code, ran.stderr)));
    }
    if !ran.stdout.is_empty() {
        return Ok(Some(format!("a failed run printed {:?}", ran.stdout)));
    }
    if !made.is_empty() {
        return Ok(Some(format!("a failed run left files: {made:?}")));
    }
    compare(&case.join("expected.err"), &ran.stderr)
}

/// Compares the files that a run wrote, and their execute bits.
fn files(case: &Path, scratch: &Path, made: &[PathBuf]) -> Result<Option<String>> {
    let wanted = case.join("expected.files");
    if std::env::var_os("BLESS").is_some() {
        for path in made {
            fs::create_dir_all(wanted.join(path).parent().context("no parent")?)?;
            fs::copy(scratch.join(path), wanted.join(path))?;
        }
    }
    let missing = if wanted.is_dir() { listing(&wanted)? } else { Vec::new() };
    if missing != made {
        return Ok(Some(format!("made the files {made:?}, not {missing:?}")));
    }
    let executable = |path: &Path| Ok::<_, anyhow::Error>(fs::metadata(path)?.permissions().mode() & 0o111 != 0);
    for path in made {
        if executable(&scratch.join(path))? != executable(&wanted.join(path))? {
            return Ok(Some(format!("{} differs in who may execute it", path.display())));
        }
        if let Some(what) = compare(&wanted.join(path), &fs::read_to_string(scratch.join(path))?)? {
            return Ok(Some(what));
        }
    }
    Ok(None)
}

/// Paths of all files below `directory`, sorted.
fn listing(directory: &Path) -> Result<Vec<PathBuf>> {
    let (mut found, mut open) = (Vec::new(), vec![directory.to_path_buf()]);
    while let Some(place) = open.pop() {
        for entry in fs::read_dir(place)? {
            let path = entry?.path();
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
            } else {
                found.push(path.strip_prefix(directory)?.to_path_buf());
            }
        }
    }
    found.sort();
    Ok(found)
}
