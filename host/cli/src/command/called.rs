//! The name that the program was called by. `kubectl` finds its plugins by the names of programs: `kubectl boson` runs
//! `kubectl-boson`, and asks `kubectl_complete-boson` for completions. Both are links to `host`.

use super::arguments::Arguments;
use boson_pipeline::variables::without_value_of_flag;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, FromArgMatches};
use std::ffi::OsStr;
use std::path::Path;

/// How the program was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invocation {
    /// As `host`, or by any other name.
    Host,
    /// As a plugin of kubectl.
    Plugin,
    /// By kubectl, to complete the words after `kubectl boson`.
    Completion,
}

// === impl Invocation ===

impl Invocation {
    /// By the process's first argument.
    pub fn current() -> Self {
        Self::of(&std::env::args_os().next().unwrap_or_default())
    }

    fn of(program: &OsStr) -> Self {
        match Path::new(program).file_name().and_then(OsStr::to_str) {
            Some("kubectl-boson") => Self::Plugin,
            Some("kubectl_complete-boson") => Self::Completion,
            _ => Self::Host,
        }
    }

    /// The program that a completion script of a shell is for.
    pub fn program(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Plugin | Self::Completion => "kubectl-boson",
        }
    }

    /// The command line, with this name in its usage and examples.
    pub fn command(self) -> Command {
        let command = Arguments::command();
        match self {
            Self::Host => command,
            Self::Plugin | Self::Completion => {
                let names: Vec<String> = command
                    .get_subcommands()
                    .map(|one| one.get_name().to_string())
                    .collect();
                rename(command, &names)
                    .bin_name("kubectl boson")
                    .display_name("kubectl boson")
            }
        }
    }

    /// Parses the command line. Wrong usage ends the process with code 2.
    pub fn parse(self) -> Arguments {
        let matches = self.command().try_get_matches();
        let matches = matches.unwrap_or_else(|error| without_value(error).exit());
        Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut self.command()).exit())
    }
}

/// The error without the value of a variable, which a user may type without `-v`.
fn without_value(mut error: clap::Error) -> clap::Error {
    let context = match error.kind() {
        ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        // The argument of other errors is an option, with the names of its values: `--var <NAME=VALUE>`.
        _ => return error,
    };
    let Some(ContextValue::String(argument)) = error.get(context) else {
        return error;
    };
    let shown = match argument.split_once('=') {
        Some((name, _)) => format!("{name}=<redacted>"),
        None if !argument.starts_with('-') => without_value_of_flag(argument),
        None => return error,
    };
    error.insert(context, ContextValue::String(shown));
    error
}

/// The command and all below it, with other examples.
fn rename(command: Command, names: &[String]) -> Command {
    let examples = command
        .get_after_help()
        .map(|text| rename_example(&text.to_string(), names));
    let command = match examples {
        Some(text) => command.after_help(text),
        None => command,
    };
    command.mut_subcommands(|one| rename(one, names))
}

/// Replaces `host` wherever a command follows.
fn rename_example(text: &str, names: &[String]) -> String {
    let mut text = format!(" {text}");
    for name in names {
        for before in [' ', '\n', '`'] {
            text = text.replace(
                &format!("{before}host {name}"),
                &format!("{before}kubectl boson {name}"),
            );
        }
    }
    text.split_off(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_name_decides() {
        for (program, called) in [
            ("/usr/bin/host", Invocation::Host),
            ("kubectl-boson", Invocation::Plugin),
            ("/opt/bin/kubectl-boson", Invocation::Plugin),
            ("/opt/bin/kubectl_complete-boson", Invocation::Completion),
            ("/opt/kubectl-boson/host", Invocation::Host),
            ("", Invocation::Host),
        ] {
            assert_eq!(Invocation::of(OsStr::new(program)), called, "{program}");
        }
    }

    /// The help of a command and of all below it.
    fn help(command: &mut Command, all: &mut String) {
        all.push_str(&command.render_long_help().to_string());
        command.get_subcommands_mut().for_each(|one| help(one, all));
    }

    #[test]
    fn all_help_has_the_name_of_the_plugin() {
        let texts = [Invocation::Host, Invocation::Plugin].map(|called| {
            let mut command = called.command();
            command.build();
            let mut all = String::new();
            help(&mut command, &mut all);
            all
        });
        let [host, plugin] = texts;
        assert!(
            host.contains("Usage: host wait ") && host.contains("  host wait nats"),
            "{host}"
        );
        assert!(plugin.contains("Usage: kubectl boson wait "), "{plugin}");
        assert!(plugin.contains("&& kubectl boson wait nats\n"), "{plugin}");
        assert!(plugin.contains("Example: kubectl boson explain"), "{plugin}");
        for name in ["host wait", "host convert", "host plugin", "kubectl-boson"] {
            assert!(!plugin.contains(name), "{name}");
        }
    }
}
