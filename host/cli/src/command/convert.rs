//! `host convert`: gathers inputs, runs the pipeline, and prints or writes the result.

use crate::cases::Recording;
use crate::codes;
use crate::command::defaults::{self, Defaults};
use crate::command::instances::InstancesArgument;
use crate::command::names::{domain, namespace};
use crate::command::native;
use crate::command::plugin_wit::stage;
use crate::command::releases;
use crate::command::variables::{self, Asked, Kept, Manifest, VariableArguments};
use crate::exit::{self, Failed};
use crate::files;
use crate::folder;
use crate::inputs;
use crate::memory;
use crate::output::{self, Color, Progress, Warnings};
use crate::plugin_arguments::{PermissionArguments, PluginArguments, Replacement};
use crate::plugins;
use crate::summary;
use boson_document::{Tree, go};
use boson_pipeline::blame::{self, Blame, Question};
use boson_pipeline::bundle::{Permissions, owner};
use boson_pipeline::convert::codes as convert_codes;
use boson_pipeline::convert::{self, Conversion, Inputs, Target};
use boson_pipeline::release::Release;
use boson_pipeline::report::Sources;
use boson_pipeline::scrub::Secrets;
use boson_pipeline::stage::{Deployment, External, LinksRequest, Named};
use boson_pipeline::variables::Options;
use boson_pipeline::yaml::Document;
use boson_pipeline::{Diagnostic, Severity, Stage, StageError, Stages, yaml};
use boson_sandbox::{Account, Plugins};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Namespace where none is given.
const NAMESPACE: &str = "default";
/// The part of the memory of this process that releases may take.
const RELEASES: u64 = 8;

const EXAMPLES: &str = "\
A boson.yaml beside the manifest contains options of every run: registry, name, namespace, cluster-domain, vars-store, and the lists
cloud-config, release, ops-file and vars-file. Options on the command line override its values and are appended to its lists. A message
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
    variables: VariableArguments,
    /// Add a release: its directory, tarball or image; set NAME if the path does not contain it
    #[arg(long = "release", value_name = "[NAME=]PATH")]
    releases: Vec<String>,
    /// Add a cloud config in BOSH's format, which defines the AZs, VM types, VM extensions and disk types of the
    /// manifest. Several are merged as the director merges them
    #[arg(long = "cloud-config", value_name = "FILE")]
    cloud_configs: Vec<PathBuf>,
    /// Add links from outside of the deployment: those that native Secrets and Services provide, with the Pods or
    /// EndpointSlices behind the Services, and those that other deployments share. A file as `kubectl get -o yaml` or
    /// `host convert` prints it, or a directory of such files; repeat it for several
    #[arg(long = "native", value_name = "FILE|DIR")]
    natives: Vec<PathBuf>,
    /// Name of the deployment [default: the manifest's name]
    #[arg(long, value_name = "DEPLOYMENT")]
    name: Option<String>,
    /// Kubernetes namespace [default: default]
    #[arg(short, long, value_name = "NAMESPACE", value_parser = namespace)]
    namespace: Option<String>,
    /// Domain of the cluster [default: cluster.local]
    #[arg(long, value_name = "DOMAIN", value_parser = domain)]
    cluster_domain: Option<String>,
    /// Registry and organization of the release images, instead of every release's url
    #[arg(long, value_name = "URL")]
    registry: Option<String>,
    /// Image with this program, for the init containers that render templates
    #[arg(long, value_name = "REFERENCE", default_value = concat!("ghcr.io/boson/host:", env!("CARGO_PKG_VERSION")), env = "BOSON_OPERATOR_IMAGE")]
    operator_image: String,
    /// Meaning of `instances` of an instance group
    #[arg(long, value_enum, default_value_t)]
    instances: InstancesArgument,
    /// Run jobs without bpm information by their monit files, like `quarks.monit: true` for one job
    #[arg(long)]
    monit: bool,
    /// Kind of objects to create
    #[arg(long, value_enum, default_value_t)]
    target: TargetArgument,
    /// Write each object to its own file in this directory instead of printing them; files of earlier runs for this
    /// deployment that are no longer needed are removed
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Record each call of a plugin in this new or empty directory: the input, and the reply to it. Values of variables
    /// are replaced by `<redacted>`, except short ones, host names, and what templates compute from them. Literal values
    /// in the manifest and settings of plugins are not replaced
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
    plugins: PluginArguments,
    #[command(flatten)]
    allowed: PermissionArguments,
}

