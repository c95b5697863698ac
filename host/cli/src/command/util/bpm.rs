//! `host util bpm`: renders the templates of an instance group, and outputs the files that shape its pods; the job
//! bpm-configs runs it.

use super::mounted;
use super::own_deployment::OwnDeployment;
use super::results::ResultArguments;
use boson_commands::exit::ExitError;
use boson_commands::output::Color;
use boson_pipeline::convert::stored_documents::{self, Texts};
use boson_pipeline::convert::{Origin, pre_render_ops};
use boson_pipeline::report::Sources;
use boson_pipeline::scrub::{Filter, Secrets};
use boson_pipeline::stage::ResolvedGroup;
use boson_pipeline::{Diagnostic, Stage};
use boson_plugin_tools::plugin_arguments::PluginArguments;
use boson_plugin_tools::plugins;
use clap::Args;
use std::path::PathBuf;

/// Threads: more are of little use within the container's CPU limit.
const CONVERSION_THREADS: usize = 2;

/// All templates are rendered for every instance, to find errors before pods are created
#[derive(Args, Debug)]
pub struct BpmArguments {
    /// The resolved instance group: `properties.yaml` of its Secret
    #[arg(long, value_name = "FILE")]
    resolved: PathBuf,
    /// Name of the manifest in errors
    #[arg(long, value_name = "NAME")]
    manifest_name: String,
    /// Folder with the values of variables, which messages must not contain
    #[arg(long, value_name = "DIR")]
    values: Option<PathBuf>,
    /// Directory with `jobs-src/<release>/<job>`
    #[arg(long, value_name = "DIR", default_value = boson_manifest::copier::RELEASES)]
    releases: PathBuf,
    /// Name of the instance group
    #[arg(long, value_name = "NAME")]
    group: String,
    #[command(flatten)]
    pub(super) results: ResultArguments,
    #[command(flatten)]
    own_deployment: OwnDeployment,
    #[command(flatten)]
    plugins: PluginArguments,
}

pub fn run(arguments: &BpmArguments, color: Color) -> Result<(), ExitError> {
    let (mut sources, mut warnings) = (Sources::default(), Vec::new());
    let outcome = render(arguments, &mut sources, &mut warnings);
    let results = &arguments.results;
    results.write(outcome, warnings, &sources, &arguments.manifest_name, color)
}

fn render(
    arguments: &BpmArguments,
    sources: &mut Sources,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Texts, Vec<Diagnostic>> {
    let (_, values) = mounted::values(arguments.values.as_deref())?;
    let mut secrets = values.secrets();
    let name = arguments.resolved.display().to_string();
    let document = mounted::document(&arguments.resolved, &name, sources)?.tree;
    secrets.add(Secrets::of_properties(&document));
    // The operator has warned about settings when it loaded the plugin.
    let stages = pre_render_ops::stages(Stage::Render, pre_render_ops::are_in_pod(&document));
    let plugins = plugins::prepare(&arguments.plugins, &stages, sources)?;
    let plugins = arguments.own_deployment.set(plugins);
    let releases = mounted::releases(&arguments.releases, sources)?;
    let group = ResolvedGroup {
        name: arguments.group.clone(),
        document,
    };
    let filter = Filter {
        secrets: &secrets,
        sources,
    };
    let (mut reported, manifest) = (Vec::new(), Origin::Name(&arguments.manifest_name));
    let rendered = stored_documents::rendered(
        &plugins,
        manifest,
        std::slice::from_ref(&group),
        &releases,
        filter,
        CONVERSION_THREADS,
        &mut reported,
    );
    warnings.extend(secrets.scrub(reported, sources));
    let of_group = rendered.and_then(|groups| groups.into_iter().next().unwrap_or_else(|| Ok(Texts::new())));
    of_group.map_err(|errors| secrets.scrub(errors, sources))
}
