//! `kubectl_complete-boson`: completes the words after `kubectl boson`. kubectl passes them, and expects one candidate
//! per line, with its description after a tab, and the directive of the shell at the end.

use super::called::Invocation;
use boson_commands::exit::ExitError;
use boson_commands::output;
use clap::builder::StyledStr;
use clap::{Arg, Command};

/// The shell completes names of files where there are no candidates.
const FILE_NAMES: u8 = 0;
/// It does not.
const NO_FILE_NAMES: u8 = 4;

pub fn run() -> Result<(), ExitError> {
    let words: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    Ok(output::print(&completions(Invocation::Completion.command(), &words))?)
}

/// The answer to kubectl. The last word is the one to complete; it may be empty.
fn completions(mut command: Command, words: &[String]) -> String {
    command.build();
    let (partial, before) = words
        .split_last()
        .map_or(("", &[][..]), |(last, before)| (last.as_str(), before));
    let (command, option) = position(&command, before);
    let (candidates, directive) = match option {
        Some(option) => values(option),
        None if partial.starts_with('-') => (options(command), NO_FILE_NAMES),
        None if command.has_subcommands() => (subcommands(command), NO_FILE_NAMES),
        None => command
            .get_positionals()
            .next()
            .map_or((Vec::new(), NO_FILE_NAMES), values),
    };
    let mut answer: String = candidates
        .into_iter()
        .filter(|candidate| candidate.starts_with(partial))
        .map(|candidate| candidate + "\n")
        .collect();
    answer.push_str(&format!(":{directive}\n"));
    answer
}

/// The command that the words lead to, and the option that waits for its value.
fn position<'c>(mut command: &'c Command, words: &[String]) -> (&'c Command, Option<&'c Arg>) {
    let mut waiting = None;
    for word in words {
        if waiting.take().is_some() {
            continue;
        }
        if word.starts_with('-') {
            waiting = command
                .get_arguments()
                .find(|option| is_option(option, word) && option.get_action().takes_values());
        } else if let Some(inner) = command.find_subcommand(word) {
            command = inner;
        }
    }
    (command, waiting)
}

/// Whether this word is the option, without a value.
fn is_option(option: &Arg, word: &str) -> bool {
    let long = word
        .strip_prefix("--")
        .is_some_and(|name| option.get_long() == Some(name));
    long || option.get_short().is_some_and(|name| word == format!("-{name}"))
}

fn values(arg: &Arg) -> (Vec<String>, u8) {
    let values = arg.get_possible_values();
    let directive = if values.is_empty() { FILE_NAMES } else { NO_FILE_NAMES };
    let shown = values.iter().filter(|value| !value.is_hide_set());
    let lines = shown.map(|value| line(value.get_name(), value.get_help()));
    (lines.collect(), directive)
}

fn options(command: &Command) -> Vec<String> {
    let shown = command.get_arguments().filter(|option| !option.is_hide_set());
    let named = shown.filter_map(|option| Some((option.get_long()?, option.get_help())));
    named.map(|(name, help)| line(&format!("--{name}"), help)).collect()
}

fn subcommands(command: &Command) -> Vec<String> {
    let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
    shown.map(|one| line(one.get_name(), one.get_about())).collect()
}

/// A candidate with its description.
fn line(name: &str, help: Option<&StyledStr>) -> String {
    let help = help.map(ToString::to_string).unwrap_or_default();
    match help.lines().next() {
        Some(first) => format!("{name}\t{first}"),
        None => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(words: &[&str]) -> String {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        completions(Invocation::Completion.command(), &words)
    }

    #[test]
    fn commands_options_and_values_are_completed() {
        assert_eq!(
            complete(&["wa"]),
            "wait\tWait until a condition of a deployment is met\n:4\n"
        );
        let all = complete(&[""]);
        assert!(all.contains("convert\t") && !all.contains("compile-plugin"), "{all}");
        assert!(complete(&["util", "te"]).starts_with("template-render\t"));
        let options = complete(&["wait", "nats", "--"]);
        for option in ["--kubeconfig\t", "--context\t", "--namespace\t", "--color\t"] {
            assert!(options.contains(option), "no {option} in {options}");
        }
        assert!(complete(&["wait", "--color", ""]).starts_with("auto\t"));
        assert!(complete(&["completions", "ba"]).starts_with("bash"));
    }

    #[test]
    fn files_are_left_to_the_shell() {
        assert_eq!(complete(&["wait", "--kubeconfig", ""]), ":0\n");
        // A value that is the name of a command.
        assert!(complete(&["wait", "-n", "util", "--for"]).starts_with("--for\t"));
        assert_eq!(complete(&["convert", ""]), ":0\n");
    }
}
