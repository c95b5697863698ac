//! Asks whether a server answers, as BOSH's `post-start` script does.

use crate::lookup::connected;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// How long one question waits.
const QUESTION_TIMEOUT: Duration = Duration::from_millis(500);
/// Pause after a question that failed at once.
const RETRY_DELAY: Duration = Duration::from_millis(100);
/// A question for the address of `upcheck.bosh-dns`: id, flags, one question; name, type A, class IN.
const QUESTION: &[u8] = b"\x42\x05\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07upcheck\x08bosh-dns\x00\x00\x01\x00\x01";

/// Waits until the server answers.
///
/// # Errors
/// Why the last question failed.
pub fn wait(server: SocketAddr, patience: Duration) -> io::Result<()> {
    let began = Instant::now();
    loop {
        match ask(server) {
            Ok(()) => return Ok(()),
            Err(error) if began.elapsed() >= patience => return Err(error),
            Err(_) => std::thread::sleep(RETRY_DELAY),
        }
    }
}

fn ask(server: SocketAddr) -> io::Result<()> {
    let socket = connected(server, QUESTION_TIMEOUT)?;
    socket.send(QUESTION)?;
    let mut answer = [0; 512];
    let length = socket.recv(&mut answer)?;
    // Our question, no error, at least one answer.
    let good = length > QUESTION.len() && answer[..2] == QUESTION[..2] && answer[3] & 0x0f == 0 && answer[7] > 0;
    if good {
        Ok(())
    } else {
        Err(io::ErrorKind::InvalidData.into())
    }
}
