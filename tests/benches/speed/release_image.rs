//! Rows about `host image`.

use crate::measure::{Sample, process};
use crate::table::Row;
use anyhow::Result;
use boson_tests::binary;
use boson_tests::compiled::{write_large, write_stemcell};
use std::path::Path;
use std::process::Command;

const RUNS: usize = 3;
/// Size of the release whose time is measured, and of the one whose memory is measured, in bytes.
const USUAL_BYTES: u64 = 100_000_000;
const LARGE_BYTES: u64 = 2 << 30;

/// From a tarball to a layout on disk.
pub fn time() -> Result<Vec<Row>> {
    let directory = tempfile::tempdir()?;
    prepare(directory.path(), USUAL_BYTES)?;
    let runs = (0..RUNS).map(|nth| process(&mut image(directory.path(), &format!("image-{nth}"))?));
    let runs = runs.collect::<Result<Vec<_>>>()?;
    let wall = Sample::of(runs.iter().map(|run| run.wall)).median() / 1e3;
    let cpu = Sample::of(runs.iter().map(|run| run.cpu)).median() / 1e3;
    let details = format!("median of {RUNS} whole processes, 250 MB unpacked; on cores {cpu:.2} s");
    Ok(vec![Row::below(
        "`host image`, compiled release of 100 MB",
        wall,
        10.0,
        "s",
        &details,
    )])
}

/// Memory does not grow with the release.
pub fn memory() -> Result<Vec<Row>> {
    let directory = tempfile::tempdir()?;
    prepare(directory.path(), LARGE_BYTES)?;
    let run = process(&mut image(directory.path(), "image")?)?;
    let peak = run.peak as f64 / f64::from(1 << 20);
    let details = format!("one whole process, 5 GiB unpacked; {:.1} s", run.wall / 1e3);
    Ok(vec![Row::below(
        "`host image`, peak memory for 2 GiB",
        peak,
        200.0,
        "MiB",
        &details,
    )])
}

fn prepare(directory: &Path, bytes: u64) -> Result<()> {
    write_large(&directory.join("release.tgz"), bytes)?;
    write_stemcell(
        &directory.join("stemcell"),
        &[("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")],
    )
}

fn image(directory: &Path, out: &str) -> Result<Command> {
    let mut command = Command::new(binary()?);
    command
        .args([
            "image",
            "release.tgz",
            "--stemcell-image",
            "stemcell",
            "--cache",
            "cache",
            "--out",
            out,
        ])
        .current_dir(directory);
    Ok(command)
}
