//! `container-run script` and `container-run errand`: one script, whose exit status is the container's.

use super::finish::{finish, run};
use super::lost::Search;
use super::{PRE_START, Record, Script, inline};
use crate::arguments::Flags;
use crate::children;
use crate::error::Result;
use crate::events::{Events, LAST_OUTPUT_TIMEOUT};
use crate::output::say::say;
use crate::places::Places;

/// Runs a script of a job. A missing script is not an error.
pub fn script(places: &Places, flags: &Flags) -> Result<u8> {
    let script = Script::new(places, flags, &flags.name);
    if !script.exists() {
        say(&format!("job '{}' has no script '{}'", flags.job, flags.name));
        return Ok(0);
    }
    let mut events = Events::new()?;
    children::adopt_orphans();
    // Only its container ends before all others start.
    let search = (flags.name == PRE_START).then(|| Search::begin(places)).flatten();
    let finished = run(&script, &mut events)?;
    if let Some(search) = search.filter(|_| finished.code == 0) {
        search.report(&flags.job);
    }
    Ok(finished.code)
}

/// Runs the errand of a job.
pub fn errand(places: &Places, flags: &Flags) -> Result<u8> {
    let mut events = Events::new()?;
    children::adopt_orphans();
    if let Some(code) = inline::run_pre_start(places, flags, &flags.job, &mut events)? {
        return Ok(code);
    }
    let pid = Script::new(places, flags, "run").start(&[], &[], Record::Container, &mut events)?;
    let finished = finish(pid, &mut events)?;
    children::await_writers(LAST_OUTPUT_TIMEOUT);
    children::kill_all();
    Ok(finished.code)
}
