//! A process as BPM runs it: hook, process, pid file; and BPM's way of stopping it.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::{Phase, Service};
use crate::arguments::Flags;
use crate::children::{self, Ended};
use crate::description::Process;
use crate::directories::{self, VCAP_ID};
use crate::environment;
use crate::error::{Context, Error, Result};
use crate::events::Events;
use crate::exec_as::Changes;
use crate::launch::{Launch, Outputs};
use crate::output::logfile::{Access, LogFile, Rotation};
use crate::output::say::say;
use crate::places::Places;

/// BPM waits this long for a process to end by itself.
const STOP_TIMEOUT: Duration = Duration::from_secs(15);
/// After SIGQUIT, at which many runtimes write their stacks.
const QUIT_TIMEOUT: Duration = Duration::from_secs(2);
/// A hook that is stopped, as any script of the agent.
const HOOK_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct BpmProcess {
    places: Places,
    job: String,
    process: Process,
    /// Whether this program is root: it then creates directories, and runs the process as another user.
    root: bool,
    hook: Option<Launch>,
    launch: Launch,
    rotation: Rotation,
    has_pid_file: bool,
    step: Step,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Idle,
    Hook(Pid),
    HookStopped(Pid, Instant),
    Run(Pid),
    Asked(Pid, Instant),
    Quit(Pid, Instant),
    Killed(Pid),
    Ended(u8),
}

// === impl BpmProcess ===

impl BpmProcess {
    /// Creates the process from its description; reports errors that can be found before it starts.
    pub fn new(places: &Places, job: &str, process: &Process, flags: &Flags) -> Result<Self> {
        if process.executable.is_empty() {
            return Err(Error::new(format!(
                "process '{}' of job '{job}' has no executable",
                process.name
            )));
        }
        let root = rustix::process::geteuid().is_root();
        crate::exec_as::capabilities(&process.capabilities)?;
        let environment = environment::of_process(places, job, process, &flags.env);
        let workdir = process.workdir.as_ref().filter(|path| !path.is_empty());
        let launch = Launch {
            program: process.executable.clone(),
            arguments: process.args.clone(),
            environment: environment.clone(),
            directory: Some(workdir.map_or_else(|| places.vcap("jobs").join(job), PathBuf::from)),
            changes: changes(process, root),
        };
        let hook = process.pre_start.as_ref().map(|path| Launch {
            program: path.clone(),
            environment,
            ..Launch::default()
        });
        Ok(Self {
            places: places.clone(),
            job: job.to_string(),
            process: process.clone(),
            root,
            hook,
            launch,
            rotation: flags.rotation,
            has_pid_file: true,
            step: Step::Idle,
        })
    }

    /// Disables the pid file, as `bpm run` does.
    pub fn without_pid_file(mut self) -> Self {
        self.has_pid_file = false;
        self
    }

    /// The program, for a caller that starts it in the foreground.
    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    fn launch_hook(&mut self, hook: &Launch, events: &mut Events) -> Result<()> {
        let started = hook.start(Outputs::Pipes);
        let running = started.map_err(|error| Error {
            text: format!("prestart hook failed: {}", error.text),
            ..error
        })?;
        events.relay_program(running.pipes, |word| Some(self.log(word)))?;
        self.step = Step::Hook(running.pid);
        Ok(())
    }

    fn launch_process(&mut self, events: &mut Events) -> Result<()> {
        let running = self.launch.start(Outputs::Pipes)?;
        events.relay_program(running.pipes, |word| Some(self.log(word)))?;
        self.step = Step::Run(running.pid);
        // Scripts read it as soon as the container counts as started.
        if self.has_pid_file
            && let Err(error) = self.write_pid(running.pid)
        {
            say(&error.text);
        }
        Ok(())
    }

    fn log(&self, word: &str) -> LogFile {
        let directory = self.places.logs(&self.job);
        let access = Access {
            mode: 0o600,
            owner: self.root.then_some((VCAP_ID, VCAP_ID)),
        };
        let path = directory.join(format!("{}.{word}.log", self.process.name));
        LogFile::open(path, access, self.rotation)
    }

    /// A new file each time: the old one may have been replaced by a link.
    fn write_pid(&self, pid: Pid) -> Result<()> {
        let path = self.places.pid_file(&self.job, &self.process.name);
        drop(fs::remove_file(&path));
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o644).open(&path);
        file.and_then(|mut file| file.write_all(pid.as_raw_nonzero().to_string().as_bytes()))
            .path_context("writing the pid file", &path)
    }
}

