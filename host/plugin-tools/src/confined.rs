//! Limits of a process that handles what is foreign and not covered by fuel: the compiler, the maker of components, and
//! the check of settings.

use anyhow::Context;
use boson_sandbox::{MAX_MACHINE_CODE_BYTES, Task};
use rustix::process::{Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit};
use std::io::{Read, Write};
use std::path::Path;

/// Address space. CRuby, the largest component known, takes 1.5 GiB to compile; the pool's reservation is not made
/// before the limit is set.
const MAX_ADDRESS_SPACE_BYTES: u64 = 8 << 30;
/// Directory of the control group, with its memory limit, its usage, and the part that the kernel can reclaim
/// immediately.
const GROUP: &str = "/sys/fs/cgroup";
/// Memory of the container that is reserved for a conversion that runs at the same time.
const RESERVED_BYTES: u64 = 256 << 20;

/// Limits this process to what its task needs, and then reads what the task is about from standard input.
///
/// # Errors
/// The system refuses a limit, or standard input cannot be read.
pub fn begin(task: Task, what: &str) -> anyhow::Result<Vec<u8>> {
    confine(task)?;
    let mut bytes = Vec::new();
    let read = std::io::stdin().read_to_end(&mut bytes);
    read.with_context(|| format!("cannot read the {what}"))?;
    Ok(bytes)
}

/// Writes the result of the task to standard output.
///
/// # Errors
/// Standard output cannot be written.
pub fn end(bytes: &[u8], what: &str) -> anyhow::Result<()> {
    let written = std::io::stdout().write_all(bytes);
    written.with_context(|| format!("cannot write the {what}"))
}

/// Limits this process to what its task needs, for the rest of its life.
fn confine(task: Task) -> anyhow::Result<()> {
    // If the parent process ends, the result is not needed.
    set_parent_process_death_signal(Some(Signal::KILL)).context("cannot end with the parent process")?;
    limit(Resource::Cpu, task.cpu_limit().as_secs())?;
    limit(Resource::As, MAX_ADDRESS_SPACE_BYTES)?;
    limit(Resource::Fsize, MAX_MACHINE_CODE_BYTES)?;
    // Without a limit the kernel would kill the whole container, and the next one, which compiles the same component
    // again.
    if let Some(available) = available(Path::new(GROUP)) {
        limit(Resource::Data, available)?;
    }
    Ok(())
}

/// Bytes that this container can still have, if it is one with a limit.
fn available(group: &Path) -> Option<u64> {
    let number = |name: &str| -> Option<u64> { std::fs::read_to_string(group.join(name)).ok()?.trim().parse().ok() };
    let (most, held) = (number("memory.max")?, number("memory.current")?);
    let details = std::fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let cached = details.lines().find_map(|line| line.strip_prefix("inactive_file "));
    let cached: u64 = cached.and_then(|bytes| bytes.trim().parse().ok()).unwrap_or(0);
    Some(
        most.saturating_sub(held.saturating_sub(cached))
            .saturating_sub(RESERVED_BYTES),
    )
}

/// Lowers a limit; a lower limit is not raised.
fn limit(resource: Resource, value: u64) -> anyhow::Result<()> {
    let held = getrlimit(resource);
    let narrower = |held: Option<u64>, value: u64| Some(held.map_or(value, |held| held.min(value)));
    // The signal that names the reason comes at the lower of the two; at the upper one the process is killed without a
    // message.
    let limit = Rlimit {
        current: narrower(held.current, value),
        maximum: narrower(held.maximum, value.saturating_add(1)),
    };
    setrlimit(resource, limit).context("cannot bound the compiler")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_container_with_a_limit_has_what_it_does_not_hold_yet() {
        let group = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(group.path().join(name), text).unwrap();
        assert_eq!(available(group.path()), None);
        write("memory.max", "max\n");
        write("memory.current", "629145600\n");
        assert_eq!(available(group.path()), None, "no limit");
        write("memory.max", "2147483648\n");
        assert_eq!(available(group.path()), Some((2048 - 600 - 256) << 20));
        write("memory.stat", "anon 1\ninactive_file 104857600\nactive_file 7\n");
        assert_eq!(available(group.path()), Some((2048 - 500 - 256) << 20));
        write("memory.current", "2147483648\n");
        write("memory.stat", "");
        assert_eq!(available(group.path()), Some(0));
    }
}
