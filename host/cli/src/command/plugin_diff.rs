//! `host plugin diff`: converts a deployment with two versions of a plugin, and shows what differs.

use crate::codes;
use crate::command::convert::{self, ConvertArguments, Done, Watching};
use crate::command::inputs::variables::Kept;
use boson_commands::exit::{self, ExitError};
use boson_commands::output::{self, Color};
use boson_document::Tree;
use boson_oci::short_digest;
use boson_pipeline::changes::{Change, Changed, additions, changes};
use boson_pipeline::difference::Difference;
use boson_pipeline::report::Sources;
use boson_pipeline::{Diagnostic, Stage};
use boson_plugin_tools::cases::replies;
use boson_plugin_tools::plugin_arguments::{PluginArguments, Replacement};
use boson_plugin_tools::plugins;
use boson_sandbox::{Limits, Plugin};
use clap::Args;
use std::path::{Path, PathBuf};

/// OLD for a conversion without the plugin.
const NO_PLUGIN: &str = "none";
const EXAMPLES: &str = "\
Both conversions use the same values of variables; generated values are not stored. Options of `host convert` apply to both, except \
--out, --record and --strict: nothing is written, and warnings are not shown. Plugins of the same stage that --plugin names are not \
used. --plugin-settings STAGE=FILE is for both versions, and STAGE:NAME=FILE for the one with the name. Values of variables are shown \
as `<redacted>`, and values in Secrets not at all.

Examples:
  host plugin diff my-labels-1.wasm my-labels-2.wasm manifest.yml --release ./nats-release
  host plugin diff none my-labels.wasm manifest.yml --release ./nats-release --plugin-settings resources=labels.yml";

/// Options of `host plugin diff`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct DiffArguments {
    /// The component that is used now; `none` to compare with a conversion without it
    old: PathBuf,
    /// The component that replaces it
    new: PathBuf,
    /// Exit with code 1 if there are differences, as for an error
    #[arg(long)]
    exit_code: bool,
    #[command(flatten)]
    convert: ConvertArguments,
}

pub fn run(arguments: &DiffArguments, color: Color) -> Result<(), ExitError> {
    let old = Some(arguments.old.as_path()).filter(|path| *path != Path::new(NO_PLUGIN));
    let fail = |error: Diagnostic| exit::fail(error, color);
    if arguments.convert.manifest == Path::new("-") {
        let message = "the manifest is read twice, so it cannot be standard input";
        return Err(fail(
            Diagnostic::error(codes::PLUGIN_DIFF_INPUT, message).help("use a file"),
        ));
    }
    let sandbox = plugins::sandbox(Limits::default()).map_err(|failure| fail(failure.diagnostic()))?;
    let load = |path: &Path| plugins::component(&sandbox, path).map_err(fail);
    let (before, after) = (old.map(load).transpose()?, load(&arguments.new)?);
    let names = |plugin: Option<&Plugin>| plugin.map_or(Ok(Vec::new()), |plugin| plugins::names(plugin, &sandbox));
    let names_of = |plugin: Option<&Plugin>| names(plugin).map_err(|failure| fail(failure.diagnostic()));
    let (old_names, new_names) = (names_of(before.as_ref())?, names_of(Some(&after))?);
    let only = |own: &[String], other: &[String]| -> Vec<String> {
        own.iter().filter(|name| !other.contains(name)).cloned().collect()
    };
    let of_new = only(&new_names, &old_names);
    let convert = |file: Option<&Path>, others: &[String], kept| {
        let done = convert::dry_run(&arguments.convert, Watching::Nothing, color, |arguments| {
            arguments.variables.kept = kept;
            replace_stage(&mut arguments.plugins, after.stage, file, others);
        });
        // The plugin that is broken may be the one of the user.
        done.map_err(|_| ExitError::Input)
    };
    let (old, _) = convert(old, &of_new, Kept::InMemory)?;
    let of_old = only(&old_names, &new_names);
    let (new, sources) = convert(Some(&arguments.new), &of_old, Kept::Given(old.values.clone()))?;
    let mut text = component_text(before.as_ref(), &after);
    let changed = changes(&old.objects, &new.objects);
    text.push_str(&self::text(&old, &new, &changed, &sources));
    output::print(&text)?;
    if arguments.exit_code && !changed.is_empty() {
        Err(ExitError::Input)
    } else {
        Ok(())
    }
}