impl Service for BpmProcess {
    fn start(&mut self, events: &mut Events) -> Result<()> {
        self.clean();
        directories::prepare(&self.places, &self.job, &self.process, self.root)?;
        if let Some(number) = self.process.limits.processes {
            limit_processes(number);
        }
        match self.hook.clone() {
            Some(hook) => self.launch_hook(&hook, events),
            None => self.launch_process(events),
        }
    }

    fn stop(&mut self, _events: &mut Events) -> Result<()> {
        match self.step {
            Step::Hook(pid) => {
                children::send_group(pid, Signal::TERM);
                self.step = Step::HookStopped(pid, Instant::now() + HOOK_TIMEOUT);
            }
            Step::Run(pid) => {
                let asked = match self.process.shutdown_signal.as_deref() {
                    Some("INT" | "SIGINT") => Signal::INT,
                    _ => Signal::TERM,
                };
                // Only the child, as tini does: it stops its own children.
                children::send(pid, asked);
                self.step = Step::Asked(pid, Instant::now() + STOP_TIMEOUT);
            }
            _ => {}
        }
        Ok(())
    }

    fn ended(&mut self, ended: Ended, events: &mut Events) -> Result<()> {
        match self.step {
            Step::Hook(pid) if pid == ended.pid && ended.code == 0 => self.launch_process(events)?,
            Step::Hook(pid) if pid == ended.pid => {
                say(&format!("prestart hook failed: exit status {}", ended.code));
                self.step = Step::Ended(ended.code);
            }
            Step::HookStopped(pid, _)
            | Step::Run(pid)
            | Step::Asked(pid, _)
            | Step::Quit(pid, _)
            | Step::Killed(pid)
                if pid == ended.pid =>
            {
                self.step = Step::Ended(ended.code);
            }
            _ => {}
        }
        Ok(())
    }

    fn tick(&mut self) {
        let now = Instant::now();
        match self.step {
            Step::Asked(pid, until) if until <= now => {
                children::send(pid, Signal::QUIT);
                self.step = Step::Quit(pid, now + QUIT_TIMEOUT);
            }
            Step::Quit(pid, until) | Step::HookStopped(pid, until) if until <= now => {
                children::kill_below();
                self.step = Step::Killed(pid);
            }
            _ => {}
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match self.step {
            Step::Asked(_, until) | Step::Quit(_, until) | Step::HookStopped(_, until) => Some(until),
            _ => None,
        }
    }

    fn signal(&self, signal: Signal) {
        if let Step::Run(pid) | Step::Asked(pid, _) | Step::Quit(pid, _) = self.step {
            children::send(pid, signal);
        }
    }

    fn phase(&self) -> Phase {
        match self.step {
            Step::Idle | Step::Hook(_) | Step::HookStopped(..) => Phase::Starting,
            Step::Run(pid) | Step::Asked(pid, _) | Step::Quit(pid, _) | Step::Killed(pid) => Phase::Running(pid),
            Step::Ended(code) => Phase::Ended(code),
        }
    }

    fn clean(&self) {
        if self.has_pid_file {
            drop(fs::remove_file(self.places.pid_file(&self.job, &self.process.name)));
        }
    }
}

/// Limits the processes of the control group, as BPM does: a limit of the user would count the processes of all
/// containers of the node.
fn limit_processes(number: u64) {
    // This program is in it, too.
    if let Err(error) = fs::write("/sys/fs/cgroup/pids.max", number.saturating_add(1).to_string()) {
        say(&format!(
            "limits.processes {number} has no effect: the container's control group cannot be changed ({error}); the kubelet's podPidsLimit applies"
        ));
    }
}

fn changes(process: &Process, root: bool) -> Changes {
    let becomes_vcap = root && !process.privileged;
    Changes {
        user: becomes_vcap.then_some((VCAP_ID, VCAP_ID)),
        capabilities: if process.privileged {
            Vec::new()
        } else {
            process.capabilities.clone()
        },
        no_new_privileges: !process.privileged,
        open_files: process.limits.open_files,
        usual_open_files: process.limits.open_files.is_none(),
        core: process.limits.core_file_size,
        ..Changes::default()
    }
}
