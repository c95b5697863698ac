//! The scripts of BOSH's agent: pre-start, post-start, pre-stop, drain, post-stop, post-deploy, and errands.

pub mod drain;
mod finish;
pub mod inline;
mod lost;
pub mod once;
pub mod pre_render;
pub mod ready;
pub mod sidecar;
pub mod skip_drain;

use rustix::process::Pid;

use crate::arguments::Flags;
use crate::directories::{VCAP_ID, make};
use crate::environment;
use crate::error::{Context, Result};
use crate::events::Events;
use crate::exec_as::Changes;
use crate::launch::{Launch, Outputs};
use crate::output::container::Container;
use crate::output::logfile::{Access, LogFile};
use crate::output::relay::{Copy, Relay};
use crate::places::Places;

/// The script that runs before all processes start.
const PRE_START: &str = "pre-start";
/// The agent runs scripts this much nicer than itself; drain scripts and errands are as important as it is.
const SCRIPT_NICENESS: i32 = 5;
/// Mode of a job's log directory, as the agent makes it.
const LOG_DIRECTORY_MODE: u32 = 0o770;
/// What a drain script may answer, in bytes.
const MAX_ANSWER_BYTES: usize = 64 << 10;

/// The destination of a script's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// Into log files of its name and into the container's log.
    Files,
    /// Standard output is an answer; standard error is written to the container's log.
    Answer,
    /// Into the container's log.
    Container,
}

/// A script of a job.
pub struct Script<'a> {
    places: &'a Places,
    flags: &'a Flags,
    name: &'a str,
}

// === impl Script ===

impl<'a> Script<'a> {
    /// `/var/vcap/jobs/<job>/bin/<name>`.
    pub fn new(places: &'a Places, flags: &'a Flags, name: &'a str) -> Self {
        Self { places, flags, name }
    }

    pub fn exists(&self) -> bool {
        self.places.script(&self.flags.job, self.name).exists()
    }

    /// Starts it, with these arguments and variables.
    pub fn start(
        &self,
        arguments: &[&str],
        more: &[(&str, String)],
        record: Record,
        events: &mut Events,
    ) -> Result<Pid> {
        let nice = if record == Record::Files { SCRIPT_NICENESS } else { 0 };
        let launch = Launch {
            program: self
                .places
                .script(&self.flags.job, self.name)
                .to_string_lossy()
                .into_owned(),
            arguments: arguments.iter().map(|text| (*text).to_string()).collect(),
            environment: environment::of_script(self.places, &self.flags.env, more),
            changes: Changes {
                nice,
                ..Changes::default()
            },
            ..Launch::default()
        };
        let outputs = if record == Record::Container {
            Outputs::Inherited
        } else {
            Outputs::Pipes
        };
        let running = launch.start(outputs)?;
        match running.pipes {
            Some((output, error)) if record == Record::Answer => events.relay([
                Relay::new(output, None, Copy::Memory(Vec::new(), MAX_ANSWER_BYTES)).context("reading output")?,
                Relay::new(error, None, Copy::Container(Container::Error)).context("reading output")?,
            ]),
            pipes => events.relay_program(pipes, |word| Some(self.log(word)))?,
        }
        Ok(running.pid)
    }

    /// The group is vcap's (root's under BOSH), so that the sidecar for logs, which does not run as root, can read it.
    fn log(&self, word: &str) -> LogFile {
        let directory = self.places.logs(&self.flags.job);
        let root = rustix::process::geteuid().is_root();
        if !directory.is_dir() {
            // The job's processes write there, too. Opening the file reports the error.
            drop(make(&directory, LOG_DIRECTORY_MODE, root));
        }
        let access = Access {
            mode: 0o640,
            owner: root.then_some((0, VCAP_ID)),
        };
        let path = directory.join(format!("{}.{word}.log", self.name));
        LogFile::open(path, access, self.flags.rotation)
    }
}