// === impl ConvertArguments ===

impl ConvertArguments {
    /// Adds the options of boson.yaml: its lists before those of the command line, its other values if the command line
    /// does not set them.
    fn over(mut self, defaults: Defaults) -> Self {
        let variables = &mut self.variables;
        variables.ops.splice(0..0, defaults.ops);
        variables.vars_files.splice(0..0, defaults.vars_files);
        variables.vars_store = variables.vars_store.take().or(defaults.vars_store);
        self.cloud_configs.splice(0..0, defaults.cloud_configs);
        self.default_releases = defaults.releases;
        self.registry = self.registry.or(defaults.registry);
        self.name = self.name.or(defaults.name);
        self.namespace = self.namespace.or(defaults.namespace);
        self.cluster_domain = self.cluster_domain.or(defaults.cluster_domain);
        self
    }
}

/// Kind of objects to create.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum TargetArgument {
    /// StatefulSets, Jobs, Services, Secrets that any cluster accepts
    #[default]
    Kubernetes,
    /// Objects of the operator, as it would create them
    Quarks,
}

/// A finished conversion.
pub struct Done {
    /// Name of the deployment, as in names of objects.
    deployment: String,
    pub objects: Vec<Tree>,
    /// Values of variables.
    pub values: Tree,
    /// What messages must not quote.
    pub secrets: Secrets,
    /// Where the fields come from that the user asked about.
    blames: Blames,
}

type Blames = Result<Vec<Blame>, Box<Diagnostic>>;

