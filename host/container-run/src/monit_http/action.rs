//! Actions of monit: requested at once, done later, as clients expect. Until then the status names them as pending.

use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::arguments::Member;
use crate::error::{Context, Error, Result};
use crate::instance::control::{Request, ask};
use crate::instance::{Owner, live_record};
use crate::output::say::say;
use crate::places::Places;

/// How long a stop waits for a container that does not run. The kubelet waits five minutes at most before it starts one
/// again.
const STOP_TIMEOUT: Duration = Duration::from_secs(360);
/// Interval between checks for the container.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Enough for a request to a socket; the default is 2 MiB.
const STACK_BYTES: usize = 128 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start the process, if it was stopped.
    Start,
    /// Stop it and leave it stopped.
    Stop,
    /// Stop it and start it again.
    Restart,
    /// Start the process: monit also starts what it begins to monitor.
    Monitor,
    /// No effect: the kubelet restarts a container whose process exits.
    Unmonitor,
}

/// Each with its name and monit's number.
const ACTIONS: [(Action, &str, u8); 5] = [
    (Action::Restart, "restart", 2),
    (Action::Stop, "stop", 3),
    (Action::Unmonitor, "unmonitor", 5),
    (Action::Start, "start", 6),
    (Action::Monitor, "monitor", 7),
];

/// The actions that are not done yet, one for each process at most.
#[derive(Debug, Default)]
pub struct Pending {
    actions: Vec<PendingAction>,
}

#[derive(Debug)]
struct PendingAction {
    process: Member,
    action: Action,
    thread: JoinHandle<()>,
}

// === impl Action ===

impl Action {
    pub fn named(name: &str) -> Option<Self> {
        let found = ACTIONS.iter().find(|(_, known, _)| *known == name);
        found.map(|(action, ..)| *action)
    }

    /// Number of the action in the status.
    pub fn number(self) -> u8 {
        let found = ACTIONS.iter().find(|(action, ..)| *action == self);
        found.map_or(0, |(.., number)| *number)
    }

    /// What it asks of the container.
    fn request(self) -> Option<Request> {
        match self {
            Self::Start | Self::Monitor => Some(Request::Start),
            Self::Stop => Some(Request::Stop),
            Self::Restart => Some(Request::Restart),
            Self::Unmonitor => None,
        }
    }
}

// === impl Pending ===

impl Pending {
    /// The action of a process that is not done yet.
    pub fn of(&mut self, job: &str, process: &str) -> Option<Action> {
        self.actions.retain(|pending| !pending.thread.is_finished());
        let is_of = |member: &Member| member.job == job && member.process == process;
        let found = self.actions.iter().find(|pending| is_of(&pending.process));
        found.map(|pending| pending.action)
    }

    /// Begins an action. Returns whether it is accepted: while another one is pending, monit refuses.
    pub fn begin(&mut self, places: &Places, job: &str, process: &str, action: Action) -> Result<bool> {
        if let Some(pending) = self.of(job, process) {
            return Ok(pending == action);
        }
        let Some(request) = action.request() else {
            return Ok(true);
        };
        let directory = places.instance();
        let process = Member {
            job: job.into(),
            process: process.into(),
        };
        let member = process.clone();
        let run = move || {
            if let Err(error) = carry_out(&directory, &member.job, &member.process, request) {
                say(&error.text);
            }
        };
        let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn(run);
        let thread = thread.context("starting an action")?;
        self.actions.push(PendingAction {
            process,
            action,
            thread,
        });
        Ok(true)
    }
}

/// Asks the container, and waits until it is done. A process without a container is started by the kubelet; a stop
/// waits for that, and holds it then.
fn carry_out(directory: &Path, job: &str, process: &str, request: Request) -> Result<()> {
    let until = Instant::now() + STOP_TIMEOUT;
    loop {
        let is_late = Instant::now() >= until;
        let result = if live_record(directory, Owner::Process(job, process)).is_some() {
            ask(directory, job, process, request)
        } else if request == Request::Stop {
            Err(Error::new(format!("the container of {job}/{process} does not run")))
        } else {
            Ok(())
        };
        match result {
            // The process may have ended just now.
            Err(_) if request == Request::Stop && !is_late => thread::sleep(POLL_INTERVAL),
            result => return result,
        }
    }
}
