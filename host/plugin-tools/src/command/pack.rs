//! `host plugin pack`: the ConfigMaps that give a component to the operator. It is checked here first, as the operator
//! will.

use crate::cases::{self, folders};
use crate::codes;
use crate::command::wit::stage;
use crate::core_module;
use crate::plugins;
use crate::unpack;
use anyhow::Context;
use boson_commands::exit::{self, ExitError};
use boson_commands::inputs;
use boson_commands::output::{self, Color};
use boson_document::{Tree, json};
use boson_pipeline::report::Sources;
use boson_pipeline::{Diagnostic, Stage, packed, yaml};
use boson_plugins::{Packing, check_document, pack, parts};
use boson_sandbox::{Interfaces, Limits, Plugin, Sandbox};
use clap::Args;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::path::{Path, PathBuf};

/// Suffix of the name of a shadow plugin's ConfigMap.
const SHADOW_SUFFIX: &str = "-shadow";
/// Suffix of the name of a canary's ConfigMap.
const CANARY_SUFFIX: &str = "-canary";
/// The largest signature and attestation: they share the ConfigMap with the first part of the component.
const MAX_SIGNATURE_BYTES: usize = 48 << 10;

/// Options of `host plugin pack`.
#[derive(Args, Debug)]
#[command(
    after_help = "Example: host plugin pack resources my-labels.wasm --deployment nats | kubectl apply --server-side -f -\n\n\
                        Use --server-side: plain `kubectl apply` would copy the whole content into an annotation, which is too small."
)]
pub struct PackArguments {
    /// Stage: ops, variables, links, render, bpm, resources or checks
    #[arg(value_parser = stage)]
    stage: Stage,
    /// The component, or the core module to make it of
    component: PathBuf,
    /// Name of the plugin and of its ConfigMap [default: the name in its description]
    #[arg(long)]
    name: Option<String>,
    /// Namespace of the ConfigMaps
    #[arg(long, short)]
    namespace: Option<String>,
    /// Settings for all deployments: a YAML or JSON file
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Position among the plugins of `resources`, or among the wrappers of a stage: lower numbers run first, or are
    /// nearer to the rule
    #[arg(long, allow_negative_numbers = true)]
    order: Option<i64>,
    /// Let errors of this plugin of `checks` fail conversions; otherwise they are warnings
    #[arg(long)]
    enforce: bool,
    /// What happens if this plugin of `checks` fails itself: `fail` the conversion, or `skip` the check with a warning
    #[arg(long, value_name = "WHAT", value_parser = ["fail", "skip"])]
    on_failure: Option<String>,
    /// Run the plugin beside the one of its name, without effect, and report how its replies differ
    #[arg(long)]
    shadow: bool,
    /// Use this version for PERCENT % of the deployments in place of the plugin of its name, and stop that if
    /// conversions fail because of it
    #[arg(long, value_name = "PERCENT", conflicts_with = "shadow", value_parser = clap::value_parser!(u8).range(..=100))]
    canary: Option<u8>,
    /// Use this version for the deployment with this name, as with `--canary`; repeat it for several
    #[arg(long, value_name = "NAME", conflicts_with = "shadow")]
    canary_deployment: Vec<String>,
    /// Stop the canary if conversions of more than PERCENT % of its deployments fail because of it [default: 0]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(..=100))]
    canary_max_failed: Option<u8>,
    /// Do not stop the canary before so many deployments were converted with it [default: 1]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    canary_min_deployments: Option<u16>,
    /// Apply the plugin to deployments in this namespace only; repeat it for several
    #[arg(long = "in-namespace", value_name = "NAMESPACE")]
    namespaces: Vec<String>,
    /// Apply the plugin to the deployment with this name only; repeat it for several
    #[arg(long = "deployment", value_name = "NAME")]
    deployments: Vec<String>,
    /// Apply the plugin to the instance group with this name only; repeat it for several. For wrappers of the stages
    /// `render` and `bpm`
    #[arg(long = "instance-group", value_name = "NAME")]
    instance_groups: Vec<String>,
    /// Pack the cases of this directory that are for the stage: the operator uses a new version only if it passes them
    #[arg(long, value_name = "DIR")]
    cases: Option<PathBuf>,
    /// Do not compress the component
    #[arg(long)]
    uncompressed: bool,
    /// Do not put the component into the ConfigMap, but the name of its image, which was pushed before:
    /// `HOST/PATH[:TAG][@sha256:DIGEST]`
    #[arg(long, value_name = "REFERENCE", conflicts_with = "uncompressed")]
    image: Option<String>,
    /// Secret in the namespace of the ConfigMap that the operator pulls the image with; repeat it for several
    #[arg(long = "pull-secret", value_name = "NAME", requires = "image")]
    pull_secrets: Vec<String>,
    /// Add this signature of the component: a bundle of `cosign sign-blob`, or a signature in base64
    #[arg(long, value_name = "FILE")]
    signature: Option<PathBuf>,
    /// Add this attestation of the component's build: a bundle of `cosign attest-blob`, or its envelope
    #[arg(long, value_name = "FILE")]
    attestation: Option<PathBuf>,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub fn run(arguments: &PackArguments, color: Color) -> Result<(), ExitError> {
    let mut sources = Sources::default();
    let fail = |diagnostics: Vec<Diagnostic>, sources: &Sources| exit::refused(&diagnostics, sources, color);
    let settings = arguments.settings.as_deref();
    let settings = settings.map(|file| inputs::yaml_file(file, &mut sources));
    let settings = settings.transpose().map_err(|error| fail(vec![error], &sources))?;
    let bytes = component(&arguments.component).map_err(|error| fail(vec![error], &sources))?;
    let is_signed = arguments.signature.is_some() || arguments.attestation.is_some();
    if is_signed && core_module::is_at(&arguments.component) {
        return Err(fail(vec![signed_module(&arguments.component)], &sources));
    }
    let Accepted {
        name: described_name,
        wraps,
        cases,
    } = check_component(arguments, &bytes, settings.as_ref()).map_err(|errors| fail(errors, &sources))?;
    if let Some(what) = option_error(arguments, wraps) {
        return Err(fail(vec![Diagnostic::error(codes::PLUGIN_OPTION, what)], &sources));
    }
    let name = arguments.name.clone().unwrap_or(described_name);
    let is_inline = arguments.image.is_none();
    let compressed =
        (is_inline && !arguments.uncompressed).then(|| compress_to_vec(bytes.as_slice(), CompressionLevel::Fastest));
    let packed = compressed.as_ref().unwrap_or(&bytes);
    if let Some(error) = too_large(bytes.len(), is_inline.then_some(packed.len())) {
        return Err(fail(vec![error], &sources));
    }
    let digest = boson_oci::digest(&bytes).to_string();
    let document = yaml::write(&document(
        arguments,
        &name,
        &digest,
        wraps,
        settings.map(|settings| settings.tree),
        parts(packed.len(), cases.as_deref()),
    ));
    check_document(&document, arguments.stage).map_err(|errors| fail(errors, &sources))?;
    let signature = text_of(arguments.signature.as_deref())?;
    let attestation = text_of(arguments.attestation.as_deref())?;
    let maps = pack(Packing {
        name: &config_map_name(arguments, &name),
        namespace: arguments.namespace.as_deref(),
        stage: arguments.stage,
        bytes: is_inline.then_some(packed),
        compressed: compressed.is_some(),
        document,
        signature,
        attestation,
        cases,
    });
    let maps: Result<_, _> = maps.iter().map(serde_json::to_string).collect();
    Ok(write(arguments.out.as_deref(), maps.context("a ConfigMap is JSON")?)?)
}

/// A version on trial is beside the ConfigMaps of the plugin in use.
fn config_map_name(arguments: &PackArguments, name: &str) -> String {
    match canary(arguments) {
        _ if arguments.shadow => format!("{name}{SHADOW_SUFFIX}"),
        Some(_) => format!("{name}{CANARY_SUFFIX}"),
        None => name.to_string(),
    }
}

/// The error for the signature of a file that is not packed itself.
pub fn signed_module(path: &Path) -> Diagnostic {
    let what = format!(
        "'{}' is a core module: its signature is not that of the component made of it",
        path.display()
    );
    let help = "make the component with `host plugin component`, and sign and pack that file";
    Diagnostic::error(codes::PLUGIN_CORE_MODULE, what).help(help)
}

/// Writes the ConfigMaps, which are JSON, as a user applies them.
fn write(out: Option<&Path>, maps: Vec<String>) -> anyhow::Result<()> {
    let tree = |map: String| json::parse(&map).map_err(|error| anyhow::anyhow!("a ConfigMap is JSON: {error}"));
    let trees = maps.into_iter().map(tree).collect::<anyhow::Result<Vec<Tree>>>()?;
    let text = yaml::write_manifest(&trees);
    match out {
        Some(file) => std::fs::write(file, text).with_context(|| format!("cannot write '{}'", file.display())),
        None => Ok(output::print(&text)?),
    }
}

/// The error for a component of this size; `packed`: its size in ConfigMaps, unless it is in an image.
fn too_large(whole: usize, packed: Option<usize>) -> Option<Diagnostic> {
    let is_too_large =
        whole > packed::MAX_COMPONENT_BYTES || packed.is_some_and(|packed| packed > packed::MAX_PACKED_BYTES);
    is_too_large.then(|| {
        let (whole, packed) = (packed::MAX_COMPONENT_BYTES >> 20, packed::MAX_PACKED_BYTES >> 20);
        let what = format!("the component has more than {whole} MiB, or more than {packed} MiB packed");
        Diagnostic::error(boson_plugins::codes::PLUGIN_TOO_LARGE, what)
            .help("build it without debug information, or leave out packages that it does not use")
    })
}

/// What is wrong with an option that is not for this plugin.
fn option_error(arguments: &PackArguments, wraps: bool) -> Option<&'static str> {
    let stage = arguments.stage;
    let is_check = stage == Stage::Checks;
    let selects_groups = !arguments.instance_groups.is_empty();
    let may_select_groups = wraps && stage.is_by_group();
    let options = [
        (
            arguments.order.is_some() && !wraps && stage != Stage::Resources,
            "--order is for plugins of the stage 'resources' and for wrappers",
        ),
        (
            arguments.enforce && !is_check,
            "--enforce is for plugins of the stage 'checks'",
        ),
        (
            arguments.on_failure.as_deref() == Some("skip") && !is_check,
            "--on-failure skip is for plugins of the stage 'checks': without another plugin, the objects would differ",
        ),
        (
            (arguments.canary_max_failed.is_some() || arguments.canary_min_deployments.is_some())
                && canary(arguments).is_none(),
            "--canary-max-failed and --canary-min-deployments need --canary or --canary-deployment",
        ),
        (
            selects_groups && !may_select_groups,
            "--instance-group is for wrappers of the stages 'render' and 'bpm'",
        ),
    ];
    options
        .into_iter()
        .find_map(|(is_wrong, what)| is_wrong.then_some(what))
}

