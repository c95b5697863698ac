//! From the pipe of a program to its log file and to the container's log.
//!
//! The log file is the record, as with BPM. The container's log is a copy: where the container runtime does not read
//! for a second, output is dropped there and counted, so that a stuck runtime stops no process.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use super::container::{Container, Offered, offer};
use super::logfile::LogFile;

/// Large enough for 10 MB/s at a few hundred calls a second, small enough for a program of 3 MiB.
const BUFFER_BYTES: usize = 16 << 10;
/// How long the container's log may hold up a program.
const CONTAINER_LOG_TIMEOUT: Duration = Duration::from_secs(1);

/// The second destination of output, besides a file.
#[derive(Debug)]
pub enum Copy {
    /// Into the container's log.
    Container(Container),
    /// Into memory, up to this many bytes: what a drain script answers.
    Memory(Vec<u8>, usize),
}

#[derive(Debug)]
pub struct Relay {
    from: Option<OwnedFd>,
    log: Option<LogFile>,
    copy: Copy,
    buffer: Box<[u8]>,
    /// The part of the buffer that is not yet in the container's log.
    pending: std::ops::Range<usize>,
    since: Instant,
    dropped: u64,
    closed: bool,
}

// === impl Relay ===

impl Relay {
    /// From the reading end of a pipe.
    pub fn new(from: OwnedFd, log: Option<LogFile>, copy: Copy) -> io::Result<Self> {
        let flags = rustix::fs::fcntl_getfl(&from)?;
        rustix::fs::fcntl_setfl(&from, flags | rustix::fs::OFlags::NONBLOCK)?;
        Ok(Self {
            from: Some(from),
            log,
            copy,
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            pending: 0..0,
            since: Instant::now(),
            dropped: 0,
            closed: false,
        })
    }

    /// What to poll for: the container's log if the buffer has output for it, else the pipe.
    pub fn interest(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        match self.copy {
            Copy::Container(to) if !self.pending.is_empty() => Some((to.fd(), PollFlags::OUT)),
            _ => self.from.as_ref().map(|from| (from.as_fd(), PollFlags::IN)),
        }
    }

    /// When it gives up on the container's log.
    pub fn deadline(&self) -> Option<Instant> {
        (!self.pending.is_empty()).then(|| self.since + CONTAINER_LOG_TIMEOUT)
    }

    /// Whether all writers have closed the pipe and everything was passed on.
    pub fn is_done(&self) -> bool {
        self.from.is_none() && self.pending.is_empty()
    }

    /// Passes on the available output. Stops after a few rounds, so that a program that writes without pause does not
    /// delay signals.
    pub fn pass(&mut self) {
        for _ in 0..16 {
            self.push();
            if !self.pending.is_empty() || !self.pull() {
                return;
            }
        }
    }

    /// After the program's end: passes on what is in the pipe, and waits only for the container's log, briefly. It does
    /// not wait for the output of background processes that the program left.
    pub fn finish(&mut self) {
        let end = Instant::now() + CONTAINER_LOG_TIMEOUT;
        loop {
            self.push();
            let late = Instant::now() > end;
            if self.pending.is_empty() {
                if !self.pull() || late {
                    return;
                }
            } else if late {
                self.give_up();
            } else {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }

    /// Whether it keeps what it reads.
    pub fn is_memory(&self) -> bool {
        matches!(self.copy, Copy::Memory(..))
    }

    /// What was kept in memory.
    pub fn memory(self) -> Vec<u8> {
        match self.copy {
            Copy::Memory(bytes, _) => bytes,
            Copy::Container(_) => Vec::new(),
        }
    }

    /// Reads once; whether there may be more.
    fn pull(&mut self) -> bool {
        let Some(from) = &self.from else { return false };
        match rustix::io::read(from, &mut self.buffer[..]) {
            Ok(0) => self.from = None,
            Ok(count) => {
                self.keep(count);
                return true;
            }
            Err(rustix::io::Errno::INTR) => return true,
            Err(rustix::io::Errno::AGAIN) => {}
            Err(_) => self.from = None,
        }
        false
    }

    fn keep(&mut self, count: usize) {
        if let Some(log) = &mut self.log {
            log.write(&self.buffer[..count]);
        }
        match &mut self.copy {
            Copy::Memory(bytes, most) => {
                let room = most.saturating_sub(bytes.len()).min(count);
                bytes.extend_from_slice(&self.buffer[..room]);
            }
            Copy::Container(_) if self.closed => {}
            Copy::Container(_) => {
                self.pending = 0..count;
                self.since = Instant::now();
            }
        }
    }

    /// Offers what is pending to the container's log.
    fn push(&mut self) {
        let Copy::Container(to) = self.copy else { return };
        if self.pending.is_empty() {
            return;
        }
        if self.dropped > 0 && !self.report(to) {
            // It is still stuck: do not wait a second for each buffer.
            self.give_up();
            return;
        }
        match offer(to, &self.buffer[self.pending.clone()]) {
            Offered::Accepted(0) => {}
            Offered::Accepted(count) => {
                self.pending.start += count;
                self.since = Instant::now();
            }
            Offered::Closed => {
                self.closed = true;
                self.pending = 0..0;
            }
        }
        if !self.pending.is_empty() && self.since.elapsed() >= CONTAINER_LOG_TIMEOUT {
            self.give_up();
        }
    }

    fn give_up(&mut self) {
        self.dropped += self.pending.len() as u64;
        self.pending = 0..0;
    }

    /// Reports dropped output as soon as the container's log is writable again.
    fn report(&mut self, to: Container) -> bool {
        let text = format!(
            "\ncontainer-run: {} bytes of output are not in the container's log, which was not read; the log file has them\n",
            self.dropped
        );
        match offer(to, text.as_bytes()) {
            Offered::Accepted(0) => false,
            _ => {
                self.dropped = 0;
                true
            }
        }
    }
}
