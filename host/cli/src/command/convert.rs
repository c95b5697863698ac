//! `host convert`: its arguments, and what becomes of the result. [`steps`] converts.

mod dry_run;
mod steps;

use crate::codes;
use crate::command::inputs::configs::ConfigArguments;
use crate::command::inputs::defaults::{self, Defaults};
use crate::command::inputs::instances::InstancesArgument;
use crate::command::inputs::names::{domain, namespace};
use crate::command::inputs::variables::VariableArguments;
use crate::summary;
use boson_commands::exit::{self, ExitError};
use boson_commands::files;
use boson_commands::folder;
use boson_commands::memory;
use boson_commands::output::{self, Color, Progress, Warnings};
use boson_pipeline::convert::Target;
use boson_pipeline::report::Sources;
use boson_pipeline::{Diagnostic, Severity, Stage, yaml};
use boson_plugin_tools::cases::Recording;
use boson_plugin_tools::command::wit::stage;
use boson_plugin_tools::plugin_arguments::{PermissionArguments, PluginArguments};
use boson_plugin_tools::printed::Printed;
use clap::{Args, FromArgMatches, ValueEnum};
pub use dry_run::{dry_run, merged};
use std::path::PathBuf;
use std::sync::Arc;
use steps::convert;
pub use steps::{Done, Watching};

const EXAMPLES: &str = "\
A boson.yaml beside the manifest contains options of every run: registry, name, namespace, cluster-domain, vars-store, and the lists \
cloud-config, runtime-config, release, ops-file and vars-file. Options on the command line override its values and are appended to its lists. A message \
reports that the file is used.

A release is a source directory, a tarball, an image (OCI layout), or a directory with its jobs-src.

Examples:
  host convert manifest.yml --release ./nats-release --vars-store vars.yml > nats.yaml
  host convert manifest.yml -o ops/scale.yml -v system_domain=example.com --release nats=nats-release-56.tgz --target quarks
  host convert manifest.yml --release ./nats-release --namespace messaging --out ./rendered && kubectl apply -f ./rendered";

/// Convert a BOSH deployment to Kubernetes resources
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ConvertArguments {
    /// The manifest; `-` for standard input
    pub manifest: PathBuf,
    #[command(flatten)]
    pub variables: VariableArguments,
    /// Add a release: its directory, tarball or image; set NAME if the path does not contain it
    #[arg(long = "release", value_name = "[NAME=]PATH")]
    pub releases: Vec<String>,
    #[command(flatten)]
    pub configs: ConfigArguments,
    /// Add links from outside of the deployment: those that native Secrets and Services provide, with the Pods or
    /// EndpointSlices behind the Services, and those that other deployments share. A file as `kubectl get -o yaml` or
    /// this command prints it, or a directory of such files; repeat it for several
    #[arg(long = "native", value_name = "FILE|DIR")]
    natives: Vec<PathBuf>,
    /// Name of the deployment [default: the manifest's name]
    #[arg(long, value_name = "DEPLOYMENT")]
    pub name: Option<String>,
    /// Kubernetes namespace [default: default]
    #[arg(short, long, value_name = "NAMESPACE", value_parser = namespace)]
    pub namespace: Option<String>,
    /// Domain of the cluster [default: cluster.local]
    #[arg(long, value_name = "DOMAIN", value_parser = domain)]
    cluster_domain: Option<String>,
    /// Registry and organization of the release images, instead of every release's url
    #[arg(long, value_name = "URL")]
    pub registry: Option<String>,
    /// Image with this program, for the init containers that render templates
    #[arg(long, value_name = "REFERENCE", default_value = concat!("ghcr.io/boson/host:", env!("CARGO_PKG_VERSION")), env = "BOSON_OPERATOR_IMAGE")]
    operator_image: String,
    /// Meaning of `instances` of an instance group
    #[arg(long, value_enum, default_value_t)]
    pub instances: InstancesArgument,
    /// Run jobs without bpm information by their monit files, like `quarks.monit: true` for one job
    #[arg(long)]
    pub monit: bool,
    /// Kind of objects to create
    #[arg(long, value_enum, default_value_t)]
    pub target: TargetArgument,
    /// Write each object to its own file in this directory instead of printing them; files of earlier runs for this
    /// deployment that are no longer needed are removed
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Record each call of a plugin in this new or empty directory: the input, and the reply to it. Values of variables
    /// are replaced by `<redacted>`, except short ones, host names, and what templates compute from them. Literal
    /// values in the manifest and settings of plugins are not replaced
    #[arg(long, value_name = "DIR", help_heading = "Plugins")]
    record: Option<PathBuf>,
    /// Record only calls of this stage; repeat it for several
    #[arg(long, value_name = "STAGE", value_parser = stage, requires = "record", help_heading = "Plugins")]
    record_stage: Vec<Stage>,
    /// Treat warnings as errors
    #[arg(long)]
    strict: bool,
    /// How to show warnings
    #[arg(long, value_enum, value_name = "WHICH", default_value_t)]
    warnings: Warnings,
    /// Do not read the boson.yaml beside the manifest
    #[arg(long)]
    no_config: bool,
    /// Releases in boson.yaml; `--release` overrides those with the same name.
    #[arg(skip)]
    default_releases: Vec<String>,
    #[command(flatten)]
    pub plugins: PluginArguments,
    #[command(flatten)]
    allowed: PermissionArguments,
}

// === impl ConvertArguments ===

