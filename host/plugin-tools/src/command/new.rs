//! `host plugin new`: creates the folder of a plugin.

use crate::cases::Case;
use crate::codes;
use crate::command::wit::stage;
use crate::plugins;
use crate::scaffold::{Language, New};
use boson_commands::exit::{self, ExitError};
use boson_commands::files;
use boson_commands::output::{self, Color};
use boson_commands::storage;
use boson_document::{Tree, json};
use boson_pipeline::{Diagnostic, Stage};
use boson_sandbox::{Limits, MAX_NAME_CHARS, is_name};
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
A plugin of `resources` or `checks` starts as a small example, a plugin of another stage as a wrapper around its rule. The directory \
has a Makefile: `make test` builds the plugin and runs its case.

Examples:
  host plugin new my-labels --stage resources --lang js && make -C my-labels test
  host plugin new my-policy --stage checks --lang rust
  host plugin new my-bpm --stage bpm --lang go";

/// Options of `host plugin new`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct NewArguments {
    /// Name of the plugin: lower-case letters, digits and `-`
    #[arg(value_parser = name)]
    name: String,
    /// Stage: ops, variables, links, render, bpm, resources or checks
    #[arg(long, value_parser = stage)]
    stage: Stage,
    /// Language
    #[arg(long = "lang", value_enum)]
    language: Language,
    /// Directory to create [default: the name]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The name of a plugin, as the contract has it.
fn name(text: &str) -> Result<String, String> {
    let begins = text.starts_with(|first: char| first.is_ascii_lowercase());
    if begins && is_name(text) {
        Ok(text.to_string())
    } else {
        Err(format!(
            "lower-case letters and digits, words joined by `-`, beginning with a letter, at most {MAX_NAME_CHARS}"
        ))
    }
}

pub fn run(arguments: &NewArguments, color: Color) -> Result<(), ExitError> {
    let folder = arguments.out.clone().unwrap_or_else(|| PathBuf::from(&arguments.name));
    let fail = |error: Diagnostic| exit::fail(error, color);
    let exists = |message: String, help: &str| fail(Diagnostic::error(codes::PLUGIN_EXISTS, message).help(help));
    if name_collides(arguments) {
        let message = format!("a crate cannot be named '{}': it uses one of this name", arguments.name);
        return Err(exists(message, "choose another name"));
    }
    if folder.exists() {
        let message = format!("'{}' already exists", files::name(&folder));
        return Err(exists(message, "choose another name, or --out"));
    }
    let new = New {
        name: arguments.name.clone(),
        stage: arguments.stage,
        language: arguments.language,
    };
    // Before anything is written.
    let reply = new.stage.has_rule().then(|| reply_of_rule(&new));
    let reply = reply.transpose().map_err(fail)?;
    for (path, text) in new.files() {
        storage::create(&folder.join(path), &text)?;
    }
    if let Some(reply) = reply {
        storage::create(&folder.join(new.case()).join("reply.json"), json::to_lines(&reply))?;
    }
    let folder = folder.display();
    output::eprint(&format!("created {folder}\nNext: make -C {folder} test\n"));
    Ok(())
}

/// Whether the plugin would have the name of a crate that it uses.
fn name_collides(arguments: &NewArguments) -> bool {
    let used = ["boson-plugin", "core", "schemars", "serde", "serde-json", "std", "test"];
    arguments.language == Language::Rust && used.contains(&arguments.name.as_str())
}

/// The reply of the built-in rule, which a new wrapper has to return.
fn reply_of_rule(new: &New) -> Result<Tree, Diagnostic> {
    let sandbox = plugins::sandbox(Limits::default())?;
    let rule = plugins::built_in(&sandbox, None, new.stage)?;
    let case = |message| Diagnostic::error(codes::PLUGIN_CASE, message);
    let call = json::parse(new.call()).map_err(|error| case(error.to_string()))?;
    let called = Case::of(new.case(), call).map_err(case)?.call(&sandbox, &rule)?;
    called.failure.map_or(Ok(called.reply), Err)
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn names_are_those_of_the_contract() {
        for good in ["a", "my-labels", "p2"] {
            assert!(name(good).is_ok(), "{good}");
        }
        let long = "a".repeat(64);
        for bad in ["", "My", "a_b", "-a", "a-", "a--b", "2a", "a b", "../a", long.as_str()] {
            assert!(name(bad).is_err(), "{bad}");
        }
    }
}