/// The text of a file with a signature or an attestation.
///
/// # Errors
/// It cannot be read, or is too large.
pub fn text_of(file: Option<&Path>) -> anyhow::Result<Option<String>> {
    let Some(file) = file else { return Ok(None) };
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read '{}'", file.display()))?;
    let (name, most) = (file.display(), MAX_SIGNATURE_BYTES >> 10);
    anyhow::ensure!(text.len() <= MAX_SIGNATURE_BYTES, "'{name}' has more than {most} KiB");
    Ok(Some(text.trim().to_string()))
}

/// The bytes of a component.
///
/// # Errors
/// It cannot be read, or no component can be made of it.
pub fn component(path: &Path) -> Result<Vec<u8>, Diagnostic> {
    let bytes = match plugins::content(path)? {
        Some(component) => component,
        None => unpack::bounded(path, packed::MAX_COMPONENT_BYTES).map_err(|error| {
            let message = format!("'{}' cannot be read: {error}", path.display());
            Diagnostic::error(codes::PLUGIN_PARTS_UNREADABLE, message).help("check the path")
        })?,
    };
    // No operator would load it.
    too_large(bytes.len(), None).map_or(Ok(bytes), Err)
}

/// A component that can be used as a plugin.
pub struct Usable {
    pub interfaces: Interfaces,
    /// The name and the version that it gives itself.
    pub name: String,
    pub version: String,
}

