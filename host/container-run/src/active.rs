//! `container-run active`: the sidecar that runs an active/passive probe, and tells the operator whether the pod is
//! active: `GET /` is answered with the status 200 or 503.
//!
//! The operator has no permission to run commands in pods, and of a probe that the kubelet runs, only readiness is
//! visible to it: a passive pod is ready, too.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Instant;

use rustix::process::{Pid, Signal};

use crate::arguments::Flags;
use crate::children;
use crate::error::{Error, Result};
use crate::events::Events;
use crate::http::{Server, request, response};
use crate::output::say::say;

/// Whether the pod is active, by the last results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Verdict {
    is_active: bool,
    /// Results in a row that say the opposite.
    against: u64,
}

/// A run of the command.
#[derive(Clone, Copy, Debug)]
struct Run {
    pid: Pid,
    /// When it is too late, or too late again: a process that waits for a device does not end even when it is killed.
    due: Instant,
    is_late: bool,
}

pub fn run(flags: &Flags) -> Result<u8> {
    let mut events = Events::new()?;
    children::adopt_orphans();
    let addresses = [
        (Ipv6Addr::UNSPECIFIED, flags.port).into(),
        // Where the kernel has no IPv6.
        (Ipv4Addr::UNSPECIFIED, flags.port).into(),
    ];
    let mut server = Server::new(addresses.into());
    let mut verdict = Verdict::default();
    let mut running: Option<Run> = None;
    let mut next = Instant::now() + flags.delay;
    loop {
        server.listen();
        if running.is_none() && next <= Instant::now() {
            next = Instant::now() + flags.period;
            match start(flags) {
                Ok(started) => running = Some(started),
                Err(error) => {
                    verdict.note(false, flags);
                    say(&error.text);
                }
            }
        }
        let due = running.map_or(next, |run| run.due);
        let until = server.deadline().into_iter().chain([due]).min();
        let happened = events.wait_for(until, server.interests())?;
        if happened.stop {
            children::kill_all();
            return Ok(0);
        }
        if let Some(run) = &mut running {
            let ended = happened.ended.iter().find(|ended| ended.pid == run.pid);
            let now = Instant::now();
            if ended.is_some() || run.due <= now {
                // What the command started ends with it.
                children::send_group(run.pid, Signal::KILL);
            }
            if let Some(success) = run.result(ended.map(|ended| ended.code), now, flags) {
                verdict.note(success, flags);
            }
            if ended.is_some() {
                running = None;
            }
        }
        server.proceed(|_| verdict.answer());
    }
}

/// Starts the command with the variables of the container, as the kubelet does. Its output is discarded: it may contain
/// values, and is written every few seconds.
fn start(flags: &Flags) -> Result<Run> {
    let (program, arguments) = flags
        .command
        .split_first()
        .ok_or_else(|| Error::usage("--word is needed"))?;
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(|error| {
            let text = format!("cannot run the command of the active/passive probe: {}", error.kind());
            Error::of_exec(&error, text)
        })?;
    Ok(Run {
        pid: Pid::from_child(&child),
        due: Instant::now() + flags.timeout,
        is_late: false,
    })
}

// === impl Run ===

impl Run {
    /// Whether it succeeded. A late run is a failure at once, and again in each period in which it has not ended.
    fn result(&mut self, code: Option<u8>, now: Instant, flags: &Flags) -> Option<bool> {
        match code {
            Some(code) => (!self.is_late).then_some(code == 0),
            None if self.due <= now => {
                self.is_late = true;
                self.due = now + flags.period;
                Some(false)
            }
            None => None,
        }
    }
}

// === impl Verdict ===

impl Verdict {
    fn note(&mut self, success: bool, flags: &Flags) {
        if success == self.is_active {
            self.against = 0;
            return;
        }
        self.against += 1;
        let needed = if success { flags.successes } else { flags.failures };
        if self.against >= needed {
            say(if success {
                "the pod is active"
            } else {
                "the pod is passive"
            });
            *self = Self {
                is_active: success,
                against: 0,
            };
        }
    }

    fn answer(self) -> Vec<u8> {
        if self.is_active {
            response(request::OK, "", "active\n")
        } else {
            response(request::UNAVAILABLE, "", "passive\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn results_in_a_row_change_the_verdict() {
        let arguments = ["--word", "true", "--port", "1", "--successes", "2", "--failures", "3"].map(String::from);
        let flags = Flags::read(&arguments, &[]).unwrap();
        let mut verdict = Verdict::default();
        let mut after = |results: &str| {
            results.chars().for_each(|result| verdict.note(result == '+', &flags));
            verdict.is_active
        };
        assert!(!after("+-+"), "not in a row");
        assert!(after("+"));
        assert!(after("--+--"), "not in a row");
        assert!(!after("-"));
    }

    #[test]
    fn a_run_that_does_not_end_is_a_failure_in_each_period() {
        let arguments = ["--word", "true", "--port", "1", "--timeout", "1", "--period", "2"].map(String::from);
        let flags = Flags::read(&arguments, &[]).unwrap();
        let begun = Instant::now();
        let mut run = Run {
            pid: Pid::INIT,
            due: begun + flags.timeout,
            is_late: false,
        };
        let mut at = |millis: u64, code: Option<u8>| run.result(code, begun + Duration::from_millis(millis), &flags);
        assert_eq!(at(500, None), None);
        assert_eq!(at(1000, None), Some(false));
        assert_eq!((at(2900, None), at(3000, None)), (None, Some(false)));
        assert_eq!(at(3100, Some(0)), None, "it was counted");
    }
}
