//! Rows about container-run, which is in every container of a pod: the time it adds to a start, and its memory while a
//! process runs.

use crate::measure::{Sample, process};
use crate::table::Row;
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const STARTS: usize = 101;

/// The static binary, as in images.
pub fn container_run() -> Result<Vec<Row>> {
    let pod = pod()?;
    let (mut bare, mut wrapped) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        bare.push(process(&mut Command::new("/bin/true"))?.wall);
        wrapped.push(process(&mut run(pod.path(), "short"))?.wall);
    }
    let (bare, wrapped) = (Sample::of(bare), Sample::of(wrapped));
    let details = format!(
        "medians of {STARTS} in turns: {:.1} ms with it, {:.1} ms without; with stop and clean-up",
        wrapped.median(),
        bare.median()
    );
    Ok(vec![
        Row::below(
            "container-run, added to a process's start",
            wrapped.median() - bare.median(),
            10.0,
            "ms",
            &details,
        ),
        Row::below(
            "  its resident memory",
            resident(pod.path())?,
            3.0,
            "MiB",
            "peak until a process runs, of the static binary",
        ),
    ])
}

/// The files in a container of a pod: the binary, and two processes.
fn pod() -> Result<TempDir> {
    let directory = tempfile::tempdir()?;
    let host = boson_tests::binary()?;
    let target = host.ancestors().nth(2).context("no target directory")?;
    let status = Command::new(target.join("container-run"))
        .arg("install")
        .arg(directory.path().join("container-run"))
        .status()
        .context("run `make build` first")?;
    ensure!(status.success(), "cannot install container-run");
    let of = |name: &str, program: &str| json!({"name": name, "executable": program, "args": ["100"], "workdir": "/"});
    let description =
        json!({"version": 1, "job": "j", "processes": [of("short", "/bin/true"), of("long", "/bin/sleep")]});
    fs::write(
        directory.path().join("container-run/processes/j.json"),
        description.to_string(),
    )?;
    fs::create_dir_all(directory.path().join("vcap/store"))?;
    Ok(directory)
}

fn run(directory: &Path, process: &str) -> Command {
    let program: PathBuf = directory.join("container-run/bin/container-run");
    let mut command = Command::new(program);
    command
        .args(["process", "--job", "j", "--process", process])
        .env("BPM_BOSH_ROOT", directory.join("vcap"))
        .stdout(Stdio::null());
    command
}

/// Its peak memory in MiB, once its process runs.
fn resident(directory: &Path) -> Result<f64> {
    let mut child = run(directory, "long").spawn()?;
    let end = Instant::now() + Duration::from_secs(10);
    let pid_file = directory.join("vcap/sys/run/bpm/j/long.pid");
    while !pid_file.exists() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
    }
    let status = fs::read_to_string(format!("/proc/{}/status", child.id()))?;
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::TERM)?;
    child.wait()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes: f64 = line
        .and_then(|line| line.split_whitespace().next())
        .context("no VmHWM")?
        .parse()?;
    Ok(kibibytes / 1024.0)
}
