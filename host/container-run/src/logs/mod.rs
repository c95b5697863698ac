//! `container-run logs`: the container that sends the log files which jobs write themselves to the container's log,
//! each line with its file's name, and keeps them from growing without end. The output of processes and scripts is
//! already in the logs of their containers. With `--members`, it is a container beside the processes, and stops after
//! them.

mod follow;
mod names;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use self::follow::Followed;
use self::names::Names;
use crate::arguments::Flags;
use crate::error::Result;
use crate::events::Events;
use crate::instance::pod::Pod;
use crate::instance::{is_marked, mark};
use crate::output::container::{Container, Offered, offer};
use crate::output::say::say;
use crate::places::Places;

/// How often files are looked for and read.
const READ_INTERVAL: Duration = Duration::from_secs(1);
/// How often it looks whether processes have ended, once the pod stops.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Maximum number of files, more than any pod should have: each needs a descriptor.
const MAX_FILES: usize = 1000;
/// Exists once this container has run in the pod's life.
const SENT_MARK: &str = "sent";

struct Logs<'a> {
    pod: Pod<'a>,
    root: PathBuf,
    flags: &'a Flags,
    names: Names,
    files: BTreeMap<String, Followed>,
    /// Whether files are read from their end, because an earlier container sent their content.
    again: bool,
    full: bool,
    events: Events,
    /// Whether the stop signal has come.
    told: bool,
    /// Whether all that is left is to send what there is.
    stop: bool,
}

pub fn run(places: &Places, flags: &Flags) -> Result<u8> {
    let (state, instance) = (places.log_state(), places.instance());
    let mut logs = Logs {
        pod: Pod::new(&instance, flags),
        root: places.vcap("sys/log"),
        flags,
        names: Names::new(places),
        files: BTreeMap::new(),
        again: is_marked(&state, SENT_MARK),
        full: false,
        events: Events::new()?,
        told: false,
        stop: false,
    };
    // Without the directory, what was sent is sent again after a restart.
    drop(mark(&state, SENT_MARK));
    while !logs.stop {
        logs.scan();
        logs.again = false;
        logs.pass()?;
        logs.wait(Instant::now() + READ_INTERVAL)?;
    }
    // Processes may have made files while they stopped.
    logs.scan();
    logs.pass()?;
    Ok(0)
}

// === impl Logs ===

impl Logs<'_> {
    /// Finds new files, and forgets those that were deleted and read.
    fn scan(&mut self) {
        let found = self.names.find(&self.root);
        self.files.retain(|name, file| found.contains(name) || !file.is_read());
        for name in found {
            if self.files.contains_key(&name) {
                continue;
            }
            if self.files.len() >= MAX_FILES {
                if !std::mem::replace(&mut self.full, true) {
                    say(&format!("more than {MAX_FILES} log files: the others are not followed"));
                }
                return;
            }
            // One that may not be read is tried again next time.
            if let Ok(file) = Followed::open(self.root.join(&name), self.again) {
                self.files.insert(name, file);
            }
        }
    }

    /// Sends what is new, a piece of each file in turn.
    fn pass(&mut self) -> Result<()> {
        let mut files = std::mem::take(&mut self.files);
        let mut more = true;
        while more {
            more = false;
            for (name, file) in &mut files {
                let (text, unfinished) = file.read(name);
                more |= unfinished;
                if !self.send(&text)? {
                    // The log is not read, and this container is stopping.
                    return Ok(());
                }
            }
        }
        for file in files.values_mut() {
            file.rotate(self.flags.rotation);
        }
        self.files = files;
        Ok(())
    }

    /// Waits for the container's log as long as it takes; whether all was sent.
    fn send(&mut self, mut text: &[u8]) -> Result<bool> {
        while !text.is_empty() {
            match offer(Container::Output, text) {
                Offered::Accepted(0) if self.stop => return Ok(false),
                Offered::Accepted(0) => self.wait(Instant::now() + Duration::from_millis(20))?,
                Offered::Accepted(count) => text = &text[count..],
                Offered::Closed => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Kubernetes signals all containers of a pod at once, but processes log until they end.
    fn wait(&mut self, until: Instant) -> Result<()> {
        while !self.stop {
            let now = Instant::now();
            if now >= until {
                break;
            }
            let until = if self.told {
                until.min(now + STOP_POLL_INTERVAL)
            } else {
                until
            };
            self.told |= self.events.wait(Some(until))?.stop;
            self.stop = self.told && !self.pod.any_lives();
        }
        Ok(())
    }
}
