//! `depends on` of monit files: a process starts after the processes that it depends on, and stops before them.

use std::path::PathBuf;

use super::known::{self, Known};
use super::{Owner, State, live_record};
use crate::arguments::Member;
use crate::description::Process;
use crate::output::say::say;
use crate::places::Places;

/// The processes that one process depends on, and those that depend on it.
#[derive(Debug, Default)]
pub struct Order {
    directory: PathBuf,
    dependencies: Vec<Member>,
    dependents: Vec<Member>,
}

/// What the processes do that depend on one that has to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependents {
    Stopped,
    Stopping,
    /// Some run, and are not being stopped.
    Running,
}

// === impl Order ===

impl Order {
    /// The order of a process, from the descriptions of all processes of the pod.
    pub fn of(places: &Places, job: &str, process: &Process) -> Self {
        let all = known::all(places);
        let member = |job: &str, process: &Process| Member {
            job: job.into(),
            process: process.name.clone(),
        };
        let name = |known: &Known| member(&known.job, &known.process);
        let own = member(job, process);
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

    pub fn has_dependencies(&self) -> bool {
        !self.dependencies.is_empty()
    }

    /// The first process that does not run, of those that this one depends on. In a pod that stops they run until this
    /// one has stopped.
    pub fn missing(&self) -> Option<&str> {
        let runs = |member: &&Member| matches!(self.state(member), Some(State::Running | State::Stopping));
        let missing = self.dependencies.iter().find(|member| !runs(member));
        missing.map(|member| member.process.as_str())
    }

    /// What the processes do that depend on this one.
    pub fn dependents(&self) -> Dependents {
        let states = self.dependents.iter().filter_map(|member| self.state(member));
        states.fold(Dependents::Stopped, |all, state| match state {
            State::Halted => all,
            State::Stopping if all == Dependents::Stopped => Dependents::Stopping,
            State::Stopping => all,
            _ => Dependents::Running,
        })
    }

    fn state(&self, member: &Member) -> Option<State> {
        let owner = Owner::Process(&member.job, &member.process);
        live_record(&self.directory, owner).map(|record| record.state)
    }
}

fn depends(process: &Process) -> &[String] {
    process.monit.as_ref().map_or(&[], |monit| &monit.depends)
}
