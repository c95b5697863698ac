//! Clocks: for a closure, for two in turns, and for a child process with its memory.

use anyhow::{Context, Result, bail};
use boson_tests::binary;
use rustix::time::{ClockId, clock_gettime};
use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use wait4::Wait4;

/// Arguments that convert what [`boson_tests::synthetic::write_deployment`] wrote.
pub const CONVERT: [&str; 6] = [
    "convert",
    "manifest.yml",
    "--release",
    "release",
    "--vars-store",
    "vars.yml",
];

/// Times in milliseconds, sorted.
pub struct Sample(Vec<f64>);

// === impl Sample ===

impl Sample {
    /// A sample of these times.
    pub fn of(times: impl IntoIterator<Item = f64>) -> Self {
        let mut times: Vec<f64> = times.into_iter().collect();
        times.sort_by(f64::total_cmp);
        Self(times)
    }

    pub fn median(&self) -> f64 {
        self.percentile(50)
    }

    /// The smallest time that `percent` of all do not exceed.
    pub fn percentile(&self, percent: usize) -> f64 {
        let at = (self.0.len() * percent).div_ceil(100).saturating_sub(1);
        self.0.get(at).copied().unwrap_or(f64::NAN)
    }
}

/// Duration of something, in milliseconds.
#[derive(Clone, Copy)]
pub struct Time {
    /// By the clock on the wall.
    pub wall: f64,
    /// On a core: without the time in which the thread did not run.
    pub cpu: f64,
}

/// Time of `work` on this thread.
pub fn time<T>(work: impl FnOnce() -> Result<T>) -> Result<Time> {
    let (started, before) = (Instant::now(), on_core());
    let made = work()?;
    let time = Time {
        wall: milliseconds(started.elapsed()),
        cpu: on_core() - before,
    };
    // The result is dropped after the measurement.
    drop(made);
    Ok(time)
}

/// Time that this thread has spent on a core, in milliseconds.
fn on_core() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6
}

/// Runs two closures in turns, so that other load disturbs both. Pairs of times.
pub fn in_turns<T>(
    pairs: usize,
    mut a: impl FnMut() -> Result<T>,
    mut b: impl FnMut() -> Result<T>,
) -> Result<Vec<(T, T)>> {
    (0..pairs).map(|_| Ok((a()?, b()?))).collect()
}

/// Resources that a process used.
#[derive(Clone, Copy)]
pub struct Process {
    /// Wall clock in milliseconds.
    pub wall: f64,
    /// Time on cores in milliseconds, including the kernel's for it.
    pub cpu: f64,
    /// The kernel's part of it.
    pub kernel: f64,
    /// Peak resident memory in bytes.
    pub peak: u64,
}

/// Runs a command and discards its output.
///
/// # Errors
/// It cannot be started, or fails: with the end of its output.
pub fn process(command: &mut Command) -> Result<Process> {
    measured(command.stdin(Stdio::null()))
}

/// Like [`process`], with a file as its input.
///
/// # Errors
/// As [`process`]; also if the file cannot be read.
pub fn fed(command: &mut Command, input: &Path) -> Result<Process> {
    measured(command.stdin(File::open(input)?))
}

/// The `host` binary of the tests.
///
/// # Errors
/// It has not been built.
pub fn host<A: AsRef<OsStr>>(directory: &Path, arguments: &[A]) -> Result<Command> {
    Ok(program(&binary()?, directory, arguments))
}

/// Another `host` binary, with the plugins beside it.
pub fn program<A: AsRef<OsStr>>(path: &Path, directory: &Path, arguments: &[A]) -> Command {
    let mut command = Command::new(path);
    command
        .args(arguments)
        .current_dir(directory)
        .env_remove("BOSON_PLUGINS_DIR");
    command
}

fn measured(command: &mut Command) -> Result<Process> {
    let said = tempfile::NamedTempFile::new()?;
    command.stdout(Stdio::null()).stderr(File::create(said.path())?);
    let started = Instant::now();
    let used = command.spawn().with_context(|| format!("{command:?}"))?.wait4()?;
    let wall = milliseconds(started.elapsed());
    if !used.status.success() {
        let said = std::fs::read_to_string(said.path())?;
        let end: Vec<&str> = said.lines().take(40).collect();
        bail!("{command:?} failed with {}:\n{}", used.status, end.join("\n"));
    }
    Ok(Process {
        wall,
        cpu: milliseconds(used.rusage.utime + used.rusage.stime),
        kernel: milliseconds(used.rusage.stime),
        peak: used.rusage.maxrss,
    })
}

/// Of a duration.
pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
