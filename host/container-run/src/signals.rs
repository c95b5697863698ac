//! Signals as bytes in a pipe, and what they mean to the wrapper.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustix::process::Signal;
use signal_hook::consts::signal::{
    SIGALRM, SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGIO, SIGPIPE, SIGPROF, SIGQUIT, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU,
    SIGURG, SIGUSR1, SIGUSR2, SIGVTALRM, SIGWINCH, SIGXCPU, SIGXFSZ,
};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;

use crate::error::{Doing, Result};

/// A write to a full disk or a closed pipe must return an error, not end this program. Job control of a terminal has no
/// meaning here.
const IGNORED: [i32; 4] = [SIGPIPE, SIGXFSZ, SIGTTIN, SIGTTOU];
const STOPS: [i32; 2] = [SIGTERM, SIGINT];
/// Signals that the wrapper forwards, as tini does: all that it does not use itself.
const FORWARDED: [i32; 13] = [
    SIGALRM, SIGCONT, SIGHUP, SIGIO, SIGPROF, SIGQUIT, SIGTSTP, SIGURG, SIGUSR1, SIGUSR2, SIGVTALRM, SIGWINCH, SIGXCPU,
];

/// What a signal means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A child has ended.
    Child,
    /// Stop the container.
    Stop,
    /// A signal for the process.
    Forward(Signal),
}

/// The signals of this process.
pub struct Signals {
    delivery: SignalDelivery<UnixStream, SignalOnly>,
}

// === impl Signals ===

impl Signals {
    /// Takes over all signals; children start with the system's own handlers.
    pub fn new() -> Result<Self> {
        let (read, write) = UnixStream::pair().while_("making a pipe for signals")?;
        let all = [SIGCHLD].into_iter().chain(IGNORED).chain(STOPS).chain(FORWARDED);
        let delivery = SignalDelivery::with_pipe(read, write, SignalOnly, all).while_("taking signals")?;
        Ok(Self { delivery })
    }

    /// Readable when there are events.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.delivery.get_read().as_fd()
    }

    /// What came since the last call.
    pub fn take(&mut self) -> Vec<Event> {
        self.delivery.pending().filter_map(meaning).collect()
    }
}

fn meaning(number: i32) -> Option<Event> {
    if number == SIGCHLD {
        return Some(Event::Child);
    }
    if STOPS.contains(&number) {
        return Some(Event::Stop);
    }
    if IGNORED.contains(&number) {
        return None;
    }
    Signal::from_named_raw(number).map(Event::Forward)
}
