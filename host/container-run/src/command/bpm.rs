//! `bpm`, for scripts: it sends the request to the container of the pod that runs the process.

use std::path::PathBuf;

use super::write;
use crate::arguments::Flags;
use crate::children;
use crate::directories;
use crate::error::{Context, Error, Result};
use crate::events::Events;
use crate::instance::State;
use crate::instance::control::Request;
use crate::instance::known::{self, Known};
use crate::places::{Places, program};
use crate::service::bpm::BpmProcess;
use crate::service::{Phase, Service};

const USAGE: &str = "usage: bpm start|stop|pid|run|shell <job> [-p <process>], bpm list, bpm version";

/// What `bpm <verb> <job>` was called with.
#[derive(Debug, Default, PartialEq, Eq)]
struct Call {
    job: String,
    process: String,
    variables: Vec<(String, String)>,
}

/// Runs the command. Error texts are BPM's.
pub fn run(places: &Places, arguments: &[String]) -> Result<u8> {
    let (verb, rest) = arguments.split_first().ok_or_else(|| Error::usage(USAGE))?;
    match verb.as_str() {
        "version" | "--version" => write(concat!(env!("CARGO_PKG_VERSION"), "\n")),
        "help" | "--help" | "-h" => write(&format!("{USAGE}\n")),
        _ if !rustix::process::geteuid().is_root() => return Err(Error::new("bpm must be run as root")),
        "list" => list(places),
        "start" => start(places, &call(rest)?)?,
        "stop" => stop(places, &call(rest)?)?,
        "pid" => pid(places, &call(rest)?)?,
        "run" => return run_once(places, &call(rest)?),
        "shell" => return Err(shell(places, &call(rest)?)?),
        "logs" | "trace" => {
            return Err(Error::new(format!(
                "bpm {verb} is not supported in a pod: use kubectl logs or kubectl debug"
            )));
        }
        _ => return Err(Error::new(format!("unknown command \"{verb}\" for \"bpm\""))),
    }
    Ok(0)
}

/// `<job> [-p <process>] [-e K=V].. [-v volume]..`; volumes are the pod's, not the call's.
fn call(arguments: &[String]) -> Result<Call> {
    let mut call = Call::default();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let (flag, attached) = word.split_once('=').unwrap_or((word, ""));
        let mut value = || match attached {
            "" => rest
                .next()
                .cloned()
                .ok_or_else(|| Error::new(format!("flag needs an argument: {flag}"))),
            text => Ok(text.to_string()),
        };
        match flag {
            "-p" | "--process" => call.process = value()?,
            "-e" | "--env" => {
                let pair = value()?;
                let (name, value) = pair
                    .split_once('=')
                    .ok_or_else(|| Error::new(format!("invalid environment variable: {pair}")))?;
                call.variables.push((name.to_string(), value.to_string()));
            }
            "-v" | "--volume" => drop(value()?),
            _ if flag.starts_with('-') => return Err(Error::new(format!("unknown flag: {flag}"))),
            _ if call.job.is_empty() => call.job = word.clone(),
            _ => return Err(Error::new(format!("unexpected argument: {word}"))),
        }
    }
    if call.job.is_empty() {
        return Err(Error::new("must specify a job"));
    }
    if call.process.is_empty() {
        call.process.clone_from(&call.job);
    }
    Ok(call)
}

/// A process that has a container is started there. One that has none, because a script starts it, runs in the script's
/// container.
fn start(places: &Places, call: &Call) -> Result<()> {
    let known = known::one(places, &call.job, &call.process)?;
    if known.record.is_some() {
        return if known.is_up() {
            Ok(())
        } else {
            known.ask(places, Request::Start)
        };
    }
    let mut command = std::process::Command::new(program());
    command.args([
        "process",
        "--job",
        &call.job,
        "--process",
        &call.process,
        "--after-stop",
        "end",
    ]);
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.stdin(std::process::Stdio::null());
    command.spawn().context("failed to start job-process")?;
    Ok(())
}

fn stop(places: &Places, call: &Call) -> Result<()> {
    let known = known::one(places, &call.job, &call.process)?;
    match known.record.map(|record| record.state) {
        None | Some(State::Halted) => Ok(()),
        Some(_) => known.ask(places, Request::Stop),
    }
}

