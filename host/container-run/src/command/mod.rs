//! The commands that scripts expect to find: `bpm`, `monit` and `chpst`. This program is each of them when it is called
//! by that name.

pub mod bpm;
pub mod chpst;
pub mod monit;

use std::io::{self, Write};

use crate::error::Result;
use crate::output::container::Container;

/// Writes to standard output; a closed pipe is ignored.
fn write(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// The exit status of `bpm` or `monit`. An error is written to standard error as `Error: <text>`, as BPM does.
pub fn status(result: Result<u8>) -> u8 {
    result.unwrap_or_else(|error| {
        let line = format!("Error: {}\n", error.text);
        let _ = rustix::io::write(Container::Error.fd(), line.as_bytes());
        1
    })
}
