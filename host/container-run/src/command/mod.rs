//! The commands that scripts expect to find: `bpm`, `monit` and `chpst`. This program is each of them when it is called
//! by that name.

pub mod bpm;
pub mod chpst;
pub mod monit;

use crate::output::container::Container;

/// Writes to standard output; a closed pipe is ignored.
fn write(text: &str) {
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        match rustix::io::write(Container::Output.fd(), rest) {
            Ok(count) => rest = &rest[count..],
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// Writes `Error: <text>` to standard error, as BPM does.
fn write_error(text: &str) {
    let line = format!("Error: {text}\n");
    let _ = rustix::io::write(Container::Error.fd(), line.as_bytes());
}
