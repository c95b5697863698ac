//! Starts programs. Where a program runs as another user or with other limits, this program is started first, as
//! `exec-as`, changes itself and becomes it: code between fork and exec would be unsafe.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Pid;

use crate::error::{Error, Result};
use crate::exec_as::Changes;
use crate::places::program;

/// A program, ready to start.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// The program: a path, or a name that is looked for in the environment's `PATH`.
    pub program: String,
    pub arguments: Vec<String>,
    /// All of its variables.
    pub environment: Vec<(String, OsString)>,
    /// Its working directory; this process's if absent.
    pub directory: Option<PathBuf>,
    /// The differences from this process's attributes.
    pub changes: Changes,
}

/// Output of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outputs {
    /// Into two pipes.
    Pipes,
    /// The output of this process.
    Inherited,
}

#[derive(Debug)]
pub struct Running {
    pub pid: Pid,
    /// Standard output and error, where they are pipes.
    pub pipes: Option<(OwnedFd, OwnedFd)>,
}

// === impl Launch ===

impl Launch {
    /// Starts it, in its own process group.
    pub fn start(&self, outputs: Outputs) -> Result<Running> {
        let mut command = self.command();
        command.process_group(0).stdin(Stdio::null());
        if outputs == Outputs::Pipes {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        let mut child = command.spawn().map_err(|error| self.failure(&error))?;
        let pipes = child
            .stdout
            .take()
            .map(OwnedFd::from)
            .zip(child.stderr.take().map(OwnedFd::from));
        // The number is enough: the loop reaps all children alike.
        Ok(Running {
            pid: Pid::from_child(&child),
            pipes,
        })
    }

    /// Becomes the program; returns only if that fails.
    pub fn exec(&self) -> Error {
        let error = self.command().exec();
        self.failure(&error)
    }

    fn command(&self) -> Command {
        let mut command = if self.changes.is_none() {
            let mut command = Command::new(&self.program);
            if let Some(directory) = &self.directory {
                command.current_dir(directory);
            }
            command
        } else {
            let mut command = Command::new(program());
            command.arg("exec-as").arg(self.changes.argument());
            command.arg(self.directory.as_deref().unwrap_or(Path::new("")));
            command.arg(&self.program);
            command
        };
        command.args(&self.arguments).env_clear();
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    fn failure(&self, error: &io::Error) -> Error {
        Error::of_exec(error, format!("cannot start {}: {error}", self.program))
    }
}
