//! `make bench`: measures the product's promises about speed and size, as one table. It only prints, and never fails on
//! a slow machine: times depend on other load, so a limit in a test would only teach people to ignore it. Compared
//! programs run in turns.
//!
//! With `BEFORE=path/to/another/host` the other build is measured, too.
//!
//! With a word after `--` (`cargo bench --workspace --bench speed -- convert`) only groups with that word in their name
//! run; with the whole name of a group, that group alone.

mod commands;
mod container_run;
mod crowd;
mod default_builds;
mod first_run;
mod in_process;
mod measure;
mod names;
mod neighbors;
mod node;
mod operator;
mod paired;
mod plugins;
mod pod_names;
mod pod_start;
mod release_image;
mod rollout;
mod site;
mod table;
mod whole_process;

use anyhow::{Result, ensure};
use boson_allocator as _;
use table::Row;

/// Groups of rows, in the order of the promises. Each creates its own inputs.
type Group = (&'static str, fn() -> Result<Vec<Row>>);

fn groups() -> Vec<Group> {
    vec![
        ("start", whole_process::start),
        ("instance", in_process::instance),
        ("overhead", in_process::overhead),
        ("crowd", crowd::crowd),
        ("render", in_process::render),
        ("batch", in_process::batch),
        ("batch-kernel", paired::kernel),
        ("default-builds", default_builds::default_builds),
        ("interpolate", whole_process::interpolate),
        ("convert", whole_process::convert),
        ("image", release_image::time),
        ("image-memory", release_image::memory),
        ("first-run-keys", first_run::keys),
        ("first-run-mistake", first_run::mistake),
        ("paired", paired::paired),
        ("names", names::names),
        ("operator-apply", operator::apply),
        ("operator-idle", operator::idle),
        ("decision", rollout::decision),
        ("rollout", rollout::rollout),
        ("commands", commands::commands),
        ("commands-in-instances", commands::in_instances),
        ("neighbors", neighbors::neighbors),
        ("plugins", plugins::plugins),
        ("container-run", container_run::container_run),
        ("pod-start", pod_start::start),
        ("pod-names", pod_names::names),
    ]
}

fn main() -> Result<()> {
    let word = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let is_name = groups().iter().any(|(name, _)| Some(*name) == word.as_deref());
    let chosen = groups().into_iter().filter(|(name, _)| match &word {
        Some(word) if is_name => name == word,
        Some(word) => name.contains(word.as_str()),
        None => true,
    });
    // Processes first: the measured memory of a child includes the size that this process has when it starts the child.
    let mut measured: Vec<(usize, Vec<Row>)> = Vec::new();
    let (mut first, then): (Vec<_>, Vec<_>) = chosen.enumerate().partition(|(_, (name, _))| *name == "convert");
    first.extend(then);
    let mut failed = Vec::new();
    for (place, (name, measure)) in first {
        // What was measured before is worth printing.
        let rows = measure().unwrap_or_else(|error| {
            failed.push(format!("{name}: {error:#}"));
            vec![Row::left_out(name, "failed")]
        });
        measured.push((place, rows));
    }
    measured.sort_by_key(|(place, _)| *place);
    let rows: Vec<Row> = measured.into_iter().flat_map(|(_, rows)| rows).collect();
    table::print(&rows);
    ensure!(failed.is_empty(), "failed: {}", failed.join("\n"));
    Ok(())
}
