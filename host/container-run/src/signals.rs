//! Signals as bytes in a pipe, and what they mean to container-run.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustix::process::Signal;
use signal_hook::consts::signal::{
    SIGALRM, SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGIO, SIGPIPE, SIGPROF, SIGQUIT, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU,
    SIGURG, SIGUSR1, SIGUSR2, SIGVTALRM, SIGWINCH, SIGXCPU, SIGXFSZ,
};
use signal_hook::flag;
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;

use crate::error::{Context, Result};

/// A write to a full disk or a closed pipe must return an error, not end this program. Job control of a terminal has no
/// meaning here.
const IGNORED_SIGNALS: [i32; 4] = [SIGPIPE, SIGXFSZ, SIGTTIN, SIGTTOU];
const STOP_SIGNALS: [i32; 2] = [SIGTERM, SIGINT];
/// Signals that container-run forwards, as tini does: all that it does not use itself.
const FORWARDED_SIGNALS: [i32; 13] = [
    SIGALRM, SIGCONT, SIGHUP, SIGIO, SIGPROF, SIGQUIT, SIGTSTP, SIGURG, SIGUSR1, SIGUSR2, SIGVTALRM, SIGWINCH, SIGXCPU,
];

/// The signals of this process.
pub struct Signals {
    delivery: SignalDelivery<UnixStream, SignalOnly>,
}

// === impl Signals ===

impl Signals {
    /// Takes over all signals; children start with the system's own handlers.
    pub fn new() -> Result<Self> {
        let (read, write) = UnixStream::pair().context("making a pipe for signals")?;
        // Not ignored: programs that this one becomes would inherit that. And not through the pipe: a child may end
        // while that is being closed, and a signal about the closed pipe that is written to it would cause the next
        // one.
        for signal in IGNORED_SIGNALS {
            flag::register(signal, Arc::default()).context("taking signals")?;
        }
        let all = [SIGCHLD].into_iter().chain(STOP_SIGNALS).chain(FORWARDED_SIGNALS);
        let delivery = SignalDelivery::with_pipe(read, write, SignalOnly, all).context("taking signals")?;
        Ok(Self { delivery })
    }

    /// Readable when there are events.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.delivery.get_read().as_fd()
    }

    /// Whether to stop the container, and the signals for the process that came since the last call. That of a child
    /// only ends a wait.
    pub fn take(&mut self) -> (bool, Vec<Signal>) {
        let (stops, others): (Vec<i32>, Vec<i32>) = self.delivery.pending().partition(|one| STOP_SIGNALS.contains(one));
        let forwarded = others.into_iter().filter(|one| *one != SIGCHLD);
        (
            !stops.is_empty(),
            forwarded.filter_map(Signal::from_named_raw).collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{getpid, kill_process};
    use std::net::Shutdown;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    #[test]
    fn a_child_that_ends_while_the_pipe_is_being_closed_causes_no_endless_signals() {
        let signals = Signals::new().unwrap();
        let came = Arc::new(AtomicBool::default());
        flag::register(SIGPIPE, came.clone()).unwrap();
        signals.delivery.get_read().shutdown(Shutdown::Both).unwrap();
        kill_process(getpid(), Signal::CHILD).unwrap();
        while !came.swap(false, Ordering::SeqCst) {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(1));
        assert!(!came.load(Ordering::SeqCst), "again");
    }
}
