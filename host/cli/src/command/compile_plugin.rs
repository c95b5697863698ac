//! `host compile-plugin`: compiles foreign code in a process that bounds itself. Compilation is not covered by fuel: a component made for it can
//! keep a compiler busy, or feed it memory, for as long as it likes.

use crate::exit::Failed;
use crate::output;
use anyhow::Context;
use boson_sandbox::{Cache, Limits, Sandbox};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::path::Path;

/// Address space. CRuby, the largest component known, takes 1.5 GiB to compile; the pool's reservation is not made before the limit is set.
const MAX_ADDRESS_SPACE: u64 = 8 << 30;
/// Seconds of processor time, all threads together. CRuby takes 20.
const MAX_CPU: u64 = 120;

pub fn run(component: &Path, output: &Path) -> Result<(), Failed> {
    let bytes = std::fs::read(component).context("cannot read the component")?;
    limit(Resource::Cpu, MAX_CPU)?;
    limit(Resource::As, MAX_ADDRESS_SPACE)?;
    limit(Resource::Core, 0)?;
    let compiled = Sandbox::new(Limits::default(), Cache::none()).and_then(|sandbox| sandbox.compile("", &bytes));
    match compiled {
        Ok(code) => Ok(std::fs::write(output, code).context("cannot write the machine code")?),
        Err(failure) => {
            output::complain(&format!("{}\n", failure.message));
            Err(Failed::Input)
        }
    }
}

/// Narrows a limit; one that is narrower already stays.
fn limit(resource: Resource, value: u64) -> anyhow::Result<()> {
    let held = getrlimit(resource);
    let narrower = |held: Option<u64>, value: u64| Some(held.map_or(value, |held| held.min(value)));
    // The signal that names the reason comes at the lower of the two; at the upper one the process is killed without a word.
    let limit = Rlimit {
        current: narrower(held.current, value),
        maximum: narrower(held.maximum, value.saturating_add(1)),
    };
    setrlimit(resource, limit).context("cannot bound the compiler")
}
