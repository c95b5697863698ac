//! The container's own standard output and error: pipes to the container runtime, which may stop reading.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// A pipe takes this much at once without blocking when it is writable (`PIPE_BUF`).
const MAX_WRITE_BYTES: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    Output,
    Error,
}

/// The result of an attempt to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// This many bytes were written; fewer than requested if the pipe is full.
    Accepted(usize),
    /// The reader has closed the pipe.
    Closed,
}

// === impl Container ===

impl Container {
    pub fn fd(self) -> BorrowedFd<'static> {
        match self {
            Self::Output => rustix::stdio::stdout(),
            Self::Error => rustix::stdio::stderr(),
        }
    }

    fn is_writable(self) -> bool {
        let mut fds = [PollFd::from_borrowed_fd(self.fd(), PollFlags::OUT)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        // An error counts as writable: the write then reports it.
        poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
    }
}

/// Writes as much as possible without blocking.
pub fn offer(to: Container, bytes: &[u8]) -> Offered {
    let mut taken = 0;
    while taken < bytes.len() && to.is_writable() {
        let piece = &bytes[taken..bytes.len().min(taken + MAX_WRITE_BYTES)];
        match rustix::io::write(to.fd(), piece) {
            Ok(count) => taken += count,
            Err(error) => match io::Error::from(error).kind() {
                io::ErrorKind::Interrupted => {}
                io::ErrorKind::WouldBlock => break,
                // A file on a full disk: what it does not take now it may take later.
                io::ErrorKind::StorageFull | io::ErrorKind::FileTooLarge => return Offered::Accepted(bytes.len()),
                _ => return Offered::Closed,
            },
        }
    }
    Offered::Accepted(taken)
}
