//! container-run's own messages: one line each, on the container's standard error.

use super::container::{self, Container};

/// Writes `container-run: <text>`, or drops it if the pipe is full or closed.
pub fn say(text: &str) {
    let line = format!("container-run: {text}\n");
    container::offer(Container::Error, line.as_bytes());
}
