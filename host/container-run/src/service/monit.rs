//! A process as monit runs it: a start program, a pid file that names the process to follow, a stop program.
//!
//! Start programs have three styles: one that becomes the server, one that starts it in the background, and one whose
//! server becomes a daemon. This program adopts orphans, so that all three are its descendants; the pid file decides
//! which process is followed.

use std::fs;
use std::io::{self, Read};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::{Phase, Service};
use crate::arguments::Flags;
use crate::children::{self, Ended};
use crate::description::Monit;
use crate::environment;
use crate::error::{Error, Result};
use crate::events::Events;
use crate::exec_as::Changes;
use crate::launch::{Launch, Outputs};
use crate::output::say::say;
use crate::places::Places;
use crate::users;

/// How often the pid file is read while something starts or stops.
const PID_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How often the followed process is checked. The end of a child is noticed at once.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct MonitProcess {
    monit: Monit,
    pid_file: PathBuf,
    start: Launch,
    stop: Option<Launch>,
    step: Step,
    /// The status of the last child that was the followed process, or the start program before it.
    last: Option<Ended>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Idle,
    Starting { program: Pid, until: Instant },
    Running(Pid),
    Stopping { pid: Option<Pid>, until: Instant },
    Ended(u8),
}

// === impl MonitProcess ===

impl MonitProcess {
    /// Creates the process from its description.
    pub fn new(places: &Places, monit: &Monit, flags: &Flags) -> Result<Self> {
        let changes = Changes {
            user: users::of(monit.uid.as_deref(), monit.gid.as_deref())?,
            ..Changes::default()
        };
        let launch = |words: &[String]| {
            let (program, arguments) = words.split_first()?;
            Some(Launch {
                program: program.clone(),
                arguments: arguments.to_vec(),
                environment: environment::of_monit(places, &flags.env),
                directory: Some(PathBuf::from("/")),
                changes: changes.clone(),
            })
        };
        let start = launch(&monit.start).ok_or_else(|| Error::new("the monit file has no start program"))?;
        Ok(Self {
            pid_file: PathBuf::from(&monit.pidfile),
            start,
            stop: launch(&monit.stop),
            monit: monit.clone(),
            step: Step::Idle,
            last: None,
        })
    }

    /// The process that the pid file names, where it lives.
    fn followed(&self) -> Option<Pid> {
        let file = fs::File::open(&self.pid_file).ok()?;
        let text = io::read_to_string(file.take(32)).ok()?;
        let pid = Pid::from_raw(text.trim().parse().ok()?)?;
        (children::is_alive(pid) && pid != rustix::process::getpid()).then_some(pid)
    }

    fn check_start(&mut self, program: Pid, until: Instant) {
        if let Some(pid) = self.followed() {
            self.step = Step::Running(pid);
            return;
        }
        let program_ended = self.last.filter(|ended| ended.pid == program);
        if let Some(ended) = program_ended.filter(|_| children::below().is_empty()) {
            say(&format!(
                "the start program ended with status {}, and {} names no process that runs",
                ended.code,
                self.pid_file.display()
            ));
            self.step = Step::Ended(ended.code.max(1));
        } else if Instant::now() >= until {
            say(&format!(
                "after {} seconds {} names no process that runs",
                self.monit.start_timeout,
                self.pid_file.display()
            ));
            self.step = Step::Ended(1);
        }
    }

    /// A server may have replaced itself and updated its pid file.
    fn check_run(&mut self, pid: Pid) {
        if children::is_alive(pid) {
            return;
        }
        self.step = match self.followed() {
            Some(next) => Step::Running(next),
            None => Step::Ended(self.status(pid)),
        };
    }

    fn check_stop(&mut self, pid: Option<Pid>, until: Instant) {
        let lives = pid.filter(|pid| children::is_alive(*pid)).or_else(|| self.followed());
        match lives {
            None => self.step = Step::Ended(pid.map_or(0, |pid| self.status(pid))),
            Some(pid) if Instant::now() >= until => {
                say(&format!(
                    "it still runs {} seconds after the stop program: killed",
                    self.monit.stop_timeout
                ));
                children::kill_below();
                self.step = Step::Ended(self.status(pid));
            }
            Some(_) => {}
        }
    }

    /// Exit status of the process; unknown if it was not a child of this program.
    fn status(&self, pid: Pid) -> u8 {
        self.last.filter(|ended| ended.pid == pid).map_or(0, |ended| ended.code)
    }
}

impl Service for MonitProcess {
    fn start(&mut self, events: &mut Events) -> Result<()> {
        self.clean();
        self.last = None;
        let running = self.start.start(Outputs::Pipes)?;
        // monit discards this output; here it is logged to show why a start fails.
        events.relay_program(running.pipes, |_| None)?;
        self.step = Step::Starting {
            program: running.pid,
            until: Instant::now() + Duration::from_secs(self.monit.start_timeout),
        };
        Ok(())
    }

    fn stop(&mut self, events: &mut Events) -> Result<()> {
        let pid = match self.step {
            Step::Running(pid) => Some(pid),
            Step::Starting { .. } | Step::Idle => self.followed(),
            Step::Stopping { .. } | Step::Ended(_) => return Ok(()),
        };
        match &self.stop {
            Some(stop) => match stop.start(Outputs::Pipes) {
                Ok(running) => events.relay_program(running.pipes, |_| None)?,
                Err(error) => say(&error.text),
            },
            None => pid.into_iter().for_each(|pid| children::send(pid, Signal::TERM)),
        }
        self.step = Step::Stopping {
            pid,
            until: Instant::now() + Duration::from_secs(self.monit.stop_timeout),
        };
        Ok(())
    }

    fn ended(&mut self, ended: Ended, _events: &mut Events) -> Result<()> {
        match self.step {
            Step::Starting { program, .. } if program == ended.pid => self.last = Some(ended),
            Step::Running(pid) | Step::Stopping { pid: Some(pid), .. } if pid == ended.pid => self.last = Some(ended),
            _ => {}
        }
        Ok(())
    }

    fn tick(&mut self) {
        match self.step {
            Step::Starting { program, until } => self.check_start(program, until),
            Step::Running(pid) => self.check_run(pid),
            Step::Stopping { pid, until } => self.check_stop(pid, until),
            Step::Idle | Step::Ended(_) => {}
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match self.step {
            Step::Starting { .. } | Step::Stopping { .. } => Some(Instant::now() + PID_POLL_INTERVAL),
            Step::Running(_) => Some(Instant::now() + CHECK_INTERVAL),
            Step::Idle | Step::Ended(_) => None,
        }
    }

    fn signal(&self, signal: Signal) {
        if let Step::Running(pid) = self.step {
            children::send(pid, signal);
        }
    }

    fn phase(&self) -> Phase {
        match self.step {
            Step::Idle | Step::Starting { .. } => Phase::Starting,
            Step::Running(pid) | Step::Stopping { pid: Some(pid), .. } => Phase::Running(pid),
            Step::Stopping { pid: None, .. } => Phase::Starting,
            Step::Ended(code) => Phase::Ended(code),
        }
    }

    /// A stale pid file could name another process of the next container.
    fn clean(&self) {
        drop(fs::remove_file(&self.pid_file));
    }
}
