//! Commands of the process wrapper, `container-run`, which every container of a job runs.

use crate::container::literal;
use crate::job::Job;
use crate::process::Process;
pub use boson_manifest::wrapper::{COPIER, HOME, JOBS, PROGRAM, VOLUME, install};

/// The subject of a command.
#[derive(Clone, Debug)]
pub struct Wrapped {
    flags: Vec<String>,
}

/// A command line.
#[derive(Clone, Debug)]
pub struct Command {
    words: Vec<String>,
}

/// `container-run <verb>` for this.
pub fn command(verb: &str, wrapped: Wrapped) -> Command {
    let mut words = vec![PROGRAM.to_string(), verb.to_string()];
    words.extend(wrapped.flags);
    Command { words }
}

// === impl Wrapped ===

impl Wrapped {
    /// A job.
    pub fn job(job: &Job) -> Self {
        Self {
            flags: vec!["--job".into(), job.name.clone()],
        }
    }

    /// A process.
    pub fn process(job: &Job, process: &Process) -> Self {
        let mut wrapped = Self::job(job);
        wrapped.flags.extend(["--process".into(), process.name.clone()]);
        wrapped
    }

    /// No job: all of the pod.
    pub fn pod() -> Self {
        Self { flags: Vec::new() }
    }
}

// === impl Command ===

impl Command {
    /// With a flag and its value.
    #[must_use]
    pub fn with(mut self, flag: &str, value: impl ToString) -> Self {
        self.words.extend([flag.to_string(), value.to_string()]);
        self
    }

    /// With these variables of the container passed on.
    #[must_use]
    pub fn passing(self, names: &[String]) -> Self {
        names.iter().fold(self, |command, name| command.with("--env", name))
    }

    /// As Kubernetes has it.
    pub fn list(&self) -> Vec<String> {
        self.words.iter().map(|word| literal(word)).collect()
    }
}
