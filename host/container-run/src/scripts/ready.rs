//! `container-run ready`: whether a job's post-start script has succeeded, for the sidecar's readiness probe; with
//! `--process`, whether this process has started, which an inline pre-start script may delay.

use crate::arguments::Flags;
use crate::error::Result;
use crate::instance::{Owner, State, is_marked, live_record};
use crate::output::say::say;
use crate::places::Places;

/// The name of the mark of a job whose post-start script has succeeded.
pub fn mark(job: &str) -> String {
    format!("post-start.{job}")
}

pub fn run(places: &Places, flags: &Flags) -> Result<u8> {
    let directory = places.instance();
    if !flags.process.is_empty() {
        let record = live_record(&directory, Owner::Process(&flags.job, &flags.process));
        if record.is_some_and(|record| record.state != State::Starting) {
            return Ok(0);
        }
        say(&format!(
            "process '{}' of job '{}' has not started yet",
            flags.process, flags.job
        ));
        return Ok(1);
    }
    if live_record(&directory, Owner::Scripts(&flags.job)).is_none() {
        say(&format!("the sidecar for scripts of job '{}' does not run", flags.job));
        return Ok(1);
    }
    if is_marked(&directory, &mark(&flags.job)) {
        return Ok(0);
    }
    say(&format!("post-start of job '{}' has not succeeded yet", flags.job));
    Ok(1)
}
