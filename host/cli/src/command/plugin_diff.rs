//! `host plugin diff`: converts a deployment with two versions of a plugin, and shows what differs.

use crate::cases::replies;
use crate::codes;
use crate::command::convert::{self, ConvertArguments, Done};
use crate::command::variables::Kept;
use crate::exit::Failed;
use crate::output::{self, Color};
use crate::plugins;
use boson_document::Tree;
use boson_pipeline::Diagnostic;
use boson_pipeline::bundle::privileges;
use boson_pipeline::difference::{Difference, differences};
use boson_pipeline::report::Sources;
use boson_sandbox::{Limits, Plugin};
use clap::Args;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// OLD for a conversion without the plugin.
const NONE: &str = "none";
const EXAMPLES: &str = "\
Both conversions use the same values of variables; generated values are not stored. Options of `host convert` apply to both, except
--out, --record and --strict: nothing is written, and warnings are not shown. Plugins of the same stage that --plugin names are not
used. Values of variables are shown as `<redacted>`, and values in Secrets not at all.

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

/// Kind and name of an object.
type Identity = String;

pub fn run(arguments: &DiffArguments, color: Color) -> Result<(), Failed> {
    let old = Some(arguments.old.as_path()).filter(|path| *path != Path::new(NONE));
    let fail = |error: Diagnostic| {
        output::show(&[error], &Sources::default(), color);
        Failed::Input
    };
    if arguments.convert.manifest == Path::new("-") {
        let message = "the manifest is read twice, so it cannot be standard input";
        return Err(fail(
            Diagnostic::error(codes::PLUGIN_DIFF_INPUT, message).help("use a file"),
        ));
    }
    let sandbox = plugins::sandbox(Limits::default()).map_err(|failure| fail(failure.diagnostic()))?;
    let load = |path: &Path| plugins::component(&sandbox, path).map_err(|error| fail(*error));
    let (before, after) = (old.map(load).transpose()?, load(&arguments.new)?);
    let stage = after.stage;
    let (old, _) = convert::with_plugin(&arguments.convert, (stage, old), Kept::InMemory, color)?;
    let kept = Kept::Given(old.values.clone());
    let (new, sources) = convert::with_plugin(&arguments.convert, (stage, Some(&arguments.new)), kept, color)?;
    let mut text = about(before.as_ref(), &after);
    let changes = Changes::of(&old, &new, &sources);
    text.push_str(&changes.text());
    output::print(&text)?;
    match arguments.exit_code && !changes.objects.is_empty() {
        true => Err(Failed::Input),
        false => Ok(()),
    }
}

/// How the component itself changed.
fn about(before: Option<&Plugin>, after: &Plugin) -> String {
    let digest = |plugin: Option<&Plugin>| plugin.map_or(NONE.to_string(), |plugin| plugin.digest.short());
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

/// What differs between two conversions.
struct Changes {
    /// Lines about each object that differs.
    objects: Vec<(Change, Identity, Vec<String>)>,
    /// Privileges and kinds that only the new objects have.
    gained: BTreeSet<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Added,
    Removed,
    Changed,
}

// === impl Changes ===

impl Changes {
    fn of(old: &Done, new: &Done, sources: &Sources) -> Self {
        let (before, after) = (by_identity(&old.objects), by_identity(&new.objects));
        let mut secrets = old.secrets.clone();
        secrets.add(new.secrets.clone());
        let shown = |value: &Tree| secrets.redact(value.clone(), sources);
        let names: BTreeSet<&Identity> = before.keys().chain(after.keys()).collect();
        let mut objects = Vec::new();
        for name in names {
            let (change, lines) = match (before.get(name), after.get(name)) {
                (None, _) => (Change::Added, Vec::new()),
                (Some(_), None) => (Change::Removed, Vec::new()),
                (Some(before), Some(after)) => {
                    let found = differences(before, after);
                    let is_secret = before.str("kind") == Some("Secret");
                    let line = |one: &Difference<'_>| match is_secret {
                        // Derived values are not known as secrets.
                        true => format!("{}: changed", replies::pointer(one)),
                        false => line(one, &shown),
                    };
                    (Change::Changed, found.iter().map(line).collect())
                }
            };
            if change != Change::Changed || !lines.is_empty() {
                objects.push((change, name.clone(), lines));
            }
        }
        let gained = gained(&after).difference(&gained(&before)).cloned().collect();
        Self { objects, gained }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (change, name, lines) in &self.objects {
            let sign = match change {
                Change::Added => "+ ",
                Change::Removed => "- ",
                Change::Changed => "",
            };
            text.push_str(&format!("\n{sign}{name}\n"));
            lines.iter().for_each(|line| text.push_str(&format!("    {line}\n")));
        }
        let count = |wanted: Change| self.objects.iter().filter(|(change, _, _)| *change == wanted).count();
        let (added, removed, changed) = (count(Change::Added), count(Change::Removed), count(Change::Changed));
        text.push_str(&format!(
            "\nobjects: {added} added, {removed} removed, {changed} changed\n"
        ));
        if !self.gained.is_empty() {
            text.push_str("gained:\n");
            self.gained
                .iter()
                .for_each(|one| text.push_str(&format!("    {one}\n")));
        }
        text
    }
}

fn by_identity(objects: &[Tree]) -> BTreeMap<Identity, &Tree> {
    let identity = |object: &Tree| {
        let name = object.get("metadata").and_then(|metadata| metadata.str("name"));
        format!(
            "{}/{}",
            object.str("kind").unwrap_or_default(),
            name.unwrap_or_default()
        )
    };
    objects.iter().map(|object| (identity(object), object)).collect()
}

/// Kinds of the objects, and privileges of their pods.
fn gained(objects: &BTreeMap<Identity, &Tree>) -> BTreeSet<String> {
    let of_object = |(name, object): (&Identity, &&Tree)| {
        let kind = format!("objects of the kind {}", object.str("kind").unwrap_or_default());
        let privileges = privileges::of_object(object).into_iter();
        let privileges = privileges.map(|privilege| format!("{privilege} in the pods of {name}"));
        privileges.chain([kind]).collect::<Vec<String>>()
    };
    objects.iter().flat_map(of_object).collect()
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
