//! Commands of the process wrapper, `container-run`, which every container of a job runs.

use crate::job::Job;
use crate::literal::literal;
use crate::process::Process;
use boson_manifest::packages::PACKAGES;
pub use boson_manifest::wrapper::{COPIER, HOME, IN_IMAGE, JOBS, LOGS, LOGS_CONTAINER, PROGRAM, VOLUME, install};

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
    of_program(PROGRAM, verb, wrapped)
}

/// The same in a container of the operator's image, which needs no installed copy.
pub fn command_in_image(verb: &str, wrapped: Wrapped) -> Command {
    of_program(IN_IMAGE, verb, wrapped)
}

/// Copies packages of the container's image to a volume.
pub fn copy_packages<'a>(target: &str, names: impl IntoIterator<Item = &'a &'a str>) -> Vec<String> {
    let mut words = [PROGRAM, "copy-packages", PACKAGES, target].map(String::from).to_vec();
    words.extend(names.into_iter().map(|name| literal(name)));
    words
}

fn of_program(program: &str, verb: &str, wrapped: Wrapped) -> Command {
    let mut words = vec![program.to_string(), verb.to_string()];
    words.extend(wrapped.flags);
    Command { words }
}

// === impl Wrapped ===

impl Wrapped {
    pub fn job(job: &Job) -> Self {
        Self {
            flags: vec!["--job".into(), job.name.clone()],
        }
    }

    pub fn process(job: &Job, process: &Process) -> Self {
        let mut wrapped = Self::job(job);
        wrapped.flags.extend(["--process".into(), process.name.clone()]);
        wrapped
    }

    /// No job: all of the pod.
    pub fn pod() -> Self {
        Self { flags: Vec::new() }
    }

    /// All of the pod, as long as one of these processes runs.
    pub fn processes(all: &[String]) -> Self {
        Self {
            flags: vec!["--members".into(), all.join(",")],
        }
    }
}

// === impl Command ===

impl Command {
    /// Adds a flag with its value.
    #[must_use]
    pub fn with(mut self, flag: &str, value: impl ToString) -> Self {
        self.words.extend([flag.to_string(), value.to_string()]);
        self
    }

    /// Passes these variables of the container on.
    #[must_use]
    pub fn passing(self, names: &[String]) -> Self {
        names.iter().fold(self, |command, name| command.with("--env", name))
    }

    /// The command as a list for Kubernetes.
    pub fn list(&self) -> Vec<String> {
        self.words.iter().map(|word| literal(word)).collect()
    }
}
