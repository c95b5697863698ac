//! `container-run scripts`: the sidecar that runs a job's scripts at BOSH's moments, together with those of the pod's
//! other jobs.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::drain::{Answer, Call, answer};
use super::finish::CANCEL_TIMEOUT;
use super::ready::mark as post_start_mark;
use super::{Record, Script, skip_drain};
use crate::arguments::Flags;
use crate::children::{self, Ended};
use crate::description::Description;
use crate::environment;
use crate::error::{Error, Result};
use crate::events::{Events, Happened};
use crate::instance::pod::{Pod, time_for_scripts};
use crate::instance::{Owner, State, StateFile, is_marked, mark};
use crate::launch::{Launch, Outputs};
use crate::output::say::say;
use crate::places::Places;

/// How often files of other containers are read.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// While all wait for each other.
const PRE_STOP_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How often the condition of post-start is tried.
const CONDITION_INTERVAL: Duration = Duration::from_secs(1);

/// State of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Waiting until all processes of the pod run.
    Members,
    /// They run; the condition is tried again at this time.
    Condition(Instant),
    /// The condition is being tried.
    Trying(Pid),
    PostStart(Pid),
    Up,
    PostDeploy(Pid),
    /// The pod stops, since then: pre-stop runs.
    PreStop(Pid),
    /// Other jobs' pre-stop scripts still run.
    AwaitPreStops,
    Drain(Pid),
    /// drain asked for this time.
    Sleep(Instant, bool),
    /// Done: processes may stop.
    Drained,
    PostStop(Pid),
}

struct Sidecar<'a> {
    places: &'a Places,
    flags: &'a Flags,
    directory: PathBuf,
    events: Events,
    state_file: StateFile,
    stage: Stage,
    /// When the last container received its stop signal, by the clock that containers share.
    stop_since: u64,
    /// When pre-stop and drain are cancelled, and then killed.
    cancel: Option<Instant>,
    cancelled: bool,
    end: Option<u8>,
}

pub fn run(places: &Places, flags: &Flags) -> Result<u8> {
    let directory = places.instance();
    let events = Events::new()?;
    children::adopt_orphans();
    let state_file = StateFile::lock(&directory, Owner::Scripts(&flags.job))?;
    let done = is_marked(&directory, &post_start_mark(&flags.job));
    state_file.set(if done { State::Running } else { State::Starting }, 0);
    let mut sidecar = Sidecar {
        places,
        flags,
        directory,
        events,
        state_file,
        stage: if done { Stage::Up } else { Stage::Members },
        stop_since: 0,
        cancel: None,
        cancelled: false,
        end: None,
    };
    loop {
        sidecar.proceed()?;
        if let Some(code) = sidecar.end {
            sidecar.events.relay_last_output();
            children::kill_all();
            return Ok(code);
        }
        let until = sidecar.deadline();
        let happened = sidecar.events.wait(Some(until))?;
        sidecar.handle(&happened)?;
    }
}

// === impl Sidecar ===