fn pid(places: &Places, call: &Call) -> Result<()> {
    let not_running = || Error::new("process is not running or could not be found");
    let known = known::one(places, &call.job, &call.process).map_err(|_| not_running())?;
    let pid = known.pid().ok_or_else(not_running)?;
    write(&format!("{pid}\n"));
    Ok(())
}

fn list(places: &Places) {
    let rows: Vec<[String; 3]> = [["Name", "Pid", "Status"].map(String::from)]
        .into_iter()
        .chain(known::all(places).iter().map(row))
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or_default();
    let (name, pid) = (width(0), width(1));
    let mut text = String::new();
    for row in &rows {
        text.push_str(&format!("{:name$} {:pid$} {}\n", row[0], row[1], row[2]));
    }
    write(&text);
}

fn row(known: &Known) -> [String; 3] {
    let status = match known.record.map(|record| record.state) {
        Some(State::Running | State::Stopping) => "running",
        Some(State::Starting) => "creating",
        Some(_) => "stopped",
        None => "failed",
    };
    let pid = known.pid().map_or_else(|| "-".to_string(), |pid| pid.to_string());
    [known.name(), pid, status.to_string()]
}

/// Runs a process of bpm.yml here, in the foreground, as errands do.
fn run_once(places: &Places, call: &Call) -> Result<u8> {
    let known = known::one(places, &call.job, &call.process)?;
    if known.record.is_some() {
        return Ok(0);
    }
    let mut process = known.process;
    for (name, value) in &call.variables {
        process.env.retain(|(known, _)| known != name);
        process.env.push((name.clone(), value.clone()));
    }
    let flags = Flags::read(&["--job".to_string(), call.job.clone()], &[])?;
    let mut service = BpmProcess::new(places, &call.job, &process, &flags)?.without_pid_file();
    let mut events = Events::new()?;
    children::adopt_orphans();
    service.start(&mut events)?;
    let mut stopping = false;
    loop {
        service.tick();
        if let Phase::Ended(code) = service.phase() {
            if !stopping {
                events.relay_last_output();
            }
            children::kill_all();
            events.finish();
            return Ok(code);
        }
        let happened = events.wait(service.deadline())?;
        for ended in happened.ended {
            service.ended(ended, &mut events)?;
        }
        happened.forward.into_iter().for_each(|signal| service.signal(signal));
        if happened.stop && !std::mem::replace(&mut stopping, true) {
            service.stop(&mut events)?;
        }
    }
}

/// Becomes a shell with the environment of the process, in this container.
fn shell(places: &Places, call: &Call) -> Result<Error> {
    let known = known::one(places, &call.job, &call.process)?;
    let flags = Flags::read(&[], &[])?;
    directories::prepare(places, &call.job, &known.process, true)?;
    let mut launch = BpmProcess::new(places, &call.job, &known.process, &flags)?
        .launch()
        .clone();
    let bash = PathBuf::from("/bin/bash");
    launch.program = if bash.exists() { "/bin/bash" } else { "/bin/sh" }.to_string();
    launch.arguments = Vec::new();
    if let Some(term) = std::env::var_os("TERM") {
        launch.environment.push(("TERM".to_string(), term));
    }
    Ok(launch.exec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Call> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_string()).collect();
        call(&words)
    }

    #[test]
    fn calls_are_read_as_by_bpm() {
        let all = read(&["j", "-p", "p", "-e", "A=b=c", "-v", "/tmp:writable"]).unwrap();
        assert_eq!((all.job.as_str(), all.process.as_str()), ("j", "p"));
        assert_eq!(all.variables, [("A".to_string(), "b=c".to_string())]);
        assert_eq!(read(&["-p=p", "j"]).unwrap().process, "p");
        assert_eq!(read(&["j"]).unwrap().process, "j");
        assert_eq!(read(&["-p", "p"]).unwrap_err().text, "must specify a job");
        assert_eq!(read(&["j", "-p"]).unwrap_err().text, "flag needs an argument: -p");
    }
}