/// What is observed during a conversion.
#[derive(Clone, Copy)]
enum Watching<'a> {
    Nothing,
    /// Each call is recorded.
    Calls(&'a Arc<Recording>),
    /// Where fields come from.
    Fields(&'a Question),
}

pub fn run(arguments: &ConvertArguments, color: Color) -> Result<(), Failed> {
    let mut sources = Sources::within(memory::of_documents(arguments.plugins.max_memory));
    let mut warnings = Vec::new();
    let arguments = match with_defaults(arguments, &mut sources, &mut warnings) {
        Ok(arguments) => arguments,
        Err(errors) => {
            output::show(&errors, &sources, color);
            return Err(Failed::Input);
        }
    };
    let arguments = &arguments;
    let begin = |directory: &PathBuf| Recording::begin(directory, &arguments.record_stage).map(Arc::new);
    let recording = arguments.record.as_ref().map(begin).transpose().map_err(|error| {
        output::show(&[*error], &sources, color);
        Failed::Input
    })?;
    let progress = Progress::start();
    let watching = recording.as_ref().map_or(Watching::Nothing, Watching::Calls);
    let converted = convert(arguments, watching, &mut sources, &mut warnings, &progress);
    drop(progress);
    // Also if the conversion failed: then the calls show why.
    let recorded = recording.map_or(Ok(String::new()), |recording| recording.end());
    let converted = match recorded {
        Ok(message) => {
            output::complain(&message);
            converted
        }
        Err(error) => Err(converted.err().into_iter().flatten().chain([*error]).collect()),
    };
    let converted = converted.and_then(|done| {
        if arguments.strict && warnings.iter().any(|one| one.severity == Severity::Warning) {
            Err(strict())
        } else {
            Ok(done)
        }
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
fn with_defaults(
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
            Ok(arguments.clone().over(found))
        }
    }
}

/// Converts with other plugins of a stage, and writes nothing.
///
/// # Errors
/// All errors, after they were shown.
pub fn with_plugin(
    arguments: &ConvertArguments,
    (stage, plugin): (Stage, Option<&Path>),
    kept: Kept,
    color: Color,
) -> Result<(Done, Sources), Failed> {
    let mut sources = Sources::within(memory::of_documents(arguments.plugins.max_memory));
    let mut warnings = Vec::new();
    let converted = with_defaults(arguments, &mut sources, &mut warnings).and_then(|mut arguments| {
        arguments.variables.kept = kept;
        arguments.plugins.replacements.retain(|one| one.stage != stage);
        arguments.plugins.replacements.extend(plugin.map(|file| Replacement {
            stage,
            name: None,
            file: file.to_path_buf(),
        }));
        convert(
            &arguments,
            Watching::Nothing,
            &mut sources,
            &mut warnings,
            &Progress::start(),
        )
    });
    match converted {
        Ok(done) => Ok((done, sources)),
        Err(diagnostics) => {
            output::show(&diagnostics, &sources, color);
            Err(exit::failed(&diagnostics, true))
        }
    }
}

/// Converts, writes nothing, and answers a question about the fields of the objects.
///
/// # Errors
/// All errors, after they were shown.
pub fn blame(
    arguments: &ConvertArguments,
    question: &Question,
    color: Color,
) -> Result<(Done, Vec<Blame>, Sources), Failed> {
    let mut sources = Sources::within(memory::of_documents(arguments.plugins.max_memory));
    let (mut warnings, progress) = (Vec::new(), Progress::start());
    let converted = with_defaults(arguments, &mut sources, &mut warnings).and_then(|mut arguments| {
        arguments.variables.kept = Kept::InMemory;
        let watching = Watching::Fields(question);
        convert(&arguments, watching, &mut sources, &mut warnings, &progress)
    });
    drop(progress);
    let answered = converted.and_then(|mut done| {
        let blames = std::mem::replace(&mut done.blames, Ok(Vec::new()));
        Ok((done, blames.map_err(|error| vec![*error])?))
    });
    match answered {
        Ok((done, blames)) => Ok((done, blames, sources)),
        Err(diagnostics) => {
            output::show(&diagnostics, &sources, color);
            Err(exit::failed(&diagnostics, !arguments.plugins.replacements.is_empty()))
        }
    }
}

fn strict() -> Vec<Diagnostic> {
    vec![Diagnostic::error(
        codes::CONVERT_STRICT,
        "the conversion has warnings, which --strict treats as errors",
    )]
}

fn convert(
    arguments: &ConvertArguments,
    watching: Watching<'_>,
    sources: &mut Sources,
    warnings: &mut Vec<Diagnostic>,
    progress: &Progress,
) -> Result<Done, Vec<Diagnostic>> {
    let permissions = arguments.allowed.permissions()?;
    progress.say("reading releases");
    // Everything that can be read is read before anything fails, so that all missing inputs are reported at once.
    let plugins = plugins::prepare(&arguments.plugins, &Stage::ALL, sources);
    let most = memory::or_found(arguments.plugins.max_memory) / RELEASES;
    let releases = releases::read(
        &arguments.releases,
        &arguments.default_releases,
        most,
        sources,
        progress,
    );
    let read = variables::read(&arguments.manifest, &arguments.variables, sources);
    let configs = cloud_configs(arguments, sources);
    let natives = native::read(&arguments.natives, sources);
    let documents = all(read, configs, natives);
    let ((plugins, reported), releases, (read, configs, natives)) = all(plugins, releases, documents)?;
    warnings.extend(reported);
    let plugins = match watching {
        Watching::Calls(recording) => plugins.with_recorder(recording.clone()),
        _ => plugins,
    };
    let fuel = match watching {
        // The calls that find the inputs of a field are no part of the conversion.
        Watching::Fields(_) => u64::MAX,
        _ => plugins.sandbox().limits().conversion_fuel,
    };
    let namespace = arguments.namespace.as_deref().unwrap_or(NAMESPACE);
    let plugins = plugins.with_account(Account::new(namespace, fuel));
    // Ops files may change the manifest's name: later calls get the final one.
    let plugins = match arguments.name.as_deref().or_else(|| read.own_name()) {
        Some(name) => plugins.with_deployment(name, namespace),
        None => plugins,
    };
    warnings.extend(releases.iter().flat_map(|release| release.warnings.clone()));
    let given = arguments.plugins.replacements.iter().chain(&arguments.plugins.settings);
    if given.into_iter().any(|one| one.stage == Stage::Render) {
        let what = "pods render their templates with the built-in plugin of their image, not with this plugin";
        warnings.push(
            Diagnostic::warning(codes::CONVERT_RENDER_IN_PODS, what)
                .help("install the plugin in the operator, which passes it to pods"),
        );
    }
    progress.say("applying ops files and variables");
    let mut document = read.merge(&plugins, &configs, sources, warnings)?;
    warnings.extend(convert::resolve_latest(read.name(), &mut document, &releases));
    if let Watching::Calls(recording) = watching {
        recording.publish(read.name(), &document);
    }
    let missing = convert::missing(
        Named {
            name: read.name(),
            tree: &document,
        },
        &releases,
    );
    if !missing.is_empty() {
        return Err(missing);
    }
    let links = |deployment: &Deployment, manifest: &Tree| {
        let found = natives.links(deployment, manifest)?;
        if let Watching::Calls(recording) = watching {
            recording.hide(found.0.secrets());
        }
        Ok::<_, Vec<Diagnostic>>(found)
    };
    let addresses = |manifest: Named<'_>| {
        let deployment = deployment(arguments, manifest).map_err(StageError::Input)?;
        let (external, _) = links(&deployment, manifest.tree).map_err(StageError::Input)?;
        plugins.addresses(LinksRequest {
            manifest,
            deployment: &deployment,
            jobs: &convert::specs(manifest, &releases),
            external: &external,
        })
    };
    let check = |manifest: Named<'_>| {
        let deployment = deployment(arguments, manifest).map_err(StageError::Input)?;
        let (external, _) = links(&deployment, manifest.tree).map_err(StageError::Input)?;
        convert::check(&plugins, &deployment, manifest, &releases, &external)
    };
    let mut manifest = read.generating().interpolate(
        &plugins,
        &document,
        &Options::convert(),
        &Asked {
            addresses: Some(&addresses),
            check: Some(&check),
        },
        sources,
        warnings,
    )?;
    let named = Named {
        name: &manifest.name,
        tree: &manifest.document,
    };
    let deployment = deployment(arguments, named)?;
    let plugins = plugins.with_deployment(&deployment.name, &deployment.namespace);
    let (external, reported) = links(&deployment, &manifest.document)?;
    warnings.extend(reported);
    manifest.hide(external.secrets());
    let (conversion, blames) = pipeline(
        (arguments, &permissions, watching),
        &plugins,
        &deployment,
        (&document, &manifest),
        (&releases, &external),
        sources,
        progress,
    );
    conversion
        .rendered
        .into_iter()
        .for_each(|document| sources.add_document(document, true));
    let mut diagnostics = manifest.scrub(conversion.diagnostics, sources);
    match conversion.result {
        Ok(objects) => {
            warnings.append(&mut diagnostics);
            let (values, secrets) = manifest.into_values();
            Ok(Done {
                deployment: owner(&deployment),
                objects,
                values,
                secrets,
                blames,
            })
        }
        Err(convert::Failed) => Err(diagnostics),
    }
}

