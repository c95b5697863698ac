//! `host plugin wit`: the plugin interface of a stage, as files in the layout that bindings generators expect; or all
//! packages of the interface, as files or in a registry.

use crate::scaffold::wit_files;
use crate::wit_packages;
use boson_commands::exit::ExitError;
use boson_commands::output::{self, Color};
use boson_commands::registries::{self, AuthorityArguments, WithoutTlsArguments};
use boson_commands::storage;
use boson_pipeline::Stage;
use clap::Args;
use std::path::{Path, PathBuf};

/// Options of `host plugin wit`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    host plugin wit bpm --out wit\n  \
    host plugin wit --push registry.example.com/team\n\n\
    --push names the packages as wkg expects them for the namespacePrefix `team/`, such as \
    registry.example.com/team/boson/bpm:1.0.0. Credentials are those of `docker login`. The output is the references with their digests.")]
pub struct WitArguments {
    /// Stage: ops, variables, links, render, bpm, resources or checks
    #[arg(value_parser = stage, required_unless_present_any = ["packages", "push"])]
    stage: Option<Stage>,
    /// Write the files to this directory; the packages that the stage uses are below `deps`
    #[arg(long, value_name = "DIR", default_value = "wit")]
    out: PathBuf,
    /// Write all packages to this directory instead, encoded, in the layout of wkg's local registries
    #[arg(long, value_name = "DIR", conflicts_with_all = ["stage", "out", "push"])]
    packages: Option<PathBuf>,
    /// Push all packages to a registry instead; those that it has are not replaced
    #[arg(long, value_name = "HOST[:PORT][/PATH]", conflicts_with_all = ["stage", "out"])]
    #[arg(value_parser = wit_packages::place)]
    push: Option<String>,
    #[command(flatten)]
    without_tls: WithoutTlsArguments,
    #[command(flatten)]
    authorities: AuthorityArguments,
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

pub fn run(arguments: &WitArguments, color: Color) -> Result<(), ExitError> {
    if let Some(directory) = &arguments.packages {
        return Ok(wit_packages::write(directory)?);
    }
    if let Some(place) = &arguments.push {
        let settings = registries::settings(&arguments.without_tls, &arguments.authorities)?;
        return wit_packages::push(place, &settings, color);
    }
    // Required if there is no other option.
    arguments
        .stage
        .map_or(Ok(()), |stage| Ok(write(stage, &arguments.out)?))
}

fn write(stage: Stage, out: &Path) -> anyhow::Result<()> {
    let mut written = Vec::new();
    for (path, text) in wit_files(stage) {
        let file = out.join(path);
        storage::create(&file, text)?;
        written.push(file.display().to_string());
    }
    let worlds = worlds(stage).into_iter();
    let worlds: Vec<String> = worlds
        .map(|(name, what)| format!("  boson:{stage}/{name}@1.0.0  {what}\n"))
        .collect();
    output::eprint(&format!(
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
            write(stage, &out).unwrap();
            let text = fs::read_to_string(out.join(format!("{stage}.wit"))).unwrap();
            for (world, _) in worlds(stage) {
                assert!(text.contains(&format!("\nworld {world} {{")), "{world}");
            }
            assert!(out.join("deps/types/types.wit").is_file());
        }
    }
}
