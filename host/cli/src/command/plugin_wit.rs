//! `host plugin wit`: the plugin interface of a stage, as files in the layout that bindings generators expect.

use crate::exit::Failed;
use crate::output;
use anyhow::Context;
use boson_componentize::wit;
use boson_pipeline::Stage;
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};

/// Options of `host plugin wit`.
#[derive(Args, Debug)]
#[command(after_help = "Example: host plugin wit bpm --out wit")]
pub struct WitArguments {
    /// Stage: ops, variables, links, render, bpm, resources or checks
    #[arg(value_parser = stage)]
    stage: Stage,
    /// Write the files to this directory; the packages that the stage uses are below `deps`
    #[arg(long, value_name = "DIR", default_value = "wit")]
    out: PathBuf,
}

/// A stage by its name.
pub fn stage(text: &str) -> Result<Stage, String> {
    let names = Stage::ALL.map(Stage::name).join(", ");
    Stage::named(text).ok_or(format!("the stages are {names}"))
}

/// The worlds of a stage: the name, and what a plugin of it is.
fn worlds(stage: Stage) -> Vec<(String, &'static str)> {
    match stage.has_rule() {
        true => vec![
            (stage.to_string(), "a rule"),
            (format!("{stage}-wrapper"), "a plugin around the rule"),
        ],
        false => vec![(stage.to_string(), "a plugin")],
    }
}

pub fn run(arguments: &WitArguments) -> Result<(), Failed> {
    let stage = arguments.stage;
    let [package, types] = write(stage, &arguments.out)?.map(|file| file.display().to_string());
    let worlds = worlds(stage).into_iter();
    let worlds: Vec<String> = worlds
        .map(|(name, what)| format!("  boson:{stage}/{name}@1.0.0  {what}\n"))
        .collect();
    output::complain(&format!("wrote {package} and {types}; worlds:\n{}", worlds.concat()));
    Ok(())
}

/// Writes the package of a stage and that of the types, and returns their files.
///
/// # Errors
/// A file cannot be written.
pub fn write(stage: Stage, directory: &Path) -> anyhow::Result<[PathBuf; 2]> {
    let packages = [
        (format!("{stage}.wit"), stage.name()),
        ("deps/types/types.wit".to_string(), "types"),
    ];
    for (path, package) in &packages {
        let file = directory.join(path);
        let unwritable = || format!("cannot write '{}'", file.display());
        if let Some(directory) = file.parent() {
            fs::create_dir_all(directory).with_context(unwritable)?;
        }
        fs::write(&file, wit(package).unwrap_or_default()).with_context(unwritable)?;
    }
    Ok(packages.map(|(path, _)| directory.join(path)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_every_stage_have_the_worlds_that_are_named() {
        for stage in Stage::ALL {
            let scratch = tempfile::tempdir().unwrap();
            let out = scratch.path().join("a/wit");
            run(&WitArguments {
                stage,
                out: out.clone(),
            })
            .unwrap();
            let text = fs::read_to_string(out.join(format!("{stage}.wit"))).unwrap();
            for (world, _) in worlds(stage) {
                assert!(text.contains(&format!("\nworld {world} {{")), "{world}");
            }
            assert!(out.join("deps/types/types.wit").is_file());
        }
    }
}
