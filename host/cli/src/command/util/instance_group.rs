//! `host util instance-group`: binds properties and resolves links of an instance group; the job data-gathering runs
//! it.

use super::mounted;
use super::results::{self, ResultArguments};
use crate::command::inputs::instances::InstancesArgument;
use boson_commands::exit::ExitError;
use boson_commands::output::Color;
use boson_pipeline::convert::codes;
use boson_pipeline::convert::stored_documents::Texts;
use boson_pipeline::convert::{self, GatherInputs, pre_render_ops, stored_documents};
use boson_pipeline::report::Sources;
use boson_pipeline::stage::{Deployment, Named};
use boson_pipeline::{Diagnostic, Stage, external};
use boson_plugin_tools::plugin_arguments::PluginArguments;
use boson_plugin_tools::plugins;
use clap::Args;
use std::path::PathBuf;

/// All groups are resolved, since links connect them; the output is that of one group
#[derive(Args, Debug)]
pub struct InstanceGroupArguments {
    /// Manifest with all values: `manifest.yaml` of its Secret
    #[arg(long, value_name = "FILE")]
    manifest: PathBuf,
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
    /// Also write the links that the deployment provides to this file: a JSON object of strings
    #[arg(long, value_name = "FILE")]
    providers: Option<PathBuf>,
    /// Links from outside of the deployment: `external-links.yaml` of its Secret
    #[arg(long, value_name = "FILE")]
    links: Option<PathBuf>,
    #[command(flatten)]
    deployment: DeploymentArguments,
    #[command(flatten)]
    pub(super) results: ResultArguments,
    #[command(flatten)]
    plugins: PluginArguments,
}

/// The deployment.
#[derive(Args, Debug)]
struct DeploymentArguments {
    /// Name of the deployment
    #[arg(long, value_name = "NAME")]
    deployment: String,
    /// Namespace of the deployment
    #[arg(long, value_name = "NAMESPACE")]
    namespace: String,
    /// Domain of the cluster
    #[arg(long, value_name = "DOMAIN", default_value = "cluster.local")]
    cluster_domain: String,
    /// Image with this program
    #[arg(long, value_name = "REFERENCE")]
    operator_image: String,
    /// Use this registry instead of the url of each release
    #[arg(long, value_name = "REGISTRY")]
    registry: Option<String>,
    /// Meaning of `instances` of a group
    #[arg(long, value_enum, default_value_t)]
    instances: InstancesArgument,
    /// Run jobs without bpm information by their monit files
    #[arg(long)]
    monit: bool,
}

/// Texts for Secrets.
struct Gathered {
    group: Texts,
    /// The links that the deployment provides.
    links: Texts,
}

pub fn run(arguments: &InstanceGroupArguments, color: Color) -> Result<(), ExitError> {
    let (mut sources, mut warnings) = (Sources::default(), Vec::new());
    let outcome = gather(arguments, &mut sources, &mut warnings);
    // Before the output, so that the output of a container that ends early is never incomplete.
    if let (Ok(gathered), Some(file)) = (&outcome, &arguments.providers) {
        results::write_texts(file, &gathered.links)?;
    }
    let outcome = outcome.map(|gathered| gathered.group);
    let results = &arguments.results;
    results.write(outcome, warnings, &sources, &arguments.manifest_name, color)
}

fn gather(
    arguments: &InstanceGroupArguments,
    sources: &mut Sources,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Gathered, Vec<Diagnostic>> {
    let (_, values) = mounted::values(arguments.values.as_deref())?;
    let external = mounted::links(arguments.links.as_deref())?;
    let mut secrets = values.secrets();
    let manifest = mounted::document(&arguments.manifest, &arguments.manifest_name, sources)?;
    let mut of_links = external::secrets(&external);
    of_links.except_names(&manifest.tree);
    secrets.add(of_links);
    // The operator has warned about settings when it loaded the plugin.
    let stages = pre_render_ops::stages(Stage::Links, pre_render_ops::are_on_groups(&manifest.tree));
    let plugins = plugins::prepare(&arguments.plugins, &stages, sources)?;
    let releases = mounted::releases(&arguments.releases, sources)?;
    let named = Named::new(&manifest.name, &manifest.tree);
    let deployment = arguments.deployment.named();
    let plugins = plugins.with_deployment(&deployment.name, &deployment.namespace);
    let inputs = GatherInputs {
        deployment: &deployment,
        by_monit: arguments.deployment.monit,
        manifest: named,
        releases: &releases,
        external: &external,
    };
    let gathered = convert::gather(&plugins, inputs);
    let scrubbed = |reported| secrets.scrub(reported, sources);
    let (resolved, reported) = gathered.map_err(|error| scrubbed(error.into()))?;
    warnings.extend(scrubbed(reported));
    let group = resolved.groups.iter().find(|group| group.name == arguments.group);
    let group = group.ok_or_else(|| {
        let message = format!("there is no instance group '{}'", arguments.group);
        let error = Diagnostic::error(codes::CONVERT_NO_GROUP, message).in_document(&manifest.name);
        let names = resolved.groups.iter().map(|group| group.name.as_str());
        vec![error.suggest(&arguments.group, names)]
    })?;
    Ok(Gathered {
        group: stored_documents::resolved(group),
        links: stored_documents::providers(&resolved.providers),
    })
}

// === impl DeploymentArguments ===

impl DeploymentArguments {
    fn named(&self) -> Deployment {
        Deployment {
            name: self.deployment.clone(),
            namespace: self.namespace.clone(),
            cluster_domain: self.cluster_domain.clone(),
            operator_image: self.operator_image.clone(),
            registry: self.registry.clone(),
            spread: self.instances.into(),
        }
    }
}
