//! `depends on` of monit files: a process starts after the processes that it depends on, and stops before them.

use std::path::PathBuf;

use super::known::{self, Known};
use super::{Owner, State, live_record};
use crate::description::Process;
use crate::output::say::say;
use crate::places::Places;

/// A process of the pod, by the name of its job and its own.
type Name = (String, String);

/// The processes that one process depends on, and those that depend on it.
#[derive(Debug, Default)]
pub struct Order {
    directory: PathBuf,
    dependencies: Vec<Name>,
    dependents: Vec<Name>,
}

/// What the processes do that depend on one that has to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependents {
    /// All have stopped.
    Stopped,
    /// Some are being stopped.
    Stopping,
    /// Some run, and are not being stopped.
    Running,
}

// === impl Order ===

impl Order {
    /// The order of a process, from the descriptions of all processes of the pod.
    pub fn of(places: &Places, job: &str, process: &Process) -> Self {
        let all = known::all(places);
        let name = |known: &Known| (known.job.clone(), known.process.name.clone());
        let own = (job.to_string(), process.name.clone());
        let find = |check: &String| known::position(&all, check).map(|index| name(&all[index]));
        for check in depends(process).iter().filter(|check| find(check).is_none()) {
            say(&format!(
                "no process of this pod is '{check}', on which '{}' depends",
                process.name
            ));
        }
        let dependencies = depends(process).iter().filter_map(find);
        let depends_on_this = |known: &&Known| {
            depends(&known.process)
                .iter()
                .any(|check| find(check).as_ref() == Some(&own))
        };
        let dependents = all.iter().filter(depends_on_this).map(name);
        Self {
            directory: places.instance(),
            dependencies: dependencies.filter(|other| *other != own).collect(),
            dependents: dependents.filter(|other| *other != own).collect(),
        }
    }

    /// Whether the process depends on others.
    pub fn has_dependencies(&self) -> bool {
        !self.dependencies.is_empty()
    }

    /// The first process that does not run, of those that this one depends on. In a pod that stops they run until this
    /// one has stopped.
    pub fn missing(&self) -> Option<&str> {
        let runs = |name: &&Name| matches!(self.state(name), Some(State::Running | State::Stopping));
        let missing = self.dependencies.iter().find(|name| !runs(name));
        missing.map(|(_, process)| process.as_str())
    }

    /// What the processes do that depend on this one.
    pub fn dependents(&self) -> Dependents {
        let states = self.dependents.iter().filter_map(|name| self.state(name));
        states.fold(Dependents::Stopped, |all, state| match state {
            State::Halted => all,
            State::Stopping if all == Dependents::Stopped => Dependents::Stopping,
            State::Stopping => all,
            _ => Dependents::Running,
        })
    }

    fn state(&self, (job, process): &Name) -> Option<State> {
        live_record(&self.directory, Owner::Process(job, process)).map(|record| record.state)
    }
}

fn depends(process: &Process) -> &[String] {
    process.monit.as_ref().map_or(&[], |monit| &monit.depends)
}