/// Puts a version of a plugin, or none, into its stage, and removes the other plugins of the stage and their options.
/// `others`: names that options for another version refer to.
fn replace_stage(arguments: &mut PluginArguments, stage: Stage, file: Option<&Path>, others: &[String]) {
    arguments.replacements.retain(|one| one.stage != stage);
    arguments.replacements.extend(file.map(|file| Replacement {
        stage,
        name: None,
        value: file.to_path_buf(),
    }));
    let is_for_other = |name: &Option<String>| name.as_ref().is_some_and(|name| others.contains(name));
    let stays = |of: Stage, name: &Option<String>, has_plugin: bool| of != stage || has_plugin && !is_for_other(name);
    let has_plugin = file.is_some() || stage.has_rule();
    arguments.settings.retain(|one| stays(one.stage, &one.name, has_plugin));
    arguments
        .groups
        .retain(|one| stays(one.stage, &one.name, file.is_some()));
}

/// How the component itself changed.
fn component_text(before: Option<&Plugin>, after: &Plugin) -> String {
    let digest = |plugin: Option<&Plugin>| {
        plugin
            .map_or(NO_PLUGIN, |plugin| short_digest(plugin.digest.as_ref()))
            .to_string()
    };
    let mut text = format!("{}: {} -> {}\n", after.stage, digest(before), digest(Some(after)));
    let wraps = |plugin: Option<&Plugin>| plugin.is_some_and(|plugin| plugin.wraps);
    if before.is_some() && wraps(before) != after.wraps {
        let what = if after.wraps {
            "wraps the rule now"
        } else {
            "replaces the rule now"
        };
        text.push_str(&format!("the plugin {what}\n"));
    }
    text
}

/// Lines about each object that differs, and a summary.
fn text(old: &Done, new: &Done, changed: &[Changed<'_>], sources: &Sources) -> String {
    let mut secrets = old.secrets.clone();
    secrets.add(new.secrets.clone());
    let shown = |value: &Tree| secrets.redact(value.clone(), sources);
    let (mut text, mut added, mut removed) = (String::new(), 0, 0);
    for one in changed {
        let name = &one.object;
        match &one.change {
            Change::Added => {
                added += 1;
                text.push_str(&format!("\n+ {name}\n"));
            }
            Change::Removed => {
                removed += 1;
                text.push_str(&format!("\n- {name}\n"));
            }
            Change::Fields(fields) => {
                text.push_str(&format!("\n{name}\n"));
                for field in fields {
                    // Derived values are not known as secrets.
                    let line = if one.is_secret {
                        format!("{}: changed", replies::pointer(field))
                    } else {
                        line(field, &shown)
                    };
                    text.push_str(&format!("    {line}\n"));
                }
            }
        }
    }
    let changed = changed.len() - added - removed;
    text.push_str(&format!(
        "\nobjects: {added} added, {removed} removed, {changed} changed\n"
    ));
    let gained = additions(&old.objects, &new.objects);
    if !gained.is_empty() {
        text.push_str("gained:\n");
        gained.iter().for_each(|one| text.push_str(&format!("    {one}\n")));
    }
    text
}

fn line(one: &Difference<'_>, shown: &dyn Fn(&Tree) -> Tree) -> String {
    let (old, new) = (one.old.map(shown), one.new.map(shown));
    let pointer = replies::pointer(one);
    match (old, new) {
        (Some(old), Some(new)) => format!("{pointer}: {} -> {}", replies::short(&old), replies::short(&new)),
        (Some(old), None) => format!("{pointer}: {} removed", replies::short(&old)),
        (None, new) => format!(
            "{pointer}: {} added",
            new.as_ref().map(replies::short).unwrap_or_default()
        ),
    }
}
