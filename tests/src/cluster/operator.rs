//! `host operator` as a process outside of the cluster: all tests start, query and stop it through this module.

use super::objects::has_condition;
use super::{Cluster, Limited};
use crate::ports::free_port;
use crate::registry::Server;
use crate::{WAIT_TIMEOUT, binary, root, try_wait_for_value, try_wait_until};
use anyhow::{Context, Result, anyhow, ensure};
use parking_lot::{Mutex, MutexGuard};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// How much of a log an error shows, in bytes.
const MAX_SHOWN_BYTES: usize = 8_000;
/// Between two checks whether an operator has ended.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// An operator, running or not; its options and its log remain. It ends with this value.
#[derive(Debug)]
pub struct Operator {
    arguments: Vec<OsString>,
    variables: Vec<(String, OsString)>,
    files: TempDir,
    port: u16,
    limit: Option<Limited>,
    child: Arc<Mutex<Option<Child>>>,
}

// === impl Cluster ===

impl Cluster {
    /// Creates the CustomResourceDefinitions, once.
    ///
    /// # Errors
    /// The API server refuses them.
    pub fn define(&self) -> Result<()> {
        let define = || -> Result<()> {
            let folder = root().join("crds");
            let words = ["apply", "--server-side", "--force-conflicts", "--filename"].map(OsString::from);
            self.kubectl(words.into_iter().chain([folder.into()]))?;
            self.wait_until_established()
        };
        self.defined
            .get_or_init(|| define().map_err(|error| format!("{error:#}")))
            .clone()
            .map_err(anyhow::Error::msg)
    }

    /// Waits until the API server serves the kinds of all CustomResourceDefinitions.
    ///
    /// # Errors
    /// It does not in time.
    pub fn wait_until_established(&self) -> Result<()> {
        try_wait_for_value("the defined kinds", WAIT_TIMEOUT, || {
            let mut waiting = self.list("", "customresourcedefinition", "")?;
            waiting.retain(|one| !has_condition(one, "Established"));
            ensure!(waiting.is_empty(), "{waiting:#?}");
            Ok(())
        })
    }
}

// === impl Operator ===

impl Operator {
    /// An operator with an administrator's account and its lease in this namespace. It serves HTTP on its own port, and
    /// no webhook. It is not started.
    ///
    /// # Errors
    /// There is no space for its files.
    pub fn new(cluster: &Cluster, namespace: &str) -> Result<Self> {
        let (files, port) = (tempfile::tempdir()?, free_port()?);
        let images = files.path().join("images");
        let operator = Self {
            arguments: Vec::new(),
            variables: Vec::new(),
            files,
            port,
            limit: None,
            child: Arc::default(),
        };
        Ok(operator
            .variable("BOSON_KUBECONFIG", cluster.kubeconfig())
            .variable("BOSON_OPERATOR_NAMESPACE", namespace)
            .variable("BOSON_OPERATOR_IMAGE", "example.com/boson:1")
            .variable("BOSON_LISTEN", format!("127.0.0.1:{port}"))
            .variable("BOSON_WEBHOOK_LISTEN", "off")
            .variable("BOSON_IMAGE_CACHE", images)
            .variable("BOSON_LOG", "debug"))
    }

    /// Reads images from this registry.
    #[must_use]
    pub fn registry(self, registry: &Server) -> Self {
        self.variable("BOSON_REGISTRY_WITHOUT_TLS", registry.host())
    }

    /// Runs it in a control group with a memory limit.
    #[must_use]
    pub fn within(mut self, limit: Limited) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Its control group.
    pub fn limit(&self) -> Option<&Limited> {
        self.limit.as_ref()
    }

    /// Sets an option by its environment variable, replacing the old value.
    #[must_use]
    pub fn variable(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.retain(|(other, _)| other != name);
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Sets an option, or removes it.
    pub fn set(&mut self, name: &str, value: Option<OsString>) {
        self.variables.retain(|(other, _)| other != name);
        self.variables.extend(value.map(|value| (name.to_string(), value)));
    }

    #[must_use]
    pub fn arguments<A: Into<OsString>>(mut self, more: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(more.into_iter().map(Into::into));
        self
    }

    /// Starts it, for the first time or again.
    ///
    /// # Errors
    /// It was not built.
    pub fn start(&mut self) -> Result<()> {
        let mut command = self.command()?;
        let (log, log_start) = (self.log_file(), self.log().len());
        self.child = Arc::new(Mutex::new(Some(command.spawn()?)));
        let child = Arc::downgrade(&self.child);
        thread::spawn(move || keep_running(&child, command, &log, log_start));
        Ok(())
    }

    fn child(&self) -> MutexGuard<'_, Option<Child>> {
        self.child.lock()
    }

