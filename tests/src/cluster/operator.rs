//! `host operator` as a process beside a cluster: the one way in which tests start it, ask it and end it.

use super::{Cluster, Limited};
use crate::registry::Server;
use crate::{binary, root};
use anyhow::{Context, Result, bail, ensure};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How much of a log an error shows, in bytes.
const SHOWN: usize = 8_000;

/// An operator that runs or not; what it is told and what it wrote stay. It ends with this value.
#[derive(Debug)]
pub struct Operator {
    arguments: Vec<OsString>,
    variables: Vec<(String, OsString)>,
    files: TempDir,
    port: u16,
    limit: Option<Limited>,
    child: Option<Child>,
}

/// A port of this machine that nothing listens at.
///
/// # Errors
/// There is none.
pub fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

// === impl Cluster ===

impl Cluster {
    /// Brings the definitions of the operator's resources, once.
    ///
    /// # Errors
    /// The API server refuses them.
    pub fn define(&self) -> Result<()> {
        let define = || -> Result<()> {
            let folder = root().join("crds");
            let words = ["apply", "--server-side", "--force-conflicts", "--filename"].map(OsString::from);
            self.kubectl(words.into_iter().chain([folder.into()]))?;
            let kinds = ["boshdeployments", "quarkssecrets", "quarksstatefulsets", "quarksjobs"];
            let kinds = kinds.map(|kind| format!("crd/{kind}.quarks.cloudfoundry.org"));
            let wait = ["wait", "--for=condition=Established", "--timeout=60s"].map(String::from);
            self.kubectl(wait.iter().chain(&kinds))?;
            Ok(())
        };
        self.defined
            .get_or_init(|| define().map_err(|error| format!("{error:#}")))
            .clone()
            .map_err(anyhow::Error::msg)
    }
}

// === impl Operator ===

impl Operator {
    /// An administrator of the cluster with its lease in this namespace; it answers at a port of its own, and no webhook. It does not run yet.
    ///
    /// # Errors
    /// There is no place for its files.
    pub fn new(cluster: &Cluster, namespace: &str) -> Result<Self> {
        let (files, port) = (tempfile::tempdir()?, free_port()?);
        let images = files.path().join("images");
        let operator = Self {
            arguments: Vec::new(),
            variables: Vec::new(),
            files,
            port,
            limit: None,
            child: None,
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

    /// In a control group with a limit on memory.
    #[must_use]
    pub fn within(mut self, limit: Limited) -> Self {
        self.limit = Some(limit);
        self
    }

    /// The control group that it is in.
    pub fn limit(&self) -> Option<&Limited> {
        self.limit.as_ref()
    }

    /// With an option by its variable, in place of what it was.
    #[must_use]
    pub fn variable(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.retain(|(other, _)| other != name);
        self.variables.push((name.into(), value.into()));
        self
    }

    /// The same, or without the option.
    pub fn set(&mut self, name: &str, value: Option<OsString>) {
        self.variables.retain(|(other, _)| other != name);
        self.variables.extend(value.map(|value| (name.to_string(), value)));
    }

    /// With more arguments.
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
        let child = command
            .arg("operator")
            .args(&self.arguments)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        self.child = Some(child);
        Ok(())
    }

    /// Asks it to stop, as the kubelet does, and waits until it has.
    ///
    /// # Errors
    /// It does not run, or ends as a failure.
    pub fn stop(&mut self) -> Result<()> {
        let mut child = self.child.take().context("it does not run")?;
        let asked = Command::new("kill").args(["-TERM", &child.id().to_string()]).status()?;
        ensure!(asked.success(), "it cannot be asked");
        let status = child.wait()?;
        ensure!(status.success(), "it ended with {status}:\n{}", self.log());
        Ok(())
    }

    /// Ends it at once, as the kernel would.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// The number of its process.
    ///
    /// # Errors
    /// It does not run.
    pub fn process(&self) -> Result<u32> {
        Ok(self.child.as_ref().context("it does not run")?.id())
    }

    /// What it answers to this path, head and all.
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

    /// A place for files of the test that go with it.
    pub fn files(&self) -> &Path {
        self.files.path()
    }

    fn log_file(&self) -> PathBuf {
        self.files.path().join("operator.log")
    }

    /// All that it wrote, of all its lives.
    pub fn log(&self) -> String {
        fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    /// Polls until it holds.
    ///
    /// # Errors
    /// Patience ended: the text has what `otherwise` says, and the end of the log. Or asking failed.
    pub fn until(
        &self,
        what: &str,
        patience: Duration,
        mut holds: impl FnMut() -> Result<bool>,
        otherwise: impl FnOnce() -> String,
    ) -> Result<()> {
        let began = Instant::now();
        while !holds()? {
            if began.elapsed() > patience {
                let log = self.log();
                let end = log.char_indices().rev().nth(SHOWN).map_or(0, |(at, _)| at);
                bail!("{what} did not come in {patience:?}\n{}\n{}", otherwise(), &log[end..]);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        self.kill();
    }
}
