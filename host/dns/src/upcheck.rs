//! Asks whether a server answers, as BOSH's `post-start` script does.

use crate::lookup::{ADDRESS_TYPES, Found, ask_for};
use crate::zone::UPCHECK_DOMAIN;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

const QUESTION_TIMEOUT: Duration = Duration::from_millis(500);
/// Pause after a question that failed at once.
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// Waits until the server answers.
///
/// # Errors
/// Why the last question failed.
pub fn wait(server: SocketAddr, timeout: Duration) -> io::Result<()> {
    let began = Instant::now();
    loop {
        match ask(server) {
            Ok(()) => return Ok(()),
            Err(error) if began.elapsed() >= timeout => return Err(error),
            Err(_) => std::thread::sleep(RETRY_DELAY),
        }
    }
}

fn ask(server: SocketAddr) -> io::Result<()> {
    match ask_for(server, UPCHECK_DOMAIN, ADDRESS_TYPES[0], QUESTION_TIMEOUT)? {
        Found::Addresses => Ok(()),
        Found::Nothing | Found::NoSuchName => Err(io::ErrorKind::InvalidData.into()),
    }
}
