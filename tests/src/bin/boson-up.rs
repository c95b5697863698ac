//! `make up`, `make down` and `make stemcell`.

use anyhow::{Context, Result, bail};
use boson_tests::cluster::image::Image;
use boson_tests::up;
use std::path::{Path, absolute};
use std::process::ExitCode;

const USAGE: &str = "usage: boson-up up|down|keep --state DIRECTORY, or boson-up stemcell FILE";

#[allow(clippy::print_stderr, reason = "the messages of a program")]
fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["stemcell", file] => Image::stemcell()?.write(Path::new(file)),
        [command, "--state", state] => {
            let state = absolute(state).context("no absolute path")?;
            match command {
                "up" => up::up(&state),
                "down" => up::down(&state),
                "keep" => up::keep(&state),
                _ => bail!(USAGE),
            }
        }
        _ => bail!(USAGE),
    }
}
