//! Pre-start scripts that run in the containers of their job's processes (`quarks.run.pre_start: inline`), so that the
//! process sees what the script writes to the container's own file system.
//!
//! Each container of the job runs the script whenever it starts, because its file system is new then. The scripts of a
//! job run one after the other: they share volumes, and expect to be alone. When a pod starts, no process of it starts
//! before all these scripts have succeeded once, as on a VM.

use std::path::Path;
use std::time::{Duration, Instant};

use super::{PRE_START, Script, finish};
use crate::arguments::{Flags, Member};
use crate::error::Result;
use crate::events::Events;
use crate::instance::{is_marked, mark, try_lock};
use crate::output::say::say;
use crate::places::Places;

/// How often files of other containers are read.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Runs the job's pre-start script if this container is one of `--pre-starts`, and waits for the others. Returns an
/// exit status if the process must not start: that of the script, or 0 after a stop signal.
pub fn run_pre_start(places: &Places, flags: &Flags, process: &str, events: &mut Events) -> Result<Option<u8>> {
    let directory = places.instance();
    // Without it, containers run without coordination.
    let is_coordinated = directory.is_dir();
    let is_own = |member: &&Member| member.job == flags.job && member.process == process;
    if let Some(own) = flags.pre_starts.iter().find(is_own) {
        let mut lock = None;
        let file = format!("pre-start.{}", own.job);
        let mut take = || {
            lock = try_lock(&directory, &file)?;
            Ok(lock.is_some())
        };
        if is_coordinated && !wait_until(events, &mut take)? {
            return Ok(Some(0));
        }
        let script = Script::new(places, flags, PRE_START);
        if script.exists() {
            let finished = finish::run(&script, events)?;
            if finished.code != 0 || finished.is_stopped {
                return Ok(Some(finished.code));
            }
        }
        if is_coordinated {
            mark(&directory, &mark_name(own))?;
        }
    }
    if is_coordinated && !await_all(&directory, flags, events)? {
        return Ok(Some(0));
    }
    Ok(None)
}

/// The name of the mark of a script that has succeeded.
fn mark_name(member: &Member) -> String {
    format!("pre-start.{}.{}", member.job, member.process)
}

/// Whether all scripts have succeeded, and no stop signal came first.
fn await_all(directory: &Path, flags: &Flags, events: &mut Events) -> Result<bool> {
    let missing = || {
        let mut all = flags.pre_starts.iter();
        all.find(|member| !is_marked(directory, &mark_name(member)))
    };
    let Some(first) = missing() else { return Ok(true) };
    say(&format!(
        "waiting for the pre-start script of job '{}' in the container of its process '{}'",
        first.job, first.process
    ));
    wait_until(events, &mut || Ok(missing().is_none()))
}

/// Whether it became so, and no stop signal came first.
fn wait_until(events: &mut Events, is: &mut dyn FnMut() -> Result<bool>) -> Result<bool> {
    while !is()? {
        if events.wait(Some(Instant::now() + POLL_INTERVAL))?.stop {
            return Ok(false);
        }
    }
    Ok(true)
}
