//! Runs the golden cases (see `boson_tests::golden`): `host` with the case's arguments, in a directory with its inputs.
//! Each case is a test with the name of its folder, so a part of the name selects cases.
//!
//! `{examples}` in an argument is `docs/examples`. The files `stdin` and `environment` (`NAME=VALUE` lines) hold the
//! input and the environment. A run that succeeds prints `expected.yml` and the warnings `expected.warnings`, and
//! writes the files in `expected.files`; its exit code is 0 or the one in `expected.code`, as that of `host diff`. A
//! run that fails prints nothing, leaves no file behind, ends with exit code 1 or the one in `expected.code`, and
//! reports `expected.err`. BLESS=1 rewrites the expectations; read them before you commit them.

use anyhow::{Context, Result, ensure};
use boson_tests::golden::{Case, cases};
use boson_tests::{Ran, Run, compare, root};
use libtest_mimic::{Arguments, Trial};
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

fn main() -> Result<()> {
    let mut arguments = Arguments::from_args();
    // As libtest does.
    if let Ok(threads) = env::var("RUST_TEST_THREADS") {
        arguments.test_threads.get_or_insert(threads.parse()?);
    }
    let mut tests = vec![test(
        "no_case_repeats_a_file_of_its_fixtures",
        no_case_repeats_a_file_of_its_fixtures,
    )];
    for case in cases()? {
        tests.push(test(&case.name.clone(), move || run(&case)));
    }
    libtest_mimic::run(&arguments, tests).exit()
}

fn test(name: &str, run: impl FnOnce() -> Result<()> + Send + 'static) -> Trial {
    Trial::test(name, || run().map_err(|error| format!("{error:#}").into()))
}

/// A copy of a file would not follow the changes of the fixture.
fn no_case_repeats_a_file_of_its_fixtures() -> Result<()> {
    let mut repeated = Vec::new();
    for case in cases()? {
        for (path, shared) in given(&case)? {
            let own = case.folder.join(path);
            if own.is_file() && !own.is_symlink() && fs::read(&own)? == fs::read(shared)? {
                repeated.push(own);
            }
        }
    }
    ensure!(repeated.is_empty(), "remove {repeated:#?}");
    Ok(())
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

/// Runs one case. The error says what differs.
fn run(case: &Case) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    case.write_inputs(scratch.path())?;
    let before = listing(scratch.path())?;
    let ran = start(case, scratch.path())?;
    let case = case.folder.as_path();
    ensure!(!ran.stderr.contains("panicked at"), "panics\n{}", ran.stderr);
    let bless = env::var_os("BLESS").is_some();
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
        succeeded(case, &ran)?;
        files(case, scratch.path(), &made)
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

fn succeeded(case: &Path, ran: &Ran) -> Result<()> {
    check_code(case, ran, 0)?;
    compare(&case.join("expected.yml"), &ran.stdout)?;
    let warnings = case.join("expected.warnings");
    if !ran.stderr.is_empty() || warnings.exists() {
        compare(&warnings, &ran.stderr)?;
    }
    Ok(())
}

/// `usual`: the expected exit code without a file.
fn check_code(case: &Path, ran: &Ran, usual: i32) -> Result<()> {
    let text = fs::read_to_string(case.join("expected.code"));
    let code = text.map_or(usual, |text| text.trim().parse().unwrap_or(usual));
    ensure!(ran.code == code, "exit code {}, not {code}\n{}", ran.code, ran.stderr);
    Ok(())
}

fn failed(case: &Path, ran: &Ran, made: &[PathBuf]) -> Result<()> {
    check_code(case, ran, 1)?;
    ensure!(ran.stdout.is_empty(), "a failed run printed {:?}", ran.stdout);
    ensure!(made.is_empty(), "a failed run left files: {made:?}");
    compare(&case.join("expected.err"), &ran.stderr)
}

/// Compares the files that a run wrote, and their execute bits.
fn files(case: &Path, scratch: &Path, made: &[PathBuf]) -> Result<()> {
    let wanted = case.join("expected.files");
    if env::var_os("BLESS").is_some() {
        for path in made {
            fs::create_dir_all(wanted.join(path).parent().context("no parent")?)?;
            let (from, to) = (scratch.join(path), wanted.join(path));
            if from.is_symlink() {
                symlink(fs::read_link(from)?, to)?;
            } else {
                fs::copy(from, to)?;
            }
        }
    }
    let missing = if wanted.is_dir() { listing(&wanted)? } else { Vec::new() };
    ensure!(missing == made, "made the files {made:?}, not {missing:?}");
    let executable = |path: &Path| Ok::<_, anyhow::Error>(fs::metadata(path)?.permissions().mode() & 0o111 != 0);
    for path in made {
        if scratch.join(path).is_symlink() {
            let [found, wanted] = [scratch, wanted.as_path()].map(|place| fs::read_link(place.join(path)).ok());
            ensure!(
                found == wanted,
                "{} is a link to {found:?}, not {wanted:?}",
                path.display()
            );
            continue;
        }
        let same = executable(&scratch.join(path))? == executable(&wanted.join(path))?;
        ensure!(same, "{} differs in who may execute it", path.display());
        compare(&wanted.join(path), &fs::read_to_string(scratch.join(path))?)?;
    }
    Ok(())
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
