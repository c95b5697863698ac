//! A connection: one request and its answer, within a limited time. It never blocks the others.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use super::request::{MAX_REQUEST_BYTES, Parsed, parse};

/// A client on the same machine needs milliseconds.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(5);
/// What is read after an answer, so that closing the connection does not discard it. More is not a mistake of a client.
const MAX_DISCARDED_BYTES: usize = 64 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Reading,
    Writing,
    /// The answer is sent; the client closes the connection.
    Closing,
    Closed,
}

/// The connection of a client.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    phase: Phase,
    input: Vec<u8>,
    output: Vec<u8>,
    /// Bytes of the output that are sent, or bytes that were read after it.
    count: usize,
    /// When it is closed at the latest.
    until: Instant,
}

// === impl Connection ===

impl Connection {
    /// Takes over an accepted connection.
    pub fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream,
            phase: Phase::Reading,
            input: Vec::new(),
            output: Vec::new(),
            count: 0,
            until: Instant::now() + CLIENT_TIMEOUT,
        })
    }

    pub fn interest(&self) -> (BorrowedFd<'_>, PollFlags) {
        let flags = match self.phase {
            Phase::Writing => PollFlags::OUT,
            Phase::Reading | Phase::Closing | Phase::Closed => PollFlags::IN,
        };
        (self.stream.as_fd(), flags)
    }

    /// When it is closed at the latest.
    pub fn until(&self) -> Instant {
        self.until
    }

    /// Whether it is still needed.
    pub fn is_open(&self) -> bool {
        self.phase != Phase::Closed && Instant::now() < self.until
    }

    /// Reads and writes what is possible now. `answer` is called once, with the request.
    pub fn proceed(&mut self, answer: impl FnOnce(Parsed<'_>) -> Vec<u8>) {
        let result = match self.phase {
            Phase::Reading => self.read(answer),
            Phase::Writing => self.write(),
            Phase::Closing => self.discard(),
            Phase::Closed => Ok(()),
        };
        match result {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => self.phase = Phase::Closed,
            Ok(()) => {}
        }
    }

    fn read(&mut self, answer: impl FnOnce(Parsed<'_>) -> Vec<u8>) -> io::Result<()> {
        let mut piece = [0; MAX_REQUEST_BYTES];
        let room = MAX_REQUEST_BYTES - self.input.len();
        let count = self.stream.read(&mut piece[..room])?;
        if count == 0 {
            self.phase = Phase::Closed;
            return Ok(());
        }
        self.input.extend_from_slice(&piece[..count]);
        let Some(parsed) = parse(&self.input) else {
            return Ok(());
        };
        self.output = answer(parsed);
        self.input = Vec::new();
        self.phase = Phase::Writing;
        self.write()
    }

    fn write(&mut self) -> io::Result<()> {
        while self.count < self.output.len() {
            self.count += self.stream.write(&self.output[self.count..])?;
        }
        self.output = Vec::new();
        self.count = 0;
        self.phase = Phase::Closing;
        self.stream.shutdown(Shutdown::Write)
    }

    fn discard(&mut self) -> io::Result<()> {
        let mut piece = [0; MAX_REQUEST_BYTES];
        let count = self.stream.read(&mut piece)?;
        self.count += count;
        if count == 0 || self.count >= MAX_DISCARDED_BYTES {
            self.phase = Phase::Closed;
        }
        Ok(())
    }
}
