//! Commands of `container-run`, which every container of a job runs.

use crate::group::job::Job;
use crate::literal::literal;
use crate::process::Process;
pub use boson_manifest::container_run::{COPIER, HOME, IN_IMAGE, JOBS, LOGS, LOGS_CONTAINER, PROGRAM, VOLUME, install};
use boson_manifest::packages::PACKAGES;

#[derive(Clone, Debug)]
pub struct Command {
    words: Vec<String>,
}

/// `container-run <verb>` for all of the pod.
pub fn command(verb: &str) -> Command {
    of_program(PROGRAM, verb)
}

/// The same in a container of the operator's image, which needs no installed copy.
pub fn command_in_image(verb: &str) -> Command {
    of_program(IN_IMAGE, verb)
}

/// `container-run <verb>` for a job.
pub fn command_of_job(verb: &str, job: &Job) -> Command {
    command(verb).with("--job", &job.name)
}

/// `container-run <verb>` for a process of a job.
pub fn command_of_process(verb: &str, job: &Job, process: &Process) -> Command {
    command_of_job(verb, job).with("--process", &process.name)
}

/// Copies packages of the container's image to a volume.
pub fn copy_packages<'a>(target: &str, names: impl IntoIterator<Item = &'a &'a str>) -> Vec<String> {
    let mut words = [PROGRAM, "copy-packages", PACKAGES, target].map(String::from).to_vec();
    words.extend(names.into_iter().map(|name| literal(name)));
    words
}

fn of_program(program: &str, verb: &str) -> Command {
    let words = vec![program.to_string(), verb.to_string()];
    Command { words }
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
    pub fn with_variables(self, names: &[String]) -> Self {
        names.iter().fold(self, |command, name| command.with("--env", name))
    }

    /// The command as a list for Kubernetes.
    pub fn list(&self) -> Vec<String> {
        self.words.iter().map(|word| literal(word)).collect()
    }
}