/// Loads a component.
///
/// # Errors
/// It is refused.
pub fn load(path: &Path, bytes: &[u8]) -> Result<Usable, Diagnostic> {
    let sandbox = plugins::sandbox(Limits::default())?;
    let plugin = plugins::of_content(&sandbox, path, bytes)?;
    let description = plugin.describe(&sandbox)?;
    Ok(Usable {
        interfaces: sandbox.interfaces(&plugin),
        name: description.name.clone(),
        version: description.version.clone(),
    })
}

/// A component that the operator will accept.
struct Accepted {
    /// The name that it gives itself.
    name: String,
    /// Whether it is a wrapper.
    wraps: bool,
    /// The file with its cases, which it passes.
    cases: Option<Vec<u8>>,
}

/// Checks the component, its settings and its cases.
fn check_component(
    arguments: &PackArguments,
    bytes: &[u8],
    settings: Option<&yaml::Document>,
) -> Result<Accepted, Vec<Diagnostic>> {
    let sandbox = plugins::sandbox(Limits::default())?;
    let plugin = plugins::of_content(&sandbox, &arguments.component, bytes)?;
    if plugin.stage != arguments.stage {
        let what = format!(
            "'{}' is a plugin of the stage '{}', not '{}'",
            arguments.component.display(),
            plugin.stage,
            arguments.stage
        );
        return Err(vec![Diagnostic::error(codes::PLUGIN_OTHER_STAGE, what)]);
    }
    let errors = plugins::check_settings(&plugin, &sandbox, settings, plugins::SETTINGS_FILE);
    if !errors.is_empty() {
        return Err(errors);
    }
    let name = plugin.describe(&sandbox)?.name.clone();
    let wraps = plugin.wraps;
    let cases = match &arguments.cases {
        Some(directory) => Some(pack_passed_cases(
            directory,
            &sandbox,
            plugins::configured_alone(plugin, &sandbox, settings)?,
        )?),
        None => None,
    };
    Ok(Accepted { name, wraps, cases })
}

