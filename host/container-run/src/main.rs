//! `container-run` runs the processes and scripts of BOSH jobs in a container, as BPM, the BOSH agent and monit do on a
//! VM: one static binary that a pod copies to a volume, because the images of releases can be old and may have no
//! shell.

mod active;
mod arguments;
mod children;
mod command;
mod copy;
mod description;
mod directories;
mod environment;
mod error;
mod events;
mod exec_as;
mod files;
mod http;
mod instance;
mod launch;
mod logs;
mod monit_http;
mod output;
mod places;
mod probe;
mod scripts;
mod service;
mod signals;
mod supervisor;
mod users;

use std::process::ExitCode;

use arguments::Flags;
use error::{Error, Result};
use places::Places;

const USAGE: &str = "usage: container-run process|probe|pre-render|script|scripts|errand|ready|logs|monit-http|active|install|copy-jobs|copy-packages|archive|extract|skip-drain|version [flags]; see docs/processes.md";

fn main() -> ExitCode {
    match run() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            output::say::say(&error.text);
            ExitCode::from(error.code)
        }
    }
}

fn run() -> Result<u8> {
    let arguments = words()?;
    let called = arguments.first().map_or("", String::as_str);
    let rest = arguments.get(1..).unwrap_or_default();
    match called.rsplit('/').next() {
        Some("bpm") => return Ok(command::status(command::bpm::run(&Places::new(), rest))),
        Some("monit") => return Ok(command::status(command::monit::run(&Places::new(), rest))),
        Some("chpst") => return Ok(command::chpst::run(rest)),
        _ => {}
    }
    let (command, rest) = rest.split_first().ok_or_else(|| Error::usage(USAGE))?;
    let places = Places::new();
    match command.as_str() {
        "process" => supervisor::run(&places, &Flags::read(rest, &["--job", "--process"])?),
        "probe" => probe::run(&places, &Flags::read(rest, &["--job", "--process", "--name"])?),
        "pre-render" => scripts::pre_render::run(&places, &Flags::read(rest, &["--job", "--sources"])?),
        "script" => scripts::once::script(&places, &Flags::read(rest, &["--job", "--name"])?),
        "scripts" => scripts::sidecar::run(&places, &Flags::read(rest, &["--job"])?),
        "errand" => scripts::once::errand(&places, &Flags::read(rest, &["--job"])?),
        "logs" => logs::run(&places, &Flags::read(rest, &[])?),
        "monit-http" => monit_http::run(&places, &Flags::read(rest, &[])?),
        "active" => active::run(&Flags::read(rest, &["--port", "--word"])?),
        "ready" => scripts::ready::run(&places, &Flags::read(rest, &["--job"])?),
        "install" => copy::install::run(rest),
        "copy-jobs" => copy::jobs::run(rest),
        "archive" => copy::archive::archive(rest),
        "extract" => copy::archive::extract(rest),
        "skip-drain" => scripts::skip_drain::run(&places, &Flags::read(rest, &["--valid"])?),
        "copy-packages" => copy::packages::run(rest),
        "exec-as" => Err(exec_as::run(rest)),
        "version" => {
            output::container::offer(
                output::container::Container::Output,
                concat!("container-run ", env!("CARGO_PKG_VERSION"), "\n").as_bytes(),
            );
            Ok(0)
        }
        _ => Err(Error::usage(format!("unknown command '{command}'; {USAGE}"))),
    }
}

/// Names in Kubernetes and in BOSH are text; anything else is a mistake.
fn words() -> Result<Vec<String>> {
    let words = std::env::args_os().map(|word| word.into_string());
    words
        .collect::<std::result::Result<_, _>>()
        .map_err(|_| Error::usage("an argument is not UTF-8"))
}
