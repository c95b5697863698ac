//! Rows about the first run of a deployment, which generates keys, and about the time that a mistake costs then.

use crate::measure::{CONVERT, Process, Sample, host, process};
use crate::table::Row;
use anyhow::{Context, Result};
use boson_tests::synthetic;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

/// As many as a large deployment has.
const KEYS: usize = 60;
/// First runs: the time to generate a key varies.
const RUNS: usize = 5;

/// Keys on all cores.
pub fn keys() -> Result<Vec<Row>> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut runs: Vec<Process> = Vec::new();
    for _ in 0..RUNS {
        let directory = tempfile::tempdir()?;
        fs::write(directory.path().join("manifest.yml"), with_keys("name: keys\n"))?;
        let arguments = ["interpolate", "manifest.yml", "--vars-store", "vars.yml"];
        runs.push(process(&mut host(directory.path(), &arguments)?)?);
    }
    let used = Sample::of(runs.iter().map(|run| run.cpu / run.wall / cores as f64)).median();
    let wall = Sample::of(runs.iter().map(|run| run.wall)).median();
    let details = format!("of {cores}, median of {RUNS} runs; {:.1} s by the clock", wall / 1e3);
    let what = format!("`host interpolate` that makes {KEYS} keys: part of the cores in use");
    Ok(vec![Row::at_least(&what, used, 0.8, "", &details)])
}

/// A link without a provider, in a manifest for which keys would have to be generated.
pub fn mistake() -> Result<Vec<Row>> {
    let directory = tempfile::tempdir()?;
    synthetic::write_deployment(directory.path(), 5)?;
    let manifest = directory.path().join("manifest.yml");
    let text = fs::read_to_string(&manifest)?;
    fs::write(
        &manifest,
        with_keys(&text.replacen("name: service-0", "name: missing", 1)),
    )?;
    let mut runs = Vec::new();
    for _ in 0..RUNS {
        runs.push(refused(directory.path())?);
    }
    let details = format!("median of {RUNS} runs of `host convert`; {KEYS} keys would have to be made");
    let what = "a mistake in the manifest is reported";
    Ok(vec![Row::below(
        what,
        Sample::of(runs).median() / 1e3,
        1.0,
        "s",
        &details,
    )])
}

/// Milliseconds until it fails.
fn refused(directory: &Path) -> Result<f64> {
    let started = Instant::now();
    let status = host(directory, &CONVERT)?
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    let taken = started.elapsed().as_secs_f64() * 1e3;
    let refused = status.code() == Some(1) && !directory.join("vars.yml").exists();
    refused
        .then_some(taken)
        .context("the mistake is not found before keys are made")
}

/// A manifest with this many more variables that need a key.
fn with_keys(manifest: &str) -> String {
    let mut text = String::new();
    for line in manifest.lines().filter(|line| *line != "variables: []") {
        let _ = writeln!(text, "{line}");
    }
    let variables = if text.contains("\nvariables:\n") {
        ""
    } else {
        "variables:\n"
    };
    let mut keys = variables.to_string();
    for nth in 0..KEYS {
        let _ = writeln!(keys, "- {{name: key-{nth}, type: rsa}}");
    }
    if variables.is_empty() {
        text.replacen("\nvariables:\n", &format!("\nvariables:\n{keys}"), 1)
    } else {
        text + &keys
    }
}