impl ConvertArguments {
    /// The options without any, for documents that were read before.
    ///
    /// # Errors
    /// An environment variable has a wrong value.
    pub fn of_nothing() -> Result<Self, clap::Error> {
        let command = Self::augment_args(clap::Command::default());
        Self::from_arg_matches(&command.try_get_matches_from(["convert", "-"])?)
    }

    /// Whether a release is given, also by boson.yaml.
    pub fn has_releases(&self) -> bool {
        !self.releases.is_empty() || !self.default_releases.is_empty()
    }

    /// Adds the options of boson.yaml: its lists before those of the command line, its other values if the command line
    /// does not set them.
    fn merge_defaults(mut self, defaults: Defaults) -> Self {
        let variables = &mut self.variables;
        variables.ops.splice(0..0, defaults.ops);
        variables.vars_files.splice(0..0, defaults.vars_files);
        variables.vars_store = variables.vars_store.take().or(defaults.vars_store);
        self.configs.cloud.splice(0..0, defaults.cloud_configs);
        self.configs.runtime.splice(0..0, defaults.runtime_configs);
        self.default_releases = defaults.releases;
        self.registry = self.registry.or(defaults.registry);
        self.name = self.name.or(defaults.name);
        self.namespace = self.namespace.or(defaults.namespace);
        self.cluster_domain = self.cluster_domain.or(defaults.cluster_domain);
        // So that nothing is added twice.
        self.no_config = true;
        self
    }
}

/// Kind of objects to create.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum TargetArgument {
    /// StatefulSets, Jobs, Services, Secrets that any cluster accepts
    #[default]
    Kubernetes,
    /// Objects of the operator, as it would create them
    Quarks,
}

impl From<TargetArgument> for Target {
    fn from(target: TargetArgument) -> Self {
        match target {
            TargetArgument::Kubernetes => Self::Kubernetes,
            TargetArgument::Quarks => Self::Quarks,
        }
    }
}

pub fn run(arguments: &ConvertArguments, color: Color) -> Result<(), ExitError> {
    let mut sources = Sources::within(memory::of_documents(arguments.plugins.max_memory));
    let mut warnings = Vec::new();
    let mut arguments = with_defaults(arguments, &mut sources, &mut warnings)
        .map_err(|errors| exit::refused(&errors, &sources, color))?;
    arguments.plugins.printed = tracing::enabled!(tracing::Level::INFO).then(Printed::default);
    let arguments = &arguments;
    let begin = |directory: &PathBuf| Recording::begin(directory, &arguments.record_stage).map(Arc::new);
    let recording = arguments.record.as_ref().map(begin).transpose();
    let recording = recording.map_err(|error| exit::refused(&[error], &sources, color))?;
    let progress = Progress::start();
    let watching = recording.as_ref().map_or(Watching::Nothing, Watching::Calls);
    let converted = convert(arguments, watching, &mut sources, &mut warnings, &progress);
    drop(progress);
    // Also if the conversion failed: then the calls show why.
    let recorded = recording.map_or(Ok(String::new()), |recording| recording.end());
    let converted = match recorded {
        Ok(message) => {
            output::eprint(&message);
            converted
        }
        Err(error) => Err(converted.err().into_iter().flatten().chain([error]).collect()),
    };
    let converted = converted.and_then(|done| {
        if arguments.strict && warnings.iter().any(|one| one.severity == Severity::Warning) {
            let what = "the conversion has warnings, which --strict treats as errors";
            return Err(vec![Diagnostic::error(codes::CONVERT_STRICT, what)]);
        }
        Ok(done)
    });
    match converted {
        Ok(done) => {
            output::show_as(&warnings, &sources, color, arguments.warnings);
            deliver(arguments, &done, color)
        }
        Err(mut diagnostics) => {
            let failed = exit::failed(&diagnostics, !arguments.plugins.replacements.is_empty());
            diagnostics.extend(warnings);
            output::show_as(&diagnostics, &sources, color, arguments.warnings);
            Err(failed)
        }
    }
}

/// The arguments with those of the boson.yaml beside the manifest, and a note that one is used.
pub fn with_defaults(
    arguments: &ConvertArguments,
    sources: &mut Sources,
    notes: &mut Vec<Diagnostic>,
) -> Result<ConvertArguments, Vec<Diagnostic>> {
    let beside = defaults::beside(&files::expanded(&arguments.manifest));
    match beside.filter(|_| !arguments.no_config) {
        None => Ok(arguments.clone()),
        Some(path) => {
            let (found, note) = defaults::read(&path, sources)?;
            notes.push(note);
            Ok(arguments.clone().merge_defaults(found))
        }
    }
}

fn deliver(arguments: &ConvertArguments, done: &Done, color: Color) -> Result<(), ExitError> {
    let Some(directory) = &arguments.out else {
        return Ok(output::print(&yaml::write_manifest(&done.objects))?);
    };
    let removed = folder::write(directory, &done.deployment, &done.objects).map_err(|error| {
        let unwritable = files::unwritable(&error).help("check --out");
        exit::fail(unwritable, color)
    })?;
    let removed = match removed {
        0 => String::new(),
        count => format!(", and removed {count} that an earlier run wrote"),
    };
    let (written, directory) = (done.objects.len(), directory.display());
    let table = summary::table(&done.objects);
    output::eprint(&format!("wrote {written} files to {directory}{removed}\n\n{table}"));
    Ok(())
}
