//! `monit`, for the scripts that restart a sibling or wait for it.

use super::write;
use crate::error::{Error, Result};
use crate::instance::State;
use crate::instance::control::Request;
use crate::instance::known::{self, Known};
use crate::places::Places;

/// Runs the command. Unlike monit, it waits until the request is done, which harms no script.
pub fn run(places: &Places, arguments: &[String]) -> Result<u8> {
    let words = words(arguments);
    let (verb, name) = match words.as_slice() {
        [] => return Err(Error::new("monit runs no daemon in a pod: name a command")),
        [verb] => (*verb, None),
        [verb, name, ..] => (*verb, Some(*name)),
    };
    match verb {
        "summary" | "status" => write(&summary(&known::all(places))),
        // The monit files of a pod never change.
        "reload" | "validate" | "quit" => {}
        "start" | "monitor" => each(places, name, Request::Start)?,
        "stop" => each(places, name, Request::Stop)?,
        "restart" => each(places, name, Request::Restart)?,
        // Monitoring cannot be switched off: Kubernetes restarts a container whose process ends.
        "unmonitor" => drop(select(places, name)?),
        _ => return Err(Error::new(format!("monit {verb} is not supported in a pod"))),
    }
    Ok(0)
}

/// All but the flags; those of monit that have a value are `-c`, `-d`, `-g`, `-l`, `-p` and `-s`.
fn words(arguments: &[String]) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = arguments.iter().map(String::as_str);
    while let Some(word) = rest.next() {
        match word {
            "-c" | "-d" | "-g" | "-l" | "-p" | "-s" => drop(rest.next()),
            _ if word.starts_with('-') => {}
            _ => out.push(word),
        }
    }
    out
}

/// The group of all services is vcap, so `-g vcap` and `all` mean the same.
fn select(places: &Places, name: Option<&str>) -> Result<Vec<Known>> {
    match name {
        None | Some("all") => Ok(known::all(places)),
        Some(name) => Ok(vec![known::by_check(places, name)?]),
    }
}

fn each(places: &Places, name: Option<&str>, request: Request) -> Result<()> {
    for known in select(places, name)? {
        // A container that does not run is started by Kubernetes, sooner or later.
        if known.record.is_some() {
            known.ask(places, request)?;
        }
    }
    Ok(())
}

/// The state of processes, as monit prints it.
pub fn summary(processes: &[Known]) -> String {
    let mut text = String::from("The Monit daemon 5.2.5 uptime: 0m\n\n");
    for known in processes {
        let state = match known.record.map(|record| record.state) {
            Some(State::Running | State::Stopping) => "running",
            Some(State::Starting) => "initializing",
            Some(_) => "not monitored",
            None => "Does not exist",
        };
        text.push_str(&format!("{:<35} {state}\n", format!("Process '{}'", known.check())));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_no_words() {
        let arguments = ["-c", "/etc/monitrc", "-v", "-g", "vcap", "restart", "nats"].map(String::from);
        assert_eq!(words(&arguments), ["restart", "nats"]);
    }
}