impl Sidecar<'_> {
    fn pod(&self) -> Pod<'_> {
        Pod::new(&self.directory, self.flags)
    }

    /// Starts a script, if the job has it. One that cannot be started counts as failed, but delays nothing.
    fn start(
        &mut self,
        name: &str,
        arguments: &[&str],
        more: &[(&str, String)],
        record: Record,
    ) -> Result<Option<Pid>> {
        let script = Script::new(self.places, self.flags, name);
        if !script.exists() {
            return Ok(None);
        }
        script.start(arguments, more, record, &mut self.events).map(Some)
    }

    /// Takes the next step that the pod's state and the time allow.
    fn proceed(&mut self) -> Result<()> {
        if self.notices_stop() {
            self.pre_stop();
            return Ok(());
        }
        match self.stage {
            Stage::Members if self.pod().all_run() => self.stage = Stage::Condition(Instant::now()),
            Stage::Condition(at) if at <= Instant::now() => self.try_condition()?,
            Stage::Up => self.post_deploy()?,
            Stage::AwaitPreStops if self.pod().all_pre_stopped(self.stop_since) => self.drain(Call::Shutdown),
            Stage::Sleep(until, again) if until <= Instant::now() => {
                if again {
                    self.drain(Call::CheckStatus)
                } else {
                    self.set_drained()
                }
            }
            // Only containers were restarted; the pod is not stopping.
            Stage::Drained if self.pod().any_lives() && self.pod().all_stop().is_none() => {
                self.state_file.set(State::Running, 0);
                self.stage = Stage::Up;
            }
            _ => {}
        }
        self.cancel_overdue();
        Ok(())
    }

    fn notices_stop(&self) -> bool {
        match self.stage {
            Stage::Members
            | Stage::Condition(_)
            | Stage::Trying(_)
            | Stage::PostStart(_)
            | Stage::Up
            | Stage::PostDeploy(_) => self.pod().all_stop().is_some(),
            _ => false,
        }
    }

    fn try_condition(&mut self) -> Result<()> {
        let described = if self.flags.condition {
            Description::read(self.places, &self.flags.job)?.condition
        } else {
            None
        };
        let Some((program, arguments)) = described.as_deref().and_then(<[_]>::split_first) else {
            return self.post_start();
        };
        let launch = Launch {
            program: program.clone(),
            arguments: arguments.to_vec(),
            environment: environment::of_script(self.places, &self.flags.env, &[]),
            ..Launch::default()
        };
        self.stage = match launch.start(Outputs::Inherited) {
            Ok(running) => Stage::Trying(running.pid),
            Err(error) => {
                say(&format!("condition of post-start: {}", error.text));
                Stage::Condition(Instant::now() + CONDITION_INTERVAL)
            }
        };
        Ok(())
    }

    fn post_start(&mut self) -> Result<()> {
        match self.start("post-start", &[], &[], Record::Files)? {
            Some(pid) => self.stage = Stage::PostStart(pid),
            None => self.set_up()?,
        }
        Ok(())
    }

    fn set_up(&mut self) -> Result<()> {
        mark(&self.directory, &post_start_mark(&self.flags.job))?;
        self.state_file.set(State::Running, 0);
        self.stage = Stage::Up;
        Ok(())
    }

    /// When the operator has written a new value: the deployment is up.
    fn post_deploy(&mut self) -> Result<()> {
        let Some(value) = self.flags.post_deploy_value() else {
            return Ok(());
        };
        let done = format!("post-deploy.{}.{value}", self.flags.job);
        if is_marked(&self.directory, &done) {
            return Ok(());
        }
        mark(&self.directory, &done)?;
        if let Some(pid) = self.start("post-deploy", &[], &[], Record::Files)? {
            self.stage = Stage::PostDeploy(pid);
        }
        Ok(())
    }

    fn pre_stop(&mut self) {
        self.stop_since = self.pod().all_stop().unwrap_or_default();
        self.cancel = Some(Instant::now() + time_for_scripts(self.flags.grace));
        self.cancelled = false;
        // Scripts of a start that is now obsolete.
        self.signal(Signal::TERM);
        if skip_drain::is_requested(&self.directory) {
            say(&format!(
                "pre-stop and drain of job '{}' are skipped, as requested",
                self.flags.job
            ));
            return self.set_drained();
        }
        let keep = [
            "BOSH_VM_NEXT_STATE",
            "BOSH_INSTANCE_NEXT_STATE",
            "BOSH_DEPLOYMENT_NEXT_STATE",
        ];
        let keep = keep.map(|name| (name, "keep".to_string()));
        let started = self.start("pre-stop", &[], &keep, Record::Files);
        match started.inspect_err(|error| say(&error.text)) {
            Ok(Some(pid)) => self.stage = Stage::PreStop(pid),
            Ok(None) | Err(_) => self.await_pre_stops(),
        }
    }

    fn await_pre_stops(&mut self) {
        self.state_file.set(State::PreStopped, 0);
        self.stage = Stage::AwaitPreStops;
    }

    fn drain(&mut self, call: Call) {
        let variables = call.variables(self.flags.persistent_disk);
        let started = self.start("drain", &call.arguments(), &variables, Record::Answer);
        match started.inspect_err(|error| say(&error.text)) {
            Ok(Some(pid)) => self.stage = Stage::Drain(pid),
            Ok(None) | Err(_) => self.set_drained(),
        }
    }

    fn set_drained(&mut self) {
        self.cancel = None;
        self.state_file.set(State::Drained, 0);
        self.stage = Stage::Drained;
    }

    fn handle(&mut self, happened: &Happened) -> Result<()> {
        for ended in &happened.ended {
            self.handle_end(*ended)?;
        }
        if happened.stop {
            self.on_stop()?;
        }
        Ok(())
    }

    fn handle_end(&mut self, ended: Ended) -> Result<()> {
        let failed = ended.code != 0;
        match self.stage {
            Stage::Trying(pid) if pid == ended.pid && failed => {
                self.stage = Stage::Condition(Instant::now() + CONDITION_INTERVAL)
            }
            Stage::Trying(pid) if pid == ended.pid => self.post_start()?,
            Stage::PostStart(pid) if pid == ended.pid => {
                self.report("post-start", ended.code);
                if failed {
                    self.events.relay_last_output();
                    return Err(Error {
                        code: 1,
                        text: "the container exits and is restarted with post-start".to_string(),
                    });
                }
                self.set_up()?;
            }
            Stage::PostDeploy(pid) if pid == ended.pid => {
                self.report("post-deploy", ended.code);
                self.stage = Stage::Up;
            }
            Stage::PreStop(pid) if pid == ended.pid => {
                self.report("pre-stop", ended.code);
                self.await_pre_stops();
            }
            Stage::Drain(pid) if pid == ended.pid => self.note_answer(),
            Stage::PostStop(pid) if pid == ended.pid => {
                self.report("post-stop", ended.code);
                self.end = Some(0);
            }
            _ => {}
        }
        Ok(())
    }

    fn note_answer(&mut self) {
        let output = self.events.collect();
        match answer(&output) {
            _ if self.cancelled => self.set_drained(),
            Some(Answer::Done(wait)) => self.stage = Stage::Sleep(Instant::now() + wait, false),
            Some(Answer::Again(wait)) => self.stage = Stage::Sleep(Instant::now() + wait, true),
            None => {
                say(&format!(
                    "drain of job '{}': Script did not return a signed integer",
                    self.flags.job
                ));
                self.set_drained();
            }
        }
    }

    /// Cancels scripts that use up the grace period: the containers of processes do not wait longer, either.
    fn cancel_overdue(&mut self) {
        let Some(at) = self.cancel.filter(|at| *at <= Instant::now()) else {
            return;
        };
        match self.stage {
            Stage::PreStop(_) | Stage::Drain(_) if !self.cancelled => {
                self.report_cancelled();
                self.cancel = Some(at + CANCEL_TIMEOUT);
                self.signal(Signal::TERM);
            }
            Stage::PreStop(_) | Stage::Drain(_) => {
                self.cancel = Some(at + CANCEL_TIMEOUT);
                self.signal(Signal::KILL);
            }
            Stage::AwaitPreStops | Stage::Sleep(..) => self.set_drained(),
            _ => {}
        }
    }

    /// Kubernetes does this after all processes have ended.
    fn on_stop(&mut self) -> Result<()> {
        if matches!(self.stage, Stage::PostStop(_)) || self.end.is_some() {
            return Ok(());
        }
        if matches!(self.stage, Stage::PreStop(_) | Stage::Drain(_)) && !self.cancelled {
            // The processes did not wait for the script any longer.
            self.report_cancelled();
        }
        self.signal(Signal::TERM);
        if self.pod().any_lives() {
            // Only this container stops.
            self.end = Some(0);
            return Ok(());
        }
        self.cancel = None;
        match self.start("post-stop", &[], &[], Record::Files)? {
            Some(pid) => self.stage = Stage::PostStop(pid),
            None => self.end = Some(0),
        }
        Ok(())
    }

    fn report_cancelled(&mut self) {
        say(&format!(
            "the scripts of job '{}' are cancelled: the grace period is nearly over",
            self.flags.job
        ));
        self.cancelled = true;
    }

    fn signal(&self, signal: Signal) {
        if let Stage::Trying(pid)
        | Stage::PostStart(pid)
        | Stage::PostDeploy(pid)
        | Stage::PreStop(pid)
        | Stage::Drain(pid) = self.stage
        {
            children::send_group(pid, signal);
        }
    }

    fn report(&self, script: &str, code: u8) {
        if code != 0 {
            say(&format!(
                "script '{script}' of job '{}' failed: exit status {code}",
                self.flags.job
            ));
        }
    }

    fn deadline(&self) -> Instant {
        let poll = match self.stage {
            Stage::AwaitPreStops => PRE_STOP_POLL_INTERVAL,
            _ => POLL_INTERVAL,
        };
        let until = match self.stage {
            Stage::Condition(at) | Stage::Sleep(at, _) => Some(at),
            _ => None,
        };
        [Some(Instant::now() + poll), until, self.cancel]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or_else(Instant::now)
    }
}
