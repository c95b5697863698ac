//! The processes of the pod: their descriptions, and the state that the container of each reports.

use super::control::{Request, ask};
use super::{Owner, Record, State, live_record};
use crate::description::{Description, Process, jobs};
use crate::error::{Error, Result};
use crate::places::Places;

/// A process of the pod.
#[derive(Debug)]
pub struct Known {
    pub job: String,
    pub process: Process,
    /// The state that its container reports.
    pub record: Option<Record>,
}

// === impl Known ===

impl Known {
    fn of(places: &Places, job: &str, process: Process) -> Self {
        let record = live_record(&places.instance(), Owner::Process(job, &process.name));
        let job = job.to_string();
        Self { job, process, record }
    }

    /// `J`, or `J.P` where its name is another than the job's.
    pub fn name(&self) -> String {
        if self.job == self.process.name {
            return self.job.clone();
        }
        format!("{}.{}", self.job, self.process.name)
    }

    /// Its name in monit's status.
    pub fn check(&self) -> &str {
        self.process.check.as_deref().unwrap_or(&self.process.name)
    }

    /// Reads the state again that its container reports.
    pub fn refresh(&mut self, places: &Places) {
        self.record = live_record(&places.instance(), Owner::Process(&self.job, &self.process.name));
    }

    /// Its process ID, while it runs.
    pub fn pid(&self) -> Option<u32> {
        let record = self.record.filter(|record| record.pid > 0);
        record.map(|record| record.pid)
    }

    /// Whether it runs, or is about to.
    pub fn is_up(&self) -> bool {
        let state = self.record.map(|record| record.state);
        matches!(state, Some(State::Running | State::Starting | State::Stopping))
    }

    /// Asks its container.
    pub fn ask(&self, places: &Places, request: Request) -> Result<()> {
        ask(&places.instance(), &self.job, &self.process.name, request)
    }
}

/// A process by the names of its job and its own.
pub fn one(places: &Places, job: &str, name: &str) -> Result<Known> {
    let description = Description::read(places, job)?;
    Ok(Known::of(places, job, description.process(name)?.clone()))
}

/// All processes of the pod, in the order of their jobs' names. Files that cannot be read are left out.
pub fn all(places: &Places) -> Vec<Known> {
    let mut out = Vec::new();
    for job in jobs(places) {
        let Ok(description) = Description::read(places, &job) else {
            continue;
        };
        let processes = description.processes.into_iter();
        out.extend(processes.map(|process| Known::of(places, &job, process)));
    }
    out
}

/// The process that monit knows under this name: that of its check, else its own name, its job's, or both.
pub fn by_check(places: &Places, name: &str) -> Result<Known> {
    let mut all = all(places);
    let found = position(&all, name);
    found.map(|index| all.swap_remove(index)).ok_or_else(|| Error {
        code: 1,
        text: format!("There is no service named \"{name}\""),
    })
}

/// Which of these processes monit knows under this name.
pub fn position(all: &[Known], name: &str) -> Option<usize> {
    let positions = [
        all.iter()
            .position(|known| known.process.check.as_deref() == Some(name)),
        all.iter().position(|known| known.process.name == name),
        all.iter().position(|known| known.job == name),
        all.iter()
            .position(|known| known.name() == name || known.name().replace('.', "-") == name),
    ];
    positions.into_iter().flatten().next()
}
