//! `host plugin inspect`: what a component is, before it is installed.

use crate::codes;
use crate::command::verify::Found;
use crate::evidence::{self, Item, Names, Subjects, TrustArguments};
use crate::{metadata, plugins};
use boson_commands::columns::{indented, section};
use boson_commands::exit::{self, ExitError};
use boson_commands::output::{self, Color, Form};
use boson_document::{Tree, json};
use boson_oci::{Digest, parse_digest};
use boson_pipeline::Diagnostic;
use boson_pipeline::report::clean;
use boson_sandbox::{Code, Description, Limits, Plugin, Requirements, Sandbox};
use clap::Args;
use std::path::PathBuf;

const ABOUT: &str = "\
Of an image in a registry, the command also shows what is attached to it: signatures, bills of materials (SPDX, CycloneDX) and attestations. \
With --key or --identity, it verifies who has signed them. At most 16 documents of 4 MiB are read.

Examples:
  host plugin inspect my-labels.wasm
  host plugin inspect oci://registry.example.com/team/my-labels:1.0 --key cosign.pub
  host plugin inspect my-labels.wasm --expect-digest sha256:ab12...";

/// Options of `host plugin inspect`.
#[derive(Args, Debug)]
#[command(after_help = ABOUT)]
pub struct InspectArguments {
    /// The component: a file, or `oci://HOST[:PORT]/PATH[:TAG][@sha256:DIGEST]`
    component: PathBuf,
    #[command(flatten)]
    trust: TrustArguments,
    /// Fail if the component has another digest
    #[arg(long, value_name = "DIGEST", value_parser = digest)]
    expect_digest: Option<Digest>,
    /// Form of the result
    #[arg(long, short, value_enum, default_value_t, value_name = "FORM")]
    output: Form,
}

struct Inspection<'i> {
    sandbox: &'i Sandbox,
    plugin: &'i Plugin,
    description: &'i Description,
    found: &'i Found,
    items: &'i [Item],
    names: &'i Names,
}

/// A digest, as other commands show it.
fn digest(text: &str) -> Result<Digest, &'static str> {
    parse_digest(text).ok_or("expected sha256: and 64 hexadecimal digits in lower case")
}

pub fn run(arguments: &InspectArguments, color: Color) -> Result<(), ExitError> {
    let show = |error: Diagnostic| exit::fail(error, color);
    let fail = |failure: boson_sandbox::Error| show(failure.diagnostic());
    let (trust, names) = arguments.trust.read()?;
    let found = Found::read(&arguments.component).map_err(show)?;
    // Before anything is done with it.
    check_digest(arguments, &found).map_err(show)?;
    let sandbox = plugins::sandbox(Limits::default()).map_err(fail)?;
    let plugin = plugins::of_content(&sandbox, &arguments.component, &found.bytes).map_err(fail)?;
    let description = plugin.describe(&sandbox).map_err(fail)?;
    let component = boson_oci::digest(&found.bytes);
    let items = found.image_digest().map_or(Vec::new(), |image| {
        let (image, component) = (&image, &component);
        evidence::items(&found.attachments, Subjects { image, component }, &trust)
    });
    let inspection = Inspection {
        sandbox: &sandbox,
        plugin: &plugin,
        description,
        found: &found,
        items: &items,
        names: &names,
    };
    let text = match arguments.output {
        Form::Text => inspection.text(),
        Form::Json => json::to_lines(&inspection.tree()),
    };
    Ok(output::print(&text)?)
}

fn check_digest(arguments: &InspectArguments, found: &Found) -> Result<(), Diagnostic> {
    let digest = boson_oci::digest(&found.bytes);
    let Some(expected) = arguments.expect_digest.as_ref().filter(|expected| **expected != digest) else {
        return Ok(());
    };
    let name = clean::line(&arguments.component.display().to_string());
    let what = format!("'{name}' has the digest {digest}, but {expected} was expected");
    let mut error = Diagnostic::error(codes::PLUGIN_DIGEST, what);
    if found.image_digest().as_ref() == Some(expected) {
        error = error.help("this is the digest of the image; expect that of the component");
    }
    Err(error)
}

// === impl Inspection ===

