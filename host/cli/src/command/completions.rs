//! `host completions`: scripts for shells.

use boson_commands::exit::ExitError;
use boson_commands::output;
use clap::{Args, Command};
use clap_complete::Shell;

/// Print a completion script for a shell
#[derive(Args, Debug)]
#[command(after_help = "Example: host completions bash > /etc/bash_completion.d/host")]
pub struct CompletionsArguments {
    /// Shell to complete for
    shell: Shell,
}

/// Prints the script for this command line, which completes the words after the program's name.
pub fn run(arguments: &CompletionsArguments, mut command: Command, program: &str) -> Result<(), ExitError> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, program, &mut script);
    Ok(output::print(&String::from_utf8_lossy(&script))?)
}