/// All three, or the errors of those that failed.
fn all<A, B, C>(
    a: Result<A, Vec<Diagnostic>>,
    b: Result<B, Vec<Diagnostic>>,
    c: Result<C, Vec<Diagnostic>>,
) -> Result<(A, B, C), Vec<Diagnostic>> {
    match (a, b, c) {
        (Ok(a), Ok(b), Ok(c)) => Ok((a, b, c)),
        (a, b, c) => Err([a.err(), b.err(), c.err()].into_iter().flatten().flatten().collect()),
    }
}

/// The cloud configs, all that cannot be read at once.
fn cloud_configs(arguments: &ConvertArguments, sources: &mut Sources) -> Result<Vec<Document>, Vec<Diagnostic>> {
    let (mut read, mut errors) = (Vec::new(), Vec::new());
    for path in &arguments.cloud_configs {
        match inputs::yaml_file(&files::expanded(path), sources) {
            Ok(document) => read.push(document),
            Err(error) => errors.push(*error),
        }
    }
    if errors.is_empty() { Ok(read) } else { Err(errors) }
}

fn deployment(arguments: &ConvertArguments, manifest: Named<'_>) -> Result<Deployment, Vec<Diagnostic>> {
    if manifest.tree.as_map().is_none() {
        let message = format!(
            "the manifest is not a map: it is of the type {}",
            go::tag(manifest.tree)
        );
        return Err(vec![
            Diagnostic::error(convert_codes::CONVERT_NO_MAP, message)
                .in_document(manifest.name)
                .at("")
                .help("check the file: a manifest has keys such as `name:` and `instance_groups:`"),
        ]);
    }
    let name = arguments
        .name
        .clone()
        .or_else(|| manifest.tree.str("name").map(str::to_string));
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        return Err(vec![
            Diagnostic::error(convert_codes::CONVERT_NO_NAME, "the deployment has no name")
                .in_document(manifest.name)
                .at("")
                .help("set `name:` in the manifest, or use --name"),
        ]);
    };
    Ok(Deployment {
        name,
        namespace: arguments.namespace.clone().unwrap_or_else(|| NAMESPACE.into()),
        cluster_domain: arguments
            .cluster_domain
            .clone()
            .unwrap_or_else(|| "cluster.local".into()),
        operator_image: arguments.operator_image.clone(),
        registry: arguments.registry.clone(),
        spread: arguments.instances.into(),
        monit: arguments.monit,
    })
}