    fn command(&self) -> Result<Command> {
        let log = File::options().create(true).append(true).open(self.log_file())?;
        let outside = std::env::vars_os().map(|(name, _)| name);
        let outside = outside.filter(|name| name.to_string_lossy().starts_with("BOSON_"));
        let mut command = match &self.limit {
            Some(limit) => limit.command(&binary()?),
            None => Command::new(binary()?),
        };
        for name in outside {
            command.env_remove(name);
        }
        command
            .arg("operator")
            .args(&self.arguments)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        Ok(command)
    }

    /// Asks it to stop, as the kubelet does, and waits until it has.
    ///
    /// # Errors
    /// It is not running, or exits with an error.
    pub fn stop(&mut self) -> Result<()> {
        let mut child = self.child().take().context("it does not run")?;
        if child.try_wait()?.is_none() {
            kill_process(Pid::from_child(&child), Signal::TERM).context("it cannot be asked")?;
        }
        let status = child.wait()?;
        ensure!(status.success(), "it ended with {status}:\n{}", self.log());
        Ok(())
    }

    pub fn kill(&mut self) {
        if let Some(mut child) = self.child().take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Its PID.
    ///
    /// # Errors
    /// It is not running.
    pub fn process(&self) -> Result<u32> {
        Ok(self.child().as_ref().context("it does not run")?.id())
    }

    /// Its response to this path, including the head.
    ///
    /// # Errors
    /// It does not answer.
    pub fn ask(&self, path: &str) -> Result<String> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    /// A directory for files of the test.
    pub fn files(&self) -> &Path {
        self.files.path()
    }

    fn log_file(&self) -> PathBuf {
        self.files.path().join("operator.log")
    }

    /// Its log, over all restarts.
    pub fn log(&self) -> String {
        fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    /// Polls until the condition is met.
    ///
    /// # Errors
    /// Timeout: the text has the result of `otherwise`, and the end of the log. Or the condition could not be checked.
    pub fn wait_until(
        &self,
        what: &str,
        timeout: Duration,
        holds: impl FnMut() -> Result<bool>,
        otherwise: impl FnOnce() -> String,
    ) -> Result<()> {
        try_wait_until(what, timeout, holds, || {
            format!("{}\n{}", otherwise(), self.end_of_log())
        })
    }

    /// Looks until it finds a value, and returns it. The error of a look is what there is instead.
    ///
    /// # Errors
    /// Timeout: the text has the end of the log.
    pub fn wait_for_value<T>(&self, what: &str, timeout: Duration, look: impl FnMut() -> Result<T>) -> Result<T> {
        try_wait_for_value(what, timeout, look).map_err(|error| anyhow!("{error}\n{}", self.end_of_log()))
    }

    fn end_of_log(&self) -> String {
        let mut log = self.log();
        let end = log.char_indices().rev().nth(MAX_SHOWN_BYTES).map_or(0, |(at, _)| at);
        log.split_off(end)
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts an operator again whenever it has lost its lease, as the kubelet does: the operator then ends, for example
/// because the API server does not answer, on a busy machine. One that ended for another reason stays as it is.
/// `log_start`: where the log of its last start begins, in bytes.
fn keep_running(child: &Weak<Mutex<Option<Child>>>, mut command: Command, log: &Path, mut log_start: usize) {
    loop {
        thread::sleep(CHECK_INTERVAL);
        let Some(child) = child.upgrade() else { return };
        let mut child = child.lock();
        let Some(running) = child.as_mut() else { return };
        if matches!(running.try_wait(), Ok(None)) {
            continue;
        }
        let text = fs::read_to_string(log).unwrap_or_default();
        // Controllers that stop may write further lines.
        let mut last = text.get(log_start..).unwrap_or_default().lines().rev().take(20);
        let is_lost = last.any(|line| line.contains("the lease was lost"));
        let Some(Ok(started)) = is_lost.then(|| command.spawn()) else {
            return;
        };
        log_start = text.len();
        *running = started;
    }
}
