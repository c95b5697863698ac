//! The `host` command.

mod arguments;
mod codes;
mod command;
mod exit;
mod files;
mod folder;
mod generator;
mod images;
mod loaded;
mod log;
mod misprint;
mod output;
mod plugins;
#[cfg(test)]
mod reference;
mod unpack;
mod web;

use std::process::ExitCode;

fn main() -> ExitCode {
    exit::code(command::run())
}
