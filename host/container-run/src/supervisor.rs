//! `container-run process`: the life of a container that runs one process.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::arguments::Flags;
use crate::children;
use crate::description::Description;
use crate::error::Result;
use crate::events::{Events, Happened};
use crate::instance::control::{Control, Request};
use crate::instance::order::{Dependents, Order};
use crate::instance::pod::{Pod, STOP_SIGNAL_TIMEOUT, time_for_scripts};
use crate::instance::{Owner, Record, State, StateFile, now};
use crate::output::say::say;
use crate::places::Places;
use crate::scripts::inline;
use crate::service::bpm::BpmProcess;
use crate::service::monit::MonitProcess;
use crate::service::{Phase, Service};

/// How often files of others are read while something waits for them.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How often a running process checks that those run which it depends on.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// State of the container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The process waits for others that it depends on.
    Await,
    /// The process starts or runs.
    Run,
    /// The stop signal was received at this time; whether the whole pod stops is not known yet.
    AwaitStop(Instant),
    /// The pod stops: scripts run, until then at the latest.
    Scripts(Instant),
    /// The pod stops: processes that depend on this one stop first. Since then.
    Dependents(Instant),
    /// The process is being stopped, and the container with it.
    End,
    /// The process is being stopped on request.
    Halt,
    /// The process is being stopped, to be started again.
    Restart,
    /// The process is stopped; the container waits for a request.
    Halted,
}

struct Supervisor<'a> {
    flags: &'a Flags,
    directory: PathBuf,
    service: Box<dyn Service>,
    events: Events,
    state_file: Option<StateFile>,
    order: Order,
    stage: Stage,
    /// When the container received its stop signal, by the clock that containers share.
    stop_since: u64,
    stopped_at: Instant,
    running: bool,
    ended: Option<u8>,
}

pub fn run(places: &Places, flags: &Flags) -> Result<u8> {
    let description = Description::read(places, &flags.job)?;
    let process = description.process(&flags.process)?;
    let mut events = Events::new()?;
    children::adopt_orphans();
    // Before the others of the pod see this container: until then, it has nothing to stop.
    if let Some(code) = inline::run_pre_start(places, flags, &flags.process, &mut events)? {
        return Ok(code);
    }
    let directory = places.instance();
    let state_file = create_state_file(&directory, flags, &mut events);
    let order = match state_file {
        Some(_) => Order::of(places, &flags.job, process),
        None => Order::default(),
    };
    let service: Box<dyn Service> = match &process.monit {
        Some(monit) => Box::new(MonitProcess::new(places, monit, flags)?),
        None => Box::new(BpmProcess::new(places, &flags.job, process, flags)?),
    };
    drop(description);
    let mut supervisor = Supervisor {
        flags,
        directory,
        service,
        events,
        state_file,
        order,
        stage: Stage::Run,
        stop_since: 0,
        stopped_at: Instant::now(),
        running: false,
        ended: None,
    };
    supervisor.start()?;
    let code = supervisor.run_to_end();
    if code.is_err() {
        children::kill_all();
    }
    code
}

/// Creates the container's state file. Without the directory for it, the process still runs, but without coordination.
fn create_state_file(directory: &std::path::Path, flags: &Flags, events: &mut Events) -> Option<StateFile> {
    if !directory.is_dir() {
        return None;
    }
    let entered = StateFile::lock(directory, Owner::Process(&flags.job, &flags.process)).and_then(|state_file| {
        events.control = Some(Control::listen(directory, &flags.job, &flags.process)?);
        Ok(state_file)
    });
    if let Err(error) = &entered {
        say(&format!("{}: scripts of the pod do not find this process", error.text));
    }
    entered.ok()
}

fn number(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}

// === impl Supervisor ===

