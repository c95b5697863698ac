//! Child processes: reaping them, and killing all descendants of this process.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, kill_process_group, wait};

/// How long descendants may take to die after SIGKILL.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);

/// A child that has ended, with the exit status that a shell would report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    pub pid: Pid,
    /// Its exit status, or 128 and the signal.
    pub code: u8,
}

/// Makes orphans below this process its children, also where it is not the first of its namespace.
pub fn adopt_orphans() {
    // Where this is not allowed, orphans go to the namespace's first process, and end with the container.
    let _ = rustix::process::set_child_subreaper(Some(getpid()));
}

/// Children that have ended since the last call.
pub fn reap() -> Vec<Ended> {
    let mut ended = Vec::new();
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => ended.extend(code(status).map(|code| Ended { pid, code })),
            Err(Errno::INTR) => {}
            Ok(None) | Err(_) => return ended,
        }
    }
}

fn code(status: WaitStatus) -> Option<u8> {
    if let Some(code) = status.exit_status() {
        return u8::try_from(code & 0xff).ok();
    }
    status
        .terminating_signal()
        .and_then(|signal| u8::try_from(128 + signal).ok())
}

/// Sends a signal to a process. Errors are ignored: the process has ended, or belongs to another user and cannot be
/// signalled.
pub fn send(pid: Pid, signal: Signal) {
    let _ = kill_process(pid, signal);
}

pub fn send_group(pid: Pid, signal: Signal) {
    let _ = kill_process_group(pid, signal);
}

/// Whether a process has not ended. A child counts until [`reap`] has returned its exit status, which would be lost
/// otherwise.
pub fn is_alive(pid: Pid) -> bool {
    match rustix::process::test_kill_process(pid) {
        // A process of another user is not permitted.
        Ok(()) | Err(Errno::PERM) => !is_zombie_of_others(pid),
        Err(_) => false,
    }
}

fn is_zombie_of_others(pid: Pid) -> bool {
    let own = getpid().as_raw_nonzero().get();
    stat(pid.as_raw_nonzero().get()).is_some_and(|stat| stat.state == b'Z' && stat.parent != own)
}

fn has_children() -> bool {
    !matches!(wait(WaitOptions::NOHANG), Err(Errno::CHILD))
}

/// Kills all descendants and reaps them, as BPM kills a process's namespace.
pub fn kill_all() {
    let end = Instant::now() + KILL_TIMEOUT;
    loop {
        reap();
        // Orphans are adopted, so without children there are no descendants. Searching all processes of a machine takes
        // milliseconds.
        if !has_children() || Instant::now() > end {
            return;
        }
        kill_below();
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Kills all descendants.
pub fn kill_below() {
    below().into_iter().for_each(|pid| send(pid, Signal::KILL));
}

/// Waits until no descendant has this process's output open any more, but not longer than this.
pub fn await_writers(timeout: Duration) {
    let end = Instant::now() + timeout;
    let outputs = ["/proc/self/fd/1", "/proc/self/fd/2"].map(|path| fs::read_link(path).ok());
    let writes = |pid: Pid| {
        let open = fs::read_dir(format!("/proc/{}/fd", pid.as_raw_nonzero()));
        let mut files = open
            .into_iter()
            .flatten()
            .flatten()
            .map(|fd| fs::read_link(fd.path()).ok());
        files.any(|file| file.is_some() && outputs.contains(&file))
    };
    reap();
    while has_children() && below().into_iter().any(writes) && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
        reap();
    }
}

/// All descendants that have not ended.
pub fn below() -> Vec<Pid> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let Some((pid, stat)) = number.and_then(|pid| Some((pid, stat(pid)?))) else {
            continue;
        };
        if stat.state != b'Z' || children.contains_key(&pid) {
            children.entry(stat.parent).or_default().push(pid);
        }
    }
    let mut open = vec![getpid().as_raw_nonzero().get()];
    let mut found = Vec::new();
    while let Some(parent) = open.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            open.push(child);
            found.extend(Pid::from_raw(child));
        }
    }
    found
}

struct Stat {
    state: u8,
    parent: i32,
}

/// `<pid> (<name>) <state> <parent> ..`; the name may hold anything, parentheses too.
fn stat(pid: i32) -> Option<Stat> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let after = text.iter().rposition(|byte| *byte == b')')? + 2;
    let mut fields = text.get(after..)?.split(|byte| *byte == b' ');
    Some(Stat {
        state: *fields.next()?.first()?,
        parent: std::str::from_utf8(fields.next()?).ok()?.parse().ok()?,
    })
}
