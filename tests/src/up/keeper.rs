//! The process in the background that owns the cluster. All processes of the cluster end with it.

use super::site::{Site, disks};
use crate::cluster::Cluster;
use crate::registry::Server;
use crate::{WAIT_TIMEOUT, try_wait_until};
use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The directory with the state of `make up`.
#[derive(Clone, Debug)]
pub struct Keeper {
    directory: PathBuf,
}

/// Runs the cluster until SIGTERM or SIGINT, and removes it then.
///
/// # Errors
/// Another process owns a cluster there, or the cluster does not start.
pub fn keep(directory: &Path) -> Result<()> {
    let keeper = Keeper::at(directory);
    let mut lock = keeper.lock()?;
    ensure!(lock.try_lock().is_ok(), "another process owns {}", directory.display());
    lock.set_len(0)?;
    write!(lock, "{}", std::process::id())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // What was started before a signal ends with this process; only the registry needs more.
    let cluster = Cluster::start_with_node()?;
    let image = cluster.operator_image()?;
    let ended = {
        let _context = runtime.enter();
        ended()?
    };
    let registry = Server::start_at(cluster.gateway(), false)?;
    cluster.trust(registry.host())?;
    disks(&cluster)?;
    Site::of_tests(cluster.kubeconfig(), registry.host(), image).write(&keeper.site())?;
    runtime.block_on(ended);
    fs::remove_file(keeper.site())?;
    Ok(())
}

fn ended() -> Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

// === impl Keeper ===

impl Keeper {
    pub(super) fn at(directory: &Path) -> Self {
        Self {
            directory: directory.to_path_buf(),
        }
    }

    /// The cluster. Starts it if it is not running.
    pub(super) fn start(&self) -> Result<Site> {
        if self.process()?.is_none() {
            self.spawn()?;
        }
        Site::read(&self.site())
    }

    /// Ends the cluster, and waits until all of it is removed. `false`: there is none.
    pub(super) fn stop(&self) -> Result<bool> {
        let Some(process) = self.process()? else {
            return Ok(false);
        };
        kill_process(process, Signal::TERM).context("the cluster cannot be stopped")?;
        let what = format!("the end of process {}", process.as_raw_nonzero());
        try_wait_until(&what, WAIT_TIMEOUT, || Ok(self.process()?.is_none()), String::new)?;
        Ok(true)
    }

    /// The process that owns the cluster.
    fn process(&self) -> Result<Option<Pid>> {
        let lock = self.lock()?;
        match lock.try_lock() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => {
                let number = fs::read_to_string(self.directory.join("lock"))?;
                Ok(Pid::from_raw(number.trim().parse()?))
            }
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }

    /// Its owner is the process that locks it; the kernel unlocks it when that ends, however it ends.
    fn lock(&self) -> Result<File> {
        fs::create_dir_all(&self.directory)?;
        let file = self.directory.join("lock");
        Ok(File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(file)?)
    }

    /// Where the process writes what it started, once all of it is ready.
    fn site(&self) -> PathBuf {
        self.directory.join("site.json")
    }

    /// Starts the process in a session of its own: it outlives this one, and the terminal.
    fn spawn(&self) -> Result<()> {
        // Of a process that was killed.
        let _ = fs::remove_file(self.site());
        let log = self.directory.join("log");
        let file = File::create(&log)?;
        let mut child = Command::new("setsid")
            .arg(std::env::current_exe()?)
            .args(["keep", "--state"])
            .arg(&self.directory)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .context("setsid is missing")?;
        let said = || fs::read_to_string(&log).unwrap_or_default();
        let is_ready = || {
            if let Some(status) = child.try_wait()? {
                bail!("the cluster ended ({status}):\n{}", said());
            }
            Ok(self.site().exists())
        };
        try_wait_until("the cluster", 2 * WAIT_TIMEOUT, is_ready, said)
    }
}
