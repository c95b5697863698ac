//! Access to a cluster through `kubectl`, as its users have it.

use super::{Cluster, program};
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::ffi::OsStr;
use std::io::Write;
use std::process::{Command, Output, Stdio};

/// Result of a run of `kubectl`.
#[derive(Debug)]
pub struct Answer {
    /// Whether it succeeded.
    pub success: bool,
    pub stdout: String,
    pub stderr: String,
}

// === impl Cluster ===

impl Cluster {
    /// Creates a namespace with this name and a unique number.
    ///
    /// # Errors
    /// The API server refuses it.
    pub fn namespace(&self, name: &str) -> Result<String> {
        static COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let name = format!("{name}-{}", COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        self.create(
            "",
            &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}),
        )?;
        Ok(name)
    }

    /// Runs `kubectl` and returns its standard output.
    ///
    /// # Errors
    /// It fails; the text is its standard error.
    pub fn kubectl<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Result<String> {
        let answer = self.try_kubectl(arguments, "")?;
        ensure!(answer.success, "kubectl: {}", answer.stderr);
        Ok(answer.stdout)
    }

    /// Runs `kubectl` with this on standard input.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn try_kubectl<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>, input: &str) -> Result<Answer> {
        let mut child = Command::new(program("kubectl")?)
            .arg("--kubeconfig")
            .arg(self.kubeconfig())
            .args(arguments)
            // The discovery cache of one control plane would be used for another.
            .env("HOME", &self.directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut stdin = child.stdin.take().context("no standard input")?;
        let input = input.as_bytes().to_vec();
        let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let Output { status, stdout, stderr } = child.wait_with_output()?;
        let _ = feeder.join();
        Ok(Answer {
            success: status.success(),
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
        })
    }
}
