//! The `host` command.

mod arguments;
mod command;
mod exit;
mod files;
mod generator;
mod output;
mod plugins;

use std::process::ExitCode;

fn main() -> ExitCode {
    exit::code(command::run())
}
