//! `host plugin inspect`: what a component is, before it is installed.

use crate::columns::columns;
use crate::exit::Failed;
use crate::output::{self, Color};
use crate::plugins;
use boson_componentize::Console;
use boson_document::Tree;
use boson_pipeline::report::Sources;
use boson_sandbox::{Description, Failure, Limits, Plugin, Requirements, Sandbox};
use clap::Args;
use std::path::{Path, PathBuf};

/// Options of `host plugin inspect`.
#[derive(Args, Debug)]
#[command(after_help = "Example: host plugin inspect my-labels.wasm")]
pub struct InspectArguments {
    /// The component
    component: PathBuf,
}

pub fn run(arguments: &InspectArguments, color: Color) -> Result<(), Failed> {
    let fail = |failure: Failure| {
        output::show(&[failure.diagnostic()], &Sources::default(), color);
        Failed::Input
    };
    let sandbox = plugins::sandbox(Limits::default()).map_err(fail)?;
    let plugin = plugins::component(&sandbox, &arguments.component).map_err(|error| {
        output::show(&[*error], &Sources::default(), color);
        Failed::Input
    })?;
    let description = plugin.describe(&sandbox).map_err(fail)?;
    let size = size(&arguments.component);
    let mut text = rows(&overview(&sandbox, &plugin, description, size));
    text.push_str(&section("settings", &settings(&description.settings_schema)));
    let codes = description
        .codes
        .iter()
        .map(|code| [code.name.clone(), code.title.clone()]);
    text.push_str(&section("diagnostics", &codes.collect::<Vec<_>>()));
    Ok(output::print(&text)?)
}

/// The bytes of the file, or of the component where that is in an image or in parts.
fn size(component: &Path) -> u64 {
    match std::fs::metadata(component) {
        Ok(metadata) if metadata.is_file() => metadata.len(),
        _ => {
            let content = plugins::content(component, Console::Dropped);
            content.ok().flatten().map_or(0, |bytes| bytes.len() as u64)
        }
    }
}

/// Name and value of each property.
fn overview(sandbox: &Sandbox, plugin: &Plugin, description: &Description, size: u64) -> Vec<[String; 2]> {
    let role = match (plugin.stage.has_rule(), plugin.wraps) {
        (true, false) => "replaces the rule",
        (true, true) => "wraps the rule",
        (false, _) => "runs in addition to others",
    };
    let (interfaces, needs) = (sandbox.interfaces(plugin), sandbox.requirements(plugin));
    let kib = |bytes: u64| format!("{} KiB", bytes.div_ceil(1 << 10));
    let text = |name: &str, value: String| [name.to_string(), value];
    vec![
        text("name", format!("{} {}", description.name, description.version)),
        text("stage", format!("{}: {role}", plugin.stage)),
        text("digest", plugin.digest.to_string()),
        text("size", format!("{}, {} of machine code", kib(size), kib(needs.code))),
        text("needs", needed(&needs, sandbox.limits())),
        text("exports", interfaces.exports.join(", ")),
        text("imports", interfaces.imports.join(", ")),
    ]
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

fn section(title: &str, lines: &[[String; 2]]) -> String {
    match lines {
        [] => format!("\n{title}: none\n"),
        lines => format!("\n{title}:\n{}", rows(lines)),
    }
}

fn rows(lines: &[[String; 2]]) -> String {
    // The component chooses these texts: no control character reaches the terminal.
    let clean = |text: &String| text.chars().filter(|c| !c.is_control()).collect::<String>();
    let lines: Vec<[String; 2]> = lines.iter().map(|line| line.each_ref().map(clean)).collect();
    columns(&lines).lines().map(|line| format!("  {line}\n")).collect()
}
