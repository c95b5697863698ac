//! The one place that waits: for signals, output, requests and the time.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;

use crate::children::{self, Ended};
use crate::error::{Context, Result};
use crate::instance::control::{Control, Request};
use crate::output::container::Container;
use crate::output::logfile::LogFile;
use crate::output::relay::{Copy, Relay};
use crate::signals::Signals;

/// How long the descendants of a program that has ended may write.
pub const LAST_OUTPUT_TIMEOUT: Duration = Duration::from_secs(2);

pub struct Events {
    signals: Signals,
    relays: Vec<Relay>,
    /// The socket for requests of other containers.
    pub control: Option<Control>,
}

#[derive(Debug)]
pub struct Happened {
    pub ended: Vec<Ended>,
    /// Whether the container is to stop.
    pub stop: bool,
    /// Signals for the process.
    pub forward: Vec<Signal>,
    /// What others asked for.
    pub requests: Vec<Request>,
}

// === impl Events ===

impl Events {
    pub fn new() -> Result<Self> {
        Ok(Self {
            signals: Signals::new()?,
            relays: Vec::new(),
            control: None,
        })
    }

    /// Passes on what comes through these pipes.
    pub fn relay(&mut self, relays: impl IntoIterator<Item = Relay>) {
        self.relays.extend(relays);
    }

    /// Passes on what a program writes: into the log file of each pipe, if it has one, and into the container's log.
    pub fn relay_program(
        &mut self,
        pipes: Option<(OwnedFd, OwnedFd)>,
        log: impl Fn(&str) -> Option<LogFile>,
    ) -> Result<()> {
        let Some((output, error)) = pipes else { return Ok(()) };
        let pipes = [
            (output, "stdout", Container::Output),
            (error, "stderr", Container::Error),
        ];
        for (from, word, to) in pipes {
            let relay = Relay::new(from, log(word), Copy::Container(to));
            self.relays.push(relay.context("reading output")?);
        }
        Ok(())
    }

    /// Waits until something happens, or until this time.
    pub fn wait(&mut self, until: Option<Instant>) -> Result<Happened> {
        self.wait_for(until, [])
    }

    /// Waits for an event, or until one of these files is ready.
    pub fn wait_for<'f>(
        &mut self,
        until: Option<Instant>,
        files: impl IntoIterator<Item = (BorrowedFd<'f>, PollFlags)>,
    ) -> Result<Happened> {
        let mut fds = vec![PollFd::from_borrowed_fd(self.signals.fd(), PollFlags::IN)];
        if let Some(control) = &self.control {
            fds.extend(control.fds().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        }
        let files = files.into_iter();
        fds.extend(files.map(|(file, flags)| PollFd::from_borrowed_fd(file, flags)));
        pass(&mut self.relays, until, fds).context("waiting")?;
        // An answer is collected when its script has ended.
        self.relays.retain(|relay| relay.is_memory() || !relay.is_done());
        Ok(self.happened())
    }

    fn happened(&mut self) -> Happened {
        let (stop, forward) = self.signals.take();
        Happened {
            stop,
            forward,
            // Always: a signal that came while the last ones were read is merged with them.
            ended: children::reap(),
            requests: self.control.as_mut().map(Control::requests).unwrap_or_default(),
        }
    }

    /// After a program's end: passes on what its descendants still write, and closes the pipes. A script that logs
    /// through `exec > >(..)` ends before the program that writes its last lines. Does not wait long: a background
    /// process may keep the pipe open.
    pub fn relay_last_output(&mut self) {
        let end = Instant::now() + LAST_OUTPUT_TIMEOUT;
        while self.relays.iter().any(|relay| !relay.is_done()) && Instant::now() < end {
            if pass(&mut self.relays, Some(end), Vec::new()).is_err() {
                break;
            }
        }
        self.finish();
    }

    /// Passes on what is left in the pipes of programs that have ended, and closes them.
    pub fn finish(&mut self) {
        self.relays.iter_mut().for_each(Relay::finish);
        self.relays.clear();
    }

    /// The same for pipes that others may still write to; what was kept in memory is given back.
    pub fn collect(&mut self) -> Vec<u8> {
        let mut kept = Vec::new();
        for mut relay in std::mem::take(&mut self.relays) {
            relay.finish();
            if relay.is_memory() {
                kept = relay.memory();
            } else if !relay.is_done() {
                self.relays.push(relay);
            }
        }
        kept
    }
}

/// Waits until one of the pipes or of these files is ready, or until this time, and passes on what came.
fn pass(relays: &mut [Relay], until: Option<Instant>, files: Vec<PollFd<'_>>) -> rustix::io::Result<()> {
    let until = relays.iter().filter_map(Relay::deadline).chain(until).min();
    let timeout = until.map(|until| timespec(until.saturating_duration_since(Instant::now())));
    let mut fds: Vec<PollFd<'_>> = files;
    let interests = relays.iter().filter_map(Relay::interest);
    fds.extend(interests.map(|(fd, flags)| PollFd::from_borrowed_fd(fd, flags)));
    match poll(&mut fds, timeout.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error),
    }
    relays.iter_mut().for_each(Relay::pass);
    Ok(())
}

fn timespec(duration: Duration) -> Timespec {
    // Round up, so that the deadline has passed after the wait.
    let duration = duration + Duration::from_micros(100);
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}
