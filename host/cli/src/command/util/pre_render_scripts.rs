//! `host util pre-render-scripts`: writes the pre-render scripts of an instance group's jobs as files, for the init
//! containers that run them.

use boson_commands::exit::{self, ExitError};
use boson_commands::inputs;
use boson_commands::output::Color;
use boson_commands::storage::below::{self, Below};
use boson_document::Tree;
use boson_manifest::pre_render::{self, DIRECTORY};
use boson_pipeline::report::Sources;
use clap::Args;
use std::path::PathBuf;

/// Every option is read from the environment, as the pod's init container gets it
#[derive(Args, Debug)]
pub struct PreRenderScriptsArguments {
    /// The resolved instance group: `properties.yaml` of its Secret, compressed or not
    #[arg(long, env = "BOSH_MANIFEST_PATH")]
    manifest: PathBuf,
    /// Volume of the job sources; scripts are written to `pre-render/<job>` in it
    #[arg(long, env = "JOBS_DIR", default_value = boson_manifest::copier::RELEASES)]
    releases: PathBuf,
}

pub fn run(arguments: &PreRenderScriptsArguments, color: Color) -> Result<(), ExitError> {
    let mut sources = Sources::default();
    let written = inputs::read_mounted(&arguments.manifest, &mut sources).and_then(|manifest| {
        below::write(&arguments.releases, &files(&manifest)).map_err(|error| boson_commands::files::unwritable(&error))
    });
    written.map_err(|error| exit::refused(&[error], &sources, color))
}

/// The scripts may hold secrets: only vcap can read them.
fn files(manifest: &Tree) -> Vec<Below> {
    let groups = manifest.items("instance_groups").iter();
    let jobs = groups.flat_map(|group| group.items("jobs"));
    let scripts = jobs.flat_map(|job| {
        let name = job.str("name").unwrap_or_default();
        pre_render::scripts(job).into_iter().map(move |(file, text)| Below {
            path: format!("{DIRECTORY}/{name}/{file}"),
            content: text.to_string(),
            mode: 0o600,
        })
    });
    scripts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    #[test]
    fn each_job_has_its_scripts_in_a_directory() {
        let manifest = r#"{"instance_groups": [{"name": "g", "jobs": [
            {"name": "a", "properties": {"quarks": {"pre_render_scripts": {"jobs": ["one", "two"]}}}},
            {"name": "b", "properties": {}},
            {"name": "c", "properties": {"quarks": {"pre_render_scripts": {"bpm": ["three"]}}}}]}]}"#;
        let files = files(&json::parse(manifest).unwrap());
        let found: Vec<(&str, &str)> = files
            .iter()
            .map(|file| (file.path.as_str(), file.content.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                ("pre-render/a/0000-jobs-0", "one"),
                ("pre-render/a/0001-jobs-1", "two"),
                ("pre-render/c/0000-bpm-0", "three")
            ]
        );
    }
}
