//! `host plugin wit`: the plugin interface of a stage, as files in the layout that bindings generators expect.

use crate::scaffold::wit_files;
use boson_commands::exit::ExitError;
use boson_commands::output;
use boson_commands::storage;
use boson_pipeline::Stage;
use clap::Args;
use std::path::PathBuf;

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
    if stage.has_rule() {
        vec![
            (stage.to_string(), "a rule"),
            (format!("{stage}-wrapper"), "a plugin around the rule"),
        ]
    } else {
        vec![(stage.to_string(), "a plugin")]
    }
}

pub fn run(arguments: &WitArguments) -> Result<(), ExitError> {
    let stage = arguments.stage;
    let mut written = Vec::new();
    for (path, text) in wit_files(stage) {
        let file = arguments.out.join(path);
        storage::create(&file, text)?;
        written.push(file.display().to_string());
    }
    let worlds = worlds(stage).into_iter();
    let worlds: Vec<String> = worlds
        .map(|(name, what)| format!("  boson:{stage}/{name}@1.0.0  {what}\n"))
        .collect();
    output::complain(&format!(
        "wrote {}; worlds:\n{}",
        written.join(" and "),
        worlds.concat()
    ));
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use std::fs;

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
