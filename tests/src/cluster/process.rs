//! Daemons of a test: each writes its own log file and ends with the test process.

use anyhow::{Context, Result};
use parking_lot::{Mutex, MutexGuard};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread;

/// How much of a log an error shows, in bytes.
const MAX_SHOWN_BYTES: usize = 2_000;

/// Starts processes from a thread that lives as long as the test process: the kernel ends a child when the thread that
/// created it ends, and each test has its own thread.
#[derive(Debug)]
pub(super) struct Spawner {
    directory: PathBuf,
}

#[derive(Debug)]
pub(super) struct Process {
    name: String,
    words: Vec<OsString>,
    log: PathBuf,
    child: Mutex<Child>,
}

/// How much the heap of a program in Go may grow before the next garbage collection, in percent. At 100, the default,
/// it takes a sixth of the API server's processor time.
const GARBAGE_COLLECTION_PERCENT: &str = "400";

type Order = (Command, Sender<std::io::Result<Child>>);

// === impl Spawner ===

impl Spawner {
    /// Writes logs to `directory`.
    pub(super) fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_path_buf(),
        }
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Starts a program: its path or name, and its arguments.
    pub(super) fn spawn(&self, name: &str, words: Vec<OsString>) -> Result<Process> {
        let log = self.directory.join(format!("{name}.log"));
        let child = Mutex::new(child(name, &words, &log)?);
        Ok(Process {
            name: name.to_string(),
            words,
            log,
            child,
        })
    }
}

fn child(name: &str, words: &[OsString], log: &Path) -> Result<Child> {
    let file = File::options().create(true).append(true).open(log)?;
    let mut command = Command::new("setpriv");
    command
        .args(["--pdeathsig", "KILL", "--"])
        .args(words)
        .env("PATH", search_path())
        .env("GOGC", GARBAGE_COLLECTION_PERCENT)
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file);
    let (sender, receiver) = channel();
    orders()
        .send((command, sender))
        .context("the thread that starts processes ended")?;
    receiver.recv()?.with_context(|| format!("{name} cannot be started"))
}

fn orders() -> Sender<Order> {
    static ORDERS: std::sync::OnceLock<Sender<Order>> = std::sync::OnceLock::new();
    ORDERS
        .get_or_init(|| {
            let (sender, receiver) = channel::<Order>();
            thread::spawn(move || {
                for (mut command, answer) in receiver {
                    let _ = answer.send(command.spawn());
                }
            });
            sender
        })
        .clone()
}

/// Search path of programs, including Debian's directories for root.
fn search_path() -> OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/sbin:/sbin");
    path
}

// === impl Process ===

impl Process {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn number(&self) -> u32 {
        self.child().id()
    }

    /// Kills it, and waits until it has ended.
    pub(super) fn kill(&self) -> Result<()> {
        let mut child = self.child();
        let id = child.id();
        // `nsenter` runs a daemon of the node as its child.
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children"))?;
        for daemon in children.split_whitespace() {
            let daemon = Pid::from_raw(daemon.parse()?).context("no process")?;
            kill_process(daemon, Signal::KILL).with_context(|| format!("{} cannot be killed", self.name))?;
        }
        if children.trim().is_empty() {
            child.kill()?;
        }
        child.wait()?;
        Ok(())
    }

    /// Starts it again after [`Self::kill`].
    pub(super) fn restart(&self) -> Result<()> {
        *self.child() = child(&self.name, &self.words, &self.log)?;
        Ok(())
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock()
    }

    /// The end of its log, once it has ended.
    pub(super) fn ended(&mut self) -> Option<String> {
        self.child().try_wait().ok().flatten()?;
        let log = fs::read(&self.log).unwrap_or_default();
        let start = log.len().saturating_sub(MAX_SHOWN_BYTES);
        Some(String::from_utf8_lossy(&log[start..]).into_owned())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let mut child = self.child();
        let _ = child.kill();
        let _ = child.wait();
    }
}
