//! `host interpolate`: flags, behaviour and messages of `bosh interpolate`.

use crate::command::inputs::variables::{self, Asked, VariableArguments};
use crate::printf::format_without_values;
use boson_commands::exit::ExitError;
use boson_commands::memory;
use boson_commands::output::{self, Color};
use boson_document::Tree;
use boson_pipeline::report::Sources;
use boson_pipeline::variables::Options;
use boson_pipeline::{Diagnostic, Stage, Stages, yaml};
use boson_plugin_tools::plugin_arguments::PluginArguments;
use boson_plugin_tools::plugins;
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  host interpolate manifest.yml -o ops/scale.yml -v system_domain=example.com --vars-store vars.yml
  host interpolate manifest.yml --path /instance_groups/name=api/instances
  cat manifest.yml | host interpolate - --var-errs";

/// Apply ops files and variables to a manifest, as `bosh interpolate` does
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct InterpolateArguments {
    /// The manifest; `-` for standard input
    manifest: PathBuf,
    #[command(flatten)]
    variables: VariableArguments,
    /// Print only the value at this path
    #[arg(long, value_name = "PATH", overrides_with = "path")]
    path: Option<String>,
    /// Fail if variables are missing
    #[arg(long, overrides_with = "var_errs")]
    var_errs: bool,
    /// Fail if given variables are not used
    #[arg(long, overrides_with = "var_errs_unused")]
    var_errs_unused: bool,
    #[command(flatten)]
    plugins: PluginArguments,
}

pub fn run(arguments: &InterpolateArguments, color: Color) -> Result<(), ExitError> {
    let mut sources = Sources::within(memory::of_documents(arguments.plugins.max_memory));
    let mut warnings = Vec::new();
    match interpolate(arguments, &mut sources, &mut warnings) {
        Ok(value) => {
            output::show(&warnings, &sources, color);
            // A string selected by `--path` is printed raw, for use in scripts.
            let text = match (&arguments.path, &value) {
                (Some(_), Tree::String(text)) => format!("{text}\n"),
                _ => yaml::write(&value),
            };
            Ok(output::print(&text)?)
        }
        Err(mut diagnostics) => {
            for error in diagnostics.iter_mut().filter(|one| one.is_error()) {
                error.message = format_without_values(&error.message);
            }
            Err(arguments.plugins.failed(&diagnostics, &sources, color))
        }
    }
}

fn interpolate(
    arguments: &InterpolateArguments,
    sources: &mut Sources,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Tree, Vec<Diagnostic>> {
    let plugins = plugins::prepare(&arguments.plugins, &[Stage::Ops, Stage::Variables], sources)?;
    let mut read = variables::read(&arguments.manifest, &arguments.variables, sources)?;
    let document = read.apply(&plugins, sources, warnings)?;
    let options = Options::interpolate(arguments.var_errs, arguments.var_errs_unused);
    let manifest = read.interpolate(&plugins, &document, &options, &Asked::default(), sources, warnings)?;
    let Some(path) = &arguments.path else {
        return Ok(manifest.document);
    };
    match plugins.find(manifest.named(), path) {
        Ok((found, _)) => Ok(found),
        Err(error) => Err(Vec::from(error).into_iter().map(about_flag).collect()),
    }
}

/// A path that cannot be parsed is an error in the flag, not in the document.
fn about_flag(mut error: Diagnostic) -> Diagnostic {
    if error.place.pointer.is_none() {
        error.place.document = None;
    }
    error
}
