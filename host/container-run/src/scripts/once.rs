//! `container-run script` and `container-run errand`: one script, whose exit status is the container's.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::{Record, Script};
use crate::arguments::Flags;
use crate::children::{self, Ended};
use crate::error::Result;
use crate::events::{Events, LAST_OUTPUT_TIMEOUT};
use crate::output::say::say;
use crate::places::Places;

/// The agent's patience with a script that was cancelled.
pub const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs a script of a job. A missing script is not an error.
pub fn script(places: &Places, flags: &Flags) -> Result<u8> {
    let script = Script::new(places, flags, &flags.name);
    if !script.exists() {
        say(&format!("job '{}' has no script '{}'", flags.job, flags.name));
        return Ok(0);
    }
    let mut events = Events::new()?;
    children::adopt_orphans();
    let pid = script.start(&[], &[], Record::Files, &mut events)?;
    let code = finish(pid, &mut events)?;
    events.last_output();
    if code != 0 {
        say(&format!(
            "script '{}' of job '{}' failed: exit status {code}",
            flags.name, flags.job
        ));
        linger(flags.wait, &mut events)?;
    }
    Ok(code)
}

/// Runs the errand of a job.
pub fn errand(places: &Places, flags: &Flags) -> Result<u8> {
    let mut events = Events::new()?;
    children::adopt_orphans();
    let pid = Script::new(places, flags, "run").start(&[], &[], Record::Container, &mut events)?;
    let code = finish(pid, &mut events)?;
    children::await_writers(LAST_OUTPUT_TIMEOUT);
    children::kill_all();
    Ok(code)
}

/// Waits for the script's end. On a stop signal it cancels the script, as the agent does.
pub(super) fn finish(pid: Pid, events: &mut Events) -> Result<u8> {
    let mut kill_at = None;
    loop {
        let happened = events.wait(kill_at)?;
        if let Some(Ended { code, .. }) = happened.ended.iter().find(|ended| ended.pid == pid) {
            return Ok(*code);
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
fn linger(wait: Duration, events: &mut Events) -> Result<()> {
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