impl Inspection<'_> {
    fn text(&self) -> String {
        let mut text = indented(&overview(self.sandbox, self.plugin, self.description, self.found));
        text.push_str(&section("settings", &settings(&self.description.settings_schema)));
        let codes = self.description.codes.iter();
        let codes = codes.map(|code| [code.name.clone(), code.title.clone()]);
        text.push_str(&section("diagnostics", &codes.collect::<Vec<_>>()));
        if self.found.image.is_some() {
            text.push_str(&evidence::text(self.items, self.names));
            if self.found.attachments.has_more {
                text.push_str("\nMore is attached to the image than was read.\n");
            }
        }
        text
    }

    fn tree(&self) -> Tree {
        let Self {
            plugin, description, ..
        } = self;
        let interfaces = self.sandbox.interfaces(plugin);
        let code = |code: &Code| {
            Tree::object()
                .with("name", code.name.as_str())
                .with("title", code.title.as_str())
        };
        let metadata: Tree = metadata::of(&self.found.bytes).into_iter().collect();
        let mut tree = Tree::object()
            .with("name", description.name.as_str())
            .with("version", description.version.as_str())
            .with("stage", plugin.stage.name())
            .with("wraps", plugin.wraps)
            .with("digest", plugin.digest.to_string())
            .with("runs", plugin.answered.as_ref().unwrap_or(&plugin.digest).to_string())
            .with("size", self.found.bytes.len() as u64)
            .with("machineCode", self.sandbox.requirements(plugin).code)
            .with("exports", interfaces.exports)
            .with("imports", interfaces.imports)
            .with("settings", description.settings_schema.clone())
            .with("diagnostics", Tree::Array(description.codes.iter().map(code).collect()))
            .with("metadata", metadata);
        if let Some(image) = &self.found.image {
            tree.set("image", image.as_str());
            tree.set("attached", evidence::tree(self.items, self.names));
            tree.set("hasMore", self.found.attachments.has_more);
        }
        tree
    }
}

/// Name and value of each property.
fn overview(sandbox: &Sandbox, plugin: &Plugin, description: &Description, found: &Found) -> Vec<[String; 2]> {
    let role = match (plugin.stage.has_rule(), plugin.wraps) {
        (true, false) => "replaces the rule",
        (true, true) => "wraps the rule",
        (false, _) => "runs in addition to others",
    };
    let (interfaces, needs) = (sandbox.interfaces(plugin), sandbox.requirements(plugin));
    let kib = |bytes: u64| format!("{} KiB", bytes.div_ceil(1 << 10));
    let text = |name: &str, value: String| [name.to_string(), value];
    let size = kib(found.bytes.len() as u64);
    let mut all = vec![
        text("name", format!("{} {}", description.name, description.version)),
        text("stage", format!("{}: {role}", plugin.stage)),
        text("digest", plugin.digest.to_string()),
        text("size", format!("{size}, {} of machine code", kib(needs.code))),
        text("needs", needed(&needs, sandbox.limits())),
        text("exports", interfaces.exports.join(", ")),
        text("imports", interfaces.imports.join(", ")),
    ];
    if let Some(answered) = &plugin.answered {
        all.insert(3, text("runs", format!("{answered}, with the answers to WASI")));
    }
    let metadata = metadata::of(&found.bytes).into_iter();
    all.extend(metadata.map(|(name, value)| text(&format!("metadata: {name}"), clean::line(&value))));
    all.extend(found.image.clone().map(|image| text("image", image)));
    all
}

/// What each instance has from the beginning, with the limits.
fn needed(needs: &Requirements, limits: &Limits) -> String {
    let Requirements {
        memories,
        memory,
        tables,
        table_elements,
        ..
    } = needs;
    format!(
        "{memories} of {} memories, {:.1} of {} MiB; {tables} of {} tables, {table_elements} of {} elements",
        limits.memories,
        *memory as f64 / f64::from(1 << 20),
        limits.memory >> 20,
        limits.tables,
        limits.table_elements,
    )
}

/// The members that settings may have: name, and type with description.
fn settings(schema: &Tree) -> Vec<[String; 2]> {
    let required = schema.items("required");
    let member = |(name, member): (&String, &Tree)| {
        let is_required = required.iter().any(|one| one.as_str() == Some(name));
        let mut parts = vec![kind(member)];
        parts.extend(is_required.then(|| "required".to_string()));
        let description = member
            .str("description")
            .map(|text| format!(": {text}"))
            .unwrap_or_default();
        [name.clone(), parts.join(", ") + &description]
    };
    let members = schema.get("properties").and_then(Tree::as_object);
    members.into_iter().flatten().map(member).collect()
}

fn kind(schema: &Tree) -> String {
    match schema.get("type") {
        Some(Tree::String(name)) => name.clone(),
        Some(Tree::Array(names)) => {
            let names: Vec<&str> = names.iter().filter_map(Tree::as_str).collect();
            names.join(" or ")
        }
        _ => "any".to_string(),
    }
}
