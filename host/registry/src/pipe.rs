//! A pipe from the runtime to a blocking thread. The sender may be dropped at any time, on a timeout or when the caller
//! stops waiting. The thread's next read then fails, so the thread does not wait for a registry that never answers.

use std::io::{self, Read};
use tokio::sync::mpsc;

/// Buffered parts, each one read of a socket: some hundred KiB at most.
const MAX_BUFFERED_PARTS: usize = 8;

#[derive(Debug)]
pub(crate) struct Inlet(mpsc::Sender<Part>);

#[derive(Debug)]
pub(crate) struct Outlet {
    parts: mpsc::Receiver<Part>,
    rest: io::Cursor<Vec<u8>>,
    ended: bool,
}

#[derive(Debug)]
enum Part {
    Bytes(Vec<u8>),
    End,
}

/// Both ends of a pipe.
pub(crate) fn pipe() -> (Inlet, Outlet) {
    let (sender, parts) = mpsc::channel(MAX_BUFFERED_PARTS);
    let outlet = Outlet {
        parts,
        rest: io::Cursor::default(),
        ended: false,
    };
    (Inlet(sender), outlet)
}

// === impl Inlet ===

impl Inlet {
    /// Sends bytes; false if the reader was dropped.
    pub(crate) async fn send(&self, bytes: &[u8]) -> bool {
        bytes.is_empty() || self.0.send(Part::Bytes(bytes.to_vec())).await.is_ok()
    }

    /// There are no more.
    pub(crate) async fn end(self) {
        // The reader reports why it stopped.
        let _ = self.0.send(Part::End).await;
    }
}

// === impl Outlet ===

impl Read for Outlet {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.rest.read(buffer)?;
            if count > 0 || self.ended || buffer.is_empty() {
                return Ok(count);
            }
            match self.parts.blocking_recv() {
                Some(Part::Bytes(bytes)) => self.rest = io::Cursor::new(bytes),
                Some(Part::End) => self.ended = true,
                // Otherwise a truncated layer would be accepted as complete.
                None => return Err(io::Error::other("the layer is truncated")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::task;

    #[tokio::test]
    async fn only_what_was_ended_is_whole() {
        for whole in [true, false] {
            let (inlet, mut outlet) = pipe();
            let read = task::spawn_blocking(move || {
                let mut bytes = Vec::new();
                outlet.read_to_end(&mut bytes).map(|_| bytes)
            });
            for part in ["ab", "", "c"] {
                assert!(inlet.send(part.as_bytes()).await);
            }
            if whole {
                inlet.end().await
            } else {
                drop(inlet)
            }
            assert_eq!(read.await.unwrap().ok(), whole.then(|| b"abc".to_vec()));
        }
    }
}
