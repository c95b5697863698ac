//! `host util interpolate`: puts the values of variables into the manifest; the job var-interpolation runs it.

use super::mounted;
use super::own_deployment::OwnDeployment;
use super::results::ResultArguments;
use boson_commands::exit::ExitError;
use boson_commands::output::{self, Color};
use boson_pipeline::convert::stored_documents::{self, Texts};
use boson_pipeline::report::Sources;
use boson_pipeline::stage::Named;
use boson_pipeline::variables;
use boson_pipeline::{Diagnostic, Stage, encoding};
use boson_plugin_tools::plugin_arguments::PluginArguments;
use boson_plugin_tools::plugins;
use clap::Args;
use std::path::PathBuf;

/// Values are files: `<values>/given/<variable>/<key>`, and likewise `implicit`, `implicit-json` and `generated`
#[derive(Args, Debug)]
pub struct InterpolateArguments {
    /// Manifest after ops files: `manifest.yaml` of its Secret
    #[arg(long, value_name = "FILE")]
    manifest: PathBuf,
    /// Name of the manifest in errors
    #[arg(long, value_name = "NAME")]
    manifest_name: String,
    /// Folder with the values of variables
    #[arg(long, value_name = "DIR")]
    values: PathBuf,
    /// Expected digest of manifest and values; exit with code 75 if they differ
    #[arg(long, value_name = "DIGEST")]
    inputs: Option<String>,
    #[command(flatten)]
    pub(super) results: ResultArguments,
    #[command(flatten)]
    own_deployment: OwnDeployment,
    #[command(flatten)]
    plugins: PluginArguments,
}

pub fn run(arguments: &InterpolateArguments, color: Color) -> Result<(), ExitError> {
    let (mut sources, mut warnings) = (Sources::default(), Vec::new());
    if is_outdated(arguments) {
        output::eprint("the mounted inputs have changed since this run was requested: a new pod reads them\n");
        return Err(ExitError::Again);
    }
    let outcome = interpolate(arguments, &mut sources, &mut warnings);
    let results = &arguments.results;
    results.write(outcome, warnings, &sources, &arguments.manifest_name, color)
}

/// Whether the inputs changed since the operator requested this run. Errors in reading them are reported later.
fn is_outdated(arguments: &InterpolateArguments) -> bool {
    let digest = || {
        let bytes = boson_commands::files::read(&arguments.manifest).ok()?;
        let manifest = encoding::unpack(&bytes).ok()?;
        let (held, _) = mounted::values(Some(&arguments.values)).ok()?;
        Some(boson_in_pod::digest(&manifest, &held))
    };
    match &arguments.inputs {
        Some(wanted) => digest().is_some_and(|digest| digest != *wanted),
        None => false,
    }
}

fn interpolate(
    arguments: &InterpolateArguments,
    sources: &mut Sources,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Texts, Vec<Diagnostic>> {
    let (_, values) = mounted::values(Some(&arguments.values))?;
    let secrets = values.secrets();
    let manifest = mounted::document(&arguments.manifest, &arguments.manifest_name, sources)?;
    // The operator has warned about settings when it loaded the plugin.
    let plugins = plugins::prepare(&arguments.plugins, &[Stage::Variables], sources)?;
    let plugins = arguments.own_deployment.set(plugins);
    let named = Named::new(&manifest.name, &manifest.tree);
    let desired = variables::desired(&plugins, named, &values.given, &values.generated);
    let (done, reported) = desired.map_err(|error| secrets.scrub(error.into(), sources))?;
    warnings.extend(secrets.scrub(reported, sources));
    Ok(stored_documents::manifest(&done.document))
}
