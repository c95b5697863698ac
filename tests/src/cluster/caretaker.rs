//! Cleans up after a test process, however it ends.

use anyhow::{Context, Result};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

/// Waits for the end of its input, which occurs when the test process ends or closes it; then removes control groups as
/// soon as their last process has ended, and the directory.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
cat >/dev/null
directory=$1
shift
for try in $(seq 600); do
  for group; do
    [ ! -d "$group" ] || find "$group" -depth -type d -exec rmdir {} + 2>/dev/null
  done
  rm -rf "$directory" 2>/dev/null
  left=
  for place in "$directory" "$@"; do [ ! -e "$place" ] || left=$place; done
  [ -n "$left" ] || exit 0
  sleep 0.1
done
"#;

/// A process in its own session, which no signal to the test's process group reaches.
#[derive(Debug)]
pub(super) struct Caretaker {
    child: Child,
    input: Option<ChildStdin>,
}

// === impl Caretaker ===

impl Caretaker {
    /// Cleans up a directory and control groups, which need not exist yet.
    pub(super) fn of<'a>(directory: &Path, groups: impl Iterator<Item = &'a Path>) -> Result<Self> {
        let mut child = Command::new("setsid")
            .args(["sh", "-c", SCRIPT, "caretaker"])
            .arg(directory)
            .args(groups)
            .current_dir("/")
            .stdin(Stdio::piped())
            // Otherwise a program that reads the test's output would wait for this process, too.
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("setsid is missing")?;
        let input = child.stdin.take();
        Ok(Self { child, input })
    }
}

impl Drop for Caretaker {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.wait();
    }
}
