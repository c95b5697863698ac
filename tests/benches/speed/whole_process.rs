//! Rows that start the `host` binary as a user does.

use crate::measure::{self, CONVERT, Process, Sample, process};
use crate::table::Row;
use anyhow::Result;
use boson_tests::synthetic;
use std::fs;
use std::path::Path;

const STARTS: usize = 41;
const INTERPOLATIONS: usize = 21;
const OPS_FILES: usize = 20;
/// Groups of the three converted deployments, and the number of runs of each.
const SIZES: [(usize, usize); 3] = [(25, 3), (50, 3), (100, 3)];
/// How much more than proportional the largest may cost: caches miss more often, nothing else may grow.
const MAX_GROWTH: f64 = 1.25;

/// The whole run of the smallest command that calls a stage: an upper limit for the time before the first call.
pub fn start() -> Result<Vec<Row>> {
    let directory = tempfile::tempdir()?;
    fs::write(directory.path().join("manifest.yml"), "name: small\n")?;
    fs::write(
        directory.path().join("ops.yml"),
        "- {type: replace, path: /name, value: other}\n",
    )?;
    let runs = runs(STARTS, || {
        host(directory.path(), &["interpolate", "manifest.yml", "-o", "ops.yml"])
    })?;
    let (wall, cpu) = (walls(&runs).median(), cpus(&runs).median());
    let details = format!("median of {STARTS} whole `host interpolate` of one line; on cores {cpu:.1} ms");
    Ok(vec![Row::below(
        "start of `host` to first stage call",
        wall,
        30.0,
        "ms",
        &details,
    )])
}

/// Typical use with a large deployment.
pub fn interpolate() -> Result<Vec<Row>> {
    let directory = tempfile::tempdir()?;
    let groups = synthetic::groups_for(3000);
    fs::write(directory.path().join("manifest.yml"), synthetic::manifest(groups))?;
    let mut arguments = vec![
        "interpolate".to_string(),
        "manifest.yml".into(),
        "-v".into(),
        "system_domain=example.com".into(),
    ];
    for nth in 0..OPS_FILES {
        let name = format!("ops-{nth}.yml");
        fs::write(directory.path().join(&name), synthetic::ops_file(nth, groups))?;
        arguments.extend(["-o".to_string(), name]);
    }
    let runs = runs(INTERPOLATIONS, || host(directory.path(), &arguments))?;
    let (wall, cpu) = (walls(&runs).median(), cpus(&runs).median());
    let details = format!("median of {INTERPOLATIONS} whole processes; on cores {cpu:.1} ms");
    Ok(vec![Row::below(
        "`host interpolate`, 3,000 lines, 20 ops files",
        wall,
        100.0,
        "ms",
        &details,
    )])
}

/// Three sizes of the same deployment, in turns.
pub fn convert() -> Result<Vec<Row>> {
    let directory = tempfile::tempdir()?;
    let mut measured: Vec<Vec<Process>> = vec![Vec::new(); SIZES.len()];
    let most = SIZES.map(|(_, times)| times).into_iter().max().unwrap_or(0);
    for round in 0..most {
        for (nth, (groups, times)) in SIZES.into_iter().enumerate() {
            let here = directory.path().join(groups.to_string());
            if round == 0 {
                synthetic::write_deployment(&here, groups)?;
                // Passwords are generated once and stored: only the conversion is measured.
                host(&here, &CONVERT)?;
            }
            if round < times {
                measured[nth].push(host(&here, &CONVERT)?);
            }
        }
    }
    let wall = |nth: usize| walls(&measured[nth]).median();
    let cpu = |nth: usize| cpus(&measured[nth]).median();
    let peak = |nth: usize| measured[nth].iter().map(|run| run.peak).max().unwrap_or(0) as f64 / f64::from(1 << 20);
    let groups = SIZES.map(|(groups, _)| groups);
    let of = |what: &dyn Fn(usize) -> String| {
        (0..SIZES.len())
            .map(|nth| format!("{} groups {}", groups[nth], what(nth)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let walls = of(&|nth| format!("{:.2} s", wall(nth) / 1e3));
    let cpus = of(&|nth| format!("{:.2} s", cpu(nth) / 1e3));
    let peaks = of(&|nth| format!("{:.0} MiB", peak(nth)));
    // On cores, because other load would slow down one size and not the other.
    let growth = (cpu(2) / cpu(0)) / (groups[2] as f64 / groups[0] as f64);
    let what = "`host convert`, 100 groups x 3 jobs x 4 templates";
    Ok(vec![
        Row::below(
            what,
            wall(2) / 1e3,
            10.0,
            "s",
            &format!("median of {most}; {walls}; on cores {:.2} s", cpu(2) / 1e3),
        ),
        Row::below(
            "  its memory",
            peak(2),
            1024.0,
            "MiB",
            &format!("max of {most}; {peaks}"),
        ),
        Row::below(
            "  its growth from 25 to 100 groups",
            growth,
            MAX_GROWTH,
            "x linear",
            &format!("of time on cores: {cpus}"),
        ),
    ])
}

/// Runs once unmeasured to fill the caches.
fn runs(times: usize, mut run: impl FnMut() -> Result<Process>) -> Result<Vec<Process>> {
    run()?;
    (0..times).map(|_| run()).collect()
}

fn host<A: AsRef<std::ffi::OsStr>>(directory: &Path, arguments: &[A]) -> Result<Process> {
    process(&mut measure::host(directory, arguments)?)
}

fn walls(runs: &[Process]) -> Sample {
    Sample::of(runs.iter().map(|run| run.wall))
}

fn cpus(runs: &[Process]) -> Sample {
    Sample::of(runs.iter().map(|run| run.cpu))
}
