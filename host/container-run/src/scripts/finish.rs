//! How a script is waited for, and what happens when it fails.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::{Record, Script};
use crate::children::{self, Ended};
use crate::error::Result;
use crate::events::Events;
use crate::output::say::say;

/// The agent's patience with a script that was cancelled.
pub const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);

/// The end of a script.
#[derive(Clone, Copy, Debug)]
pub struct Finished {
    pub code: u8,
    /// Whether the container is to stop.
    pub is_stopped: bool,
}

/// Runs a script that has log files to its end, with all of its output, and reports if it fails.
pub fn run(script: &Script<'_>, events: &mut Events) -> Result<Finished> {
    let pid = script.start(&[], &[], Record::Files, events)?;
    let finished = finish(pid, events)?;
    events.relay_last_output();
    if finished.code != 0 {
        say(&format!(
            "script '{}' of job '{}' failed: exit status {}",
            script.name, script.flags.job, finished.code
        ));
        sleep_after_failure(script.flags.wait, events)?;
    }
    Ok(finished)
}

/// Waits for the script's end. On a stop signal it cancels the script, as the agent does.
pub fn finish(pid: Pid, events: &mut Events) -> Result<Finished> {
    let mut kill_at = None;
    loop {
        let happened = events.wait(kill_at)?;
        if let Some(Ended { code, .. }) = happened.ended.iter().find(|ended| ended.pid == pid) {
            return Ok(Finished {
                code: *code,
                is_stopped: happened.stop || kill_at.is_some(),
            });
        }
        if happened.stop && kill_at.is_none() {
            children::send_group(pid, Signal::TERM);
            kill_at = Some(Instant::now() + CANCEL_TIMEOUT);
        }
        if kill_at.is_some_and(|at| at <= Instant::now()) {
            children::send_group(pid, Signal::KILL);
            kill_at = Some(Instant::now() + CANCEL_TIMEOUT);
        }
    }
}

/// Keeps the container, so that the failure can be inspected with `kubectl exec`.
fn sleep_after_failure(wait: Duration, events: &mut Events) -> Result<()> {
    if wait.is_zero() {
        return Ok(());
    }
    say(&format!(
        "the container continues to run for {} seconds",
        wait.as_secs()
    ));
    let end = Instant::now() + wait;
    while Instant::now() < end && !events.wait(Some(end))?.stop {}
    Ok(())
}
