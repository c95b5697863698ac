//! `host completions`: scripts for shells.

use crate::arguments::Arguments;
use crate::exit::Failed;
use crate::output;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

/// Print a completion script for a shell
#[derive(Args, Debug)]
#[command(after_help = "Example: host completions bash > /etc/bash_completion.d/host")]
pub struct CompletionsArguments {
    /// For this shell
    shell: Shell,
}

pub fn run(arguments: &CompletionsArguments) -> Result<(), Failed> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "host", &mut script);
    Ok(output::print(&String::from_utf8_lossy(&script))?)
}