/// The packed cases of a directory, which the plugin passes.
fn pack_passed_cases(directory: &Path, sandbox: &Sandbox, plugin: Plugin) -> Result<Vec<u8>, Vec<Diagnostic>> {
    let stored = folders::read_all(directory)?.into_iter();
    let cases = cases::packed::of_stage(stored.map(|stored| stored.case).collect(), plugin.stage);
    let packed = cases::packed::pack(&cases)?;
    cases::pass(sandbox, &plugin, &cases, &cases::account(""))?;
    Ok(packed)
}

fn document(
    arguments: &PackArguments,
    name: &str,
    digest: &str,
    wraps: bool,
    settings: Option<Tree>,
    parts: usize,
) -> Tree {
    let stage = arguments.stage;
    let role = if wraps { "wraps" } else { "replaces" };
    let selector = Tree::object()
        .with_some("namespaces", names_if_any(&arguments.namespaces))
        .with_some("deployments", names_if_any(&arguments.deployments))
        .with_some("instanceGroups", names_if_any(&arguments.instance_groups));
    let document = Tree::object()
        .with("name", name)
        .with("digest", digest)
        .with_some(role, stage.has_rule().then(|| stage.name()))
        .with_some("order", arguments.order)
        .with_some("enforce", arguments.enforce.then_some(true))
        .with_some("onFailure", arguments.on_failure.as_deref())
        .with_some("shadow", arguments.shadow.then_some(true))
        .with_some("canary", canary(arguments))
        .with_some("settings", settings)
        .with_some("selector", non_empty(selector));
    let Some(image) = &arguments.image else {
        return document.with("parts", i64::try_from(parts).unwrap_or(i64::MAX));
    };
    let secret = |name: &String| Tree::object().with("name", name.as_str());
    let secrets: Vec<Tree> = arguments.pull_secrets.iter().map(secret).collect();
    document
        .with("image", image.as_str())
        .with_some("imagePullSecrets", (!secrets.is_empty()).then_some(secrets))
}

/// Which deployments use a canary, and when it is stopped; none: it is no canary.
fn canary(arguments: &PackArguments) -> Option<Tree> {
    let deployments = Tree::object()
        .with_some("percent", arguments.canary.map(i64::from))
        .with_some("deployments", names_if_any(&arguments.canary_deployment));
    let canary = non_empty(deployments)?
        .with_some("maxFailedPercent", arguments.canary_max_failed.map(i64::from))
        .with_some("minDeployments", arguments.canary_min_deployments.map(i64::from));
    Some(canary)
}

fn names_if_any(names: &[String]) -> Option<Vec<String>> {
    (!names.is_empty()).then(|| names.to_vec())
}

/// An object that has members.
fn non_empty(tree: Tree) -> Option<Tree> {
    let has_members = tree.as_object().is_some_and(|members| !members.is_empty());
    has_members.then_some(tree)
}
