//! A control group with a memory limit, in which a test runs one program, as in a container.

use super::node::{self, Groups};
use anyhow::{Context, Result, ensure};
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The group; it is removed with this value.
#[derive(Debug)]
pub struct Limited {
    groups: Groups,
    directory: PathBuf,
}

// === impl Limited ===

impl Limited {
    /// A group with this memory limit in bytes. `None` without root privileges: the test is then skipped, which is
    /// printed here. In continuous integration this is an error instead.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn to(bytes: u64) -> Result<Option<Self>> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
        if !node::is_possible() && !ci {
            // Bypasses the test harness, which shows output only of tests that fail.
            let _ = writeln!(
                std::io::stderr(),
                "skipped a test with a limit on memory: a control group needs root"
            );
            return Ok(None);
        }
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("boson-limited-{}-{number}", std::process::id());
        let groups = Groups::named(&name)?.of_memory();
        let directory = groups.paths().next().context("no control group counts memory here")?;
        let limited = Self {
            directory: directory.to_path_buf(),
            groups,
        };
        limited.groups.make()?;
        let files = ["memory.max", "memory.limit_in_bytes"].map(|file| limited.directory.join(file));
        let file = files
            .iter()
            .find(|file| file.exists())
            .context("no limit on memory here")?;
        fs::write(file, bytes.to_string())?;
        let swap = limited.directory.join("memory.swap.max");
        if swap.exists() {
            fs::write(swap, "0")?;
        }
        Ok(Some(limited))
    }

    /// A program in the group.
    pub fn command(&self, program: &Path) -> Command {
        let mut words = self.groups.entering(vec![OsString::from(program)]).into_iter();
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words);
        command
    }

    /// Number of processes that the kernel killed because the group exceeded its memory.
    ///
    /// # Errors
    /// The kernel does not report it.
    pub fn killed(&self) -> Result<u64> {
        let files = ["memory.events", "memory.oom_control"].map(|file| self.directory.join(file));
        let file = files.iter().find(|file| file.exists()).context("no events")?;
        let text = fs::read_to_string(file)?;
        let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        Ok(line.context("no oom_kill")?.trim().parse()?)
    }
}

/// Peak memory of this process, in bytes.
///
/// # Errors
/// It is not running.
pub fn peak(process: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: u64 = line.context("no VmHWM")?.trim().trim_end_matches("kB").trim().parse()?;
    ensure!(kib > 0, "no memory at all");
    Ok(kib * 1024)
}

impl Drop for Limited {
    fn drop(&mut self) {
        for path in self.groups.paths() {
            // A process that has just ended leaves its group a moment later.
            for _ in 0..50 {
                if fs::remove_dir(path).is_ok() || !path.exists() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        }
    }
}
