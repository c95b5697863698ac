//! How the containers of a pod exchange their states: one file each, locked as long as its writer runs.
//!
//! Unlike a pid or a time stamp, a lock is always released with its owner, and needs no shared namespace.

pub mod control;
pub mod known;
pub mod order;
pub mod pod;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::{Context, Result};
use crate::files::open_shared;

/// A record has this many bytes, so that one write replaces another whole.
const RECORD_BYTES: usize = 64;

/// What a container does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Its process does not run yet.
    Starting,
    Running,
    /// Its process was stopped by a script, and may be started again.
    Halted,
    /// Kubernetes wants it to stop.
    Stopping,
    /// A sidecar: its pre-stop script is done.
    PreStopped,
    /// A sidecar: its drain script is done.
    Drained,
}

const STATE_WORDS: [(State, &str); 6] = [
    (State::Starting, "starting"),
    (State::Running, "running"),
    (State::Halted, "halted"),
    (State::Stopping, "stopping"),
    (State::PreStopped, "pre-stopped"),
    (State::Drained, "drained"),
];

/// A state and when it began, in nanoseconds of the machine's monotonic clock, which all containers share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    pub state: State,
    pub since: u64,
    /// The process it runs, as its own container numbers it; 0 without one.
    pub pid: u32,
}

/// Whose file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner<'a> {
    /// The container of a process.
    Process(&'a str, &'a str),
    /// The sidecar with a job's scripts.
    Scripts(&'a str),
}

// === impl Owner ===

impl Owner<'_> {
    fn file(self, directory: &Path) -> PathBuf {
        directory.join(match self {
            Owner::Process(job, process) => format!("process.{job}.{process}"),
            Owner::Scripts(job) => format!("scripts.{job}"),
        })
    }
}

/// The file of this container, locked.
#[derive(Debug)]
pub struct StateFile {
    file: File,
}

// === impl StateFile ===

impl StateFile {
    /// Makes and locks the file.
    pub fn lock(directory: &Path, owner: Owner<'_>) -> Result<Self> {
        let path = owner.file(directory);
        // Some file systems grant a shared lock only to readers.
        let file = open(OpenOptions::new().read(true).write(true).create(true), &path);
        let file = file.path_context("opening", &path)?;
        // With a shared lock, no record counts: that of an earlier container would be this one's until the first write.
        flock(&file, FlockOperation::LockShared).path_context("locking", &path)?;
        drop(file.write_all_at(&[b' '; RECORD_BYTES], 0));
        // Readers hold it for an instant.
        flock(&file, FlockOperation::LockExclusive).path_context("locking", &path)?;
        Ok(Self { file })
    }

    /// Writes the state of this container; returns the time of the change.
    pub fn set(&self, state: State, pid: u32) -> u64 {
        let since = now();
        self.write(Record { state, since, pid });
        since
    }

    pub fn write(&self, record: Record) {
        // On a full disk the others wait until their own timeouts.
        drop(self.file.write_all_at(&record.encode(), 0));
    }
}

// === impl Record ===

impl Record {
    fn encode(self) -> [u8; RECORD_BYTES] {
        let word = STATE_WORDS
            .iter()
            .find(|(state, _)| *state == self.state)
            .map_or("", |(_, word)| word);
        let mut bytes = [b' '; RECORD_BYTES];
        let text = format!("{word} {} {}", self.since, self.pid);
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        bytes[RECORD_BYTES - 1] = b'\n';
        bytes
    }

    fn decode(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        let word = words.next()?;
        Some(Self {
            state: STATE_WORDS.iter().find(|(_, known)| *known == word)?.0,
            since: words.next()?.parse().ok()?,
            pid: words.next()?.parse().ok()?,
        })
    }
}

/// The record of a container, if it runs.
pub fn live_record(directory: &Path, owner: Owner<'_>) -> Option<Record> {
    let file = open(OpenOptions::new().read(true), &owner.file(directory)).ok()?;
    if flock(&file, FlockOperation::NonBlockingLockShared) != Err(Errno::WOULDBLOCK) {
        return None;
    }
    Record::decode(&io::read_to_string(file.take(RECORD_BYTES as u64)).ok()?)
}

/// Locks a file of this name until the result is dropped; nothing while another container has it.
pub fn try_lock(directory: &Path, what: &str) -> Result<Option<File>> {
    let path = directory.join(what);
    let file = open(OpenOptions::new().write(true).create(true), &path).path_context("opening", &path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Ok(None),
        locked => locked.map(|()| Some(file)).path_context("locking", &path),
    }
}

/// Records for the life of the pod that something was done.
pub fn mark(directory: &Path, what: &str) -> Result<()> {
    let path = directory.join(what);
    let made = open(OpenOptions::new().write(true).create(true), &path);
    made.map(drop).path_context("writing", &path)
}

/// Writes a short text, which replaces an earlier one. It has the size of a record, for the same reason.
pub fn write(directory: &Path, what: &str, text: &str) -> Result<()> {
    let path = directory.join(what);
    let file = open(OpenOptions::new().write(true).create(true), &path).path_context("opening", &path)?;
    let bytes = format!("{text:<RECORD_BYTES$}");
    file.write_all_at(bytes.as_bytes(), 0).path_context("writing", &path)
}

/// A short text that was written.
pub fn read_short(directory: &Path, what: &str) -> Option<String> {
    let file = open(OpenOptions::new().read(true), &directory.join(what)).ok()?;
    let text = io::read_to_string(file.take(RECORD_BYTES as u64)).ok()?;
    Some(text.trim_end().into())
}

/// Whether it was done.
pub fn is_marked(directory: &Path, what: &str) -> bool {
    fs::symlink_metadata(directory.join(what)).is_ok()
}

fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    open_shared(options.mode(0o644), path)
}

/// Nanoseconds of the machine's monotonic clock.
pub fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_long_as_its_writer_lives() {
        let directory = tempfile::tempdir().unwrap();
        let of = Owner::Process("nats", "nats");
        assert_eq!(live_record(directory.path(), of), None);
        let state_file = StateFile::lock(directory.path(), of).unwrap();
        for (state, _) in STATE_WORDS {
            let since = state_file.set(state, 7);
            assert_eq!(live_record(directory.path(), of), Some(Record { state, since, pid: 7 }));
        }
        drop(state_file);
        assert_eq!(live_record(directory.path(), of), None);
    }

    #[test]
    fn the_record_of_an_earlier_container_is_not_that_of_the_next_one() {
        let directory = tempfile::tempdir().unwrap();
        let of = Owner::Scripts("nats");
        StateFile::lock(directory.path(), of).unwrap().set(State::Drained, 0);
        let restarted = StateFile::lock(directory.path(), of).unwrap();
        assert_eq!(live_record(directory.path(), of), None);
        restarted.set(State::Running, 7);
        std::thread::scope(|scope| {
            let second = scope.spawn(|| StateFile::lock(directory.path(), of).map(drop));
            std::thread::sleep(std::time::Duration::from_millis(50));
            let record = live_record(directory.path(), of);
            drop(restarted);
            second.join().unwrap().unwrap();
            assert_eq!(record.map(|record| record.pid), Some(7), "it waits before it writes");
        });
    }

    #[test]
    fn a_link_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("target");
        std::os::unix::fs::symlink(&target, directory.path().join("scripts.a")).unwrap();
        assert!(StateFile::lock(directory.path(), Owner::Scripts("a")).is_err());
        assert!(!target.exists());
    }
}
