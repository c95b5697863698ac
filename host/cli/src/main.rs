//! The `host` command.

mod codes;
mod command;
#[cfg(test)]
mod dashboard;
mod etags;
#[cfg(test)]
mod generated;
mod generator;
mod images;
mod log;
mod printf;
#[cfg(test)]
mod reference;
mod summary;
mod web;

use anyhow::Context;
use boson_allocator as _;
use boson_commands::exit;
use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit};
use std::process::ExitCode;

fn main() -> ExitCode {
    // The allocator asks for huge pages. Clearing them took 5 % of a conversion, and unused parts of them a third of
    // its memory. An error means that the kernel has none.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    if let Err(error) = never_dump() {
        return exit::code(Err(exit::ExitError::Io(error)));
    }
    exit::code(command::run())
}

/// A core dump would contain the memory of guests, and with it secrets.
fn never_dump() -> anyhow::Result<()> {
    // The kernel also ignores a limit of 0 if it pipes dumps to a program; a limit of 1 stops those, too (core(5), and
    // `do_coredump` in the kernel).
    let none = Rlimit {
        current: Some(1),
        maximum: Some(1),
    };
    if getrlimit(Resource::Core).maximum != Some(0) {
        return setrlimit(Resource::Core, none).context("cannot prevent core dumps");
    }
    // The limit can only be raised with privileges.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).context("cannot prevent core dumps")
}