impl Supervisor<'_> {
    fn run_to_end(&mut self) -> Result<u8> {
        loop {
            self.service.tick();
            self.note_phase()?;
            self.proceed()?;
            if let (Some(code), Stage::Run | Stage::End) = (self.ended, self.stage) {
                return Ok(code);
            }
            let happened = self.events.wait(self.deadline())?;
            self.handle(happened)?;
        }
    }

    fn handle(&mut self, happened: Happened) -> Result<()> {
        for ended in happened.ended {
            self.service.ended(ended, &mut self.events)?;
        }
        for signal in happened.forward {
            self.service.signal(signal);
        }
        if happened.stop {
            self.on_stop()?;
        }
        for request in happened.requests {
            self.request(request)?;
        }
        Ok(())
    }

    /// Reports to the pod that the process has started, and cleans up after it has ended.
    fn note_phase(&mut self) -> Result<()> {
        match self.service.phase() {
            Phase::Running(pid) if !self.running => {
                self.running = true;
                if self.stage == Stage::Run {
                    self.set(State::Running, number(pid));
                    self.answer("ok");
                }
            }
            Phase::Ended(code) if self.ended.is_none() => self.note_end(code)?,
            _ => {}
        }
        Ok(())
    }

    fn note_end(&mut self, code: u8) -> Result<()> {
        if self.stage == Stage::Run {
            // Why it ended may come from a program that it logs through.
            self.events.relay_last_output();
        }
        children::kill_all();
        self.events.finish();
        self.service.clean();
        self.running = false;
        self.ended = Some(code);
        match self.stage {
            Stage::Halt => {
                self.stage = Stage::Halted;
                self.set(State::Halted, 0);
                self.answer("ok");
                if self.flags.ends {
                    self.stage = Stage::End;
                }
            }
            Stage::Restart => self.start()?,
            Stage::AwaitStop(_) | Stage::Scripts(_) | Stage::Dependents(_) => {
                self.write_stopping(0);
                self.answer("ok");
            }
            _ => self.answer("ok"),
        }
        Ok(())
    }

    /// Scripts of the pod find the process as long as it runs. The stop began when it began.
    fn write_stopping(&self, pid: u32) {
        if let Some(state_file) = &self.state_file {
            let (state, since) = (State::Stopping, self.stop_since);
            state_file.write(Record { state, since, pid });
        }
    }

    fn start(&mut self) -> Result<()> {
        self.ended = None;
        self.set(State::Starting, 0);
        if let Some(missing) = self.order.missing() {
            say(&format!("waiting for '{missing}', on which this process depends"));
            self.stage = Stage::Await;
            return Ok(());
        }
        self.stage = Stage::Run;
        self.service.start(&mut self.events)
    }

    fn on_stop(&mut self) -> Result<()> {
        match self.stage {
            Stage::Run | Stage::Halted => {}
            // Nothing runs.
            Stage::Await => {
                self.ended = Some(0);
                self.stage = Stage::End;
                return Ok(());
            }
            Stage::Halt | Stage::Restart => {
                self.stage = Stage::End;
                return Ok(());
            }
            Stage::AwaitStop(_) | Stage::Scripts(_) | Stage::Dependents(_) | Stage::End => return Ok(()),
        }
        self.stopped_at = Instant::now();
        self.stop_since = now();
        // A drain script looks for its process first: `bpm pid`.
        self.write_stopping(match self.service.phase() {
            Phase::Running(pid) => number(pid),
            Phase::Starting | Phase::Ended(_) => 0,
        });
        if self.flags.scripts.is_empty() || self.state_file.is_none() {
            self.stage = Stage::Dependents(self.stopped_at);
            return self.proceed();
        }
        self.stage = Stage::AwaitStop(self.stopped_at);
        Ok(())
    }

    /// One step further towards the end, if it is time.
    fn proceed(&mut self) -> Result<()> {
        let pod = Pod::new(&self.directory, self.flags);
        match self.stage {
            Stage::AwaitStop(_) if pod.all_stop().is_some() => {
                self.stage = Stage::Scripts(self.stopped_at + time_for_scripts(self.flags.grace));
            }
            Stage::Await if self.order.missing().is_none() => return self.start(),
            // monit stops what depends on a process that has to be started again, and starts it afterwards.
            Stage::Run if self.running && self.order.missing().is_some() => {
                self.stage = Stage::Restart;
                return self.service.stop(&mut self.events);
            }
            Stage::AwaitStop(since) if since.elapsed() >= STOP_SIGNAL_TIMEOUT => {
                say("other containers of the pod are not being stopped: stopping without pre-stop and drain scripts");
                return self.end();
            }
            Stage::Scripts(until) => {
                let late = Instant::now() >= until;
                if late {
                    say("pre-stop and drain scripts take too long for the pod's grace period: stopping without them");
                }
                if late || pod.all_drained(self.stop_since) {
                    self.stage = Stage::Dependents(Instant::now());
                    return self.proceed();
                }
            }
            Stage::Dependents(since) => match self.order.dependents() {
                Dependents::Stopped => return self.end(),
                // Only this container is being stopped.
                Dependents::Running if since.elapsed() >= STOP_SIGNAL_TIMEOUT => return self.end(),
                Dependents::Running | Dependents::Stopping => {}
            },
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        self.stage = Stage::End;
        if self.ended.is_none() {
            self.service.stop(&mut self.events)?;
        }
        Ok(())
    }

    fn request(&mut self, request: Request) -> Result<()> {
        match (request, self.stage) {
            (_, Stage::AwaitStop(_) | Stage::Scripts(_) | Stage::Dependents(_) | Stage::End)
                if request != Request::Stop =>
            {
                self.answer("the container is being stopped");
            }
            // A drain script may stop its process itself; the container waits for the other scripts.
            (Request::Stop, Stage::AwaitStop(_) | Stage::Scripts(_) | Stage::Dependents(_)) if self.ended.is_none() => {
                self.service.stop(&mut self.events)?;
            }
            (Request::Stop, Stage::Await) => {
                self.stage = Stage::Halted;
                self.set(State::Halted, 0);
                self.answer("ok");
            }
            (Request::Stop, Stage::Run) => {
                self.stage = Stage::Halt;
                self.service.stop(&mut self.events)?;
            }
            (Request::Restart, Stage::Run) => {
                self.stage = Stage::Restart;
                self.service.stop(&mut self.events)?;
            }
            (Request::Start | Request::Restart, Stage::Halted) => self.start()?,
            (Request::Start | Request::Restart, Stage::Halt) => self.stage = Stage::Restart,
            (Request::Stop, Stage::Restart) => self.stage = Stage::Halt,
            (Request::Stop, Stage::Halt) | (Request::Restart, Stage::Restart) => {}
            _ => self.answer("ok"),
        }
        Ok(())
    }

    fn deadline(&self) -> Option<Instant> {
        let poll = match self.stage {
            Stage::Await | Stage::AwaitStop(_) | Stage::Scripts(_) | Stage::Dependents(_) => {
                Some(Instant::now() + POLL_INTERVAL)
            }
            Stage::Run if self.order.has_dependencies() => Some(Instant::now() + CHECK_INTERVAL),
            _ => None,
        };
        [poll, self.service.deadline()].into_iter().flatten().min()
    }

    fn set(&self, state: State, pid: u32) {
        if let Some(state_file) = &self.state_file {
            state_file.set(state, pid);
        }
    }

    fn answer(&mut self, text: &str) {
        if let Some(control) = &mut self.events.control {
            control.answer(text);
        }
    }
}