fn pipeline(
    (arguments, permissions, watching): (&ConvertArguments, &Permissions, Watching<'_>),
    plugins: &Plugins,
    deployment: &Deployment,
    (without_values, manifest): (&Tree, &Manifest),
    (releases, external): (&[Release], &External),
    sources: &Sources,
    progress: &Progress,
) -> (Conversion, Blames) {
    let target = match arguments.target {
        TargetArgument::Kubernetes => Target::Kubernetes,
        TargetArgument::Quarks => Target::Quarks,
    };
    let inputs = Inputs {
        deployment,
        manifest: Named {
            name: &manifest.name,
            tree: &manifest.document,
        },
        without_values,
        variables: &manifest.variables,
        values: &manifest.values,
        releases,
        external,
        filter: manifest.filter(sources),
        target,
        permissions,
        threads: match arguments.record {
            // Calls are numbered in their order.
            Some(_) => 1,
            None => std::thread::available_parallelism().map_or(1, usize::from),
        },
    };
    let say = |what: &str| progress.say(what);
    match watching {
        Watching::Fields(question) => blame::convert(plugins, &inputs, question, &say),
        _ => (convert::convert(plugins, &inputs, &say), Ok(Vec::new())),
    }
}

fn deliver(arguments: &ConvertArguments, done: &Done, color: Color) -> Result<(), Failed> {
    let Some(directory) = &arguments.out else {
        return Ok(output::print(&yaml::write_manifest(&done.objects))?);
    };
    match folder::write(directory, &done.deployment, &done.objects) {
        Ok(outcome) => {
            let removed = match outcome.removed {
                0 => String::new(),
                count => format!(", and removed {count} that an earlier run wrote"),
            };
            let (written, directory) = (outcome.written, directory.display());
            let table = summary::table(&done.objects);
            output::complain(&format!("wrote {written} files to {directory}{removed}\n\n{table}"));
            Ok(())
        }
        Err(error) => {
            let unwritable = Diagnostic::error(codes::OUTPUT_UNWRITABLE, format!("{error:#}")).help("check --out");
            output::show(&[unwritable], &Sources::default(), color);
            Err(Failed::Input)
        }
    }
}
