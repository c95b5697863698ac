//! The steps of `host convert`: reads the inputs, calls the steps of the pipeline in their order, and holds the results
//! in memory.

use super::ConvertArguments;
use crate::codes;
use crate::command::inputs::configs::Configs;
use crate::command::inputs::native;
use crate::command::inputs::releases;
use crate::command::inputs::variables::{self, Asked, Manifest, Read};
use boson_commands::memory;
use boson_commands::output::Progress;
use boson_document::{Tree, go};
use boson_pipeline::blame::{self, Blame, Question};
use boson_pipeline::bundle::{Permissions, owner};
use boson_pipeline::convert::codes as convert_codes;
use boson_pipeline::convert::instance_files::GroupFiles;
use boson_pipeline::convert::{self, Conversion, GatherInputs, Inputs};
use boson_pipeline::release::Release;
use boson_pipeline::report::Sources;
use boson_pipeline::scrub::{Filter, Secrets};
use boson_pipeline::stage::{Addresses, Deployment, External, LinksRequest, Named, Reply};
use boson_pipeline::variables::Options;
use boson_pipeline::yaml::Document;
use boson_pipeline::{Diagnostic, Stage, StageError, Stages, external};
use boson_plugin_tools::cases::Recording;
use boson_plugin_tools::plugin_groups;
use boson_plugin_tools::plugins;
use boson_sandbox::{Account, Plugins};
use std::sync::Arc;

/// Namespace where none is given.
const DEFAULT_NAMESPACE: &str = "default";
/// The part of the memory of this process that releases may take.
const RELEASES_DIVISOR: u64 = 8;

pub struct Done {
    /// Name of the deployment, as in names of objects.
    pub deployment: String,
    pub objects: Vec<Tree>,
    /// What the instances of each group render.
    pub files: Vec<GroupFiles>,
    /// The manifest with its ops files, cloud configs and runtime configs, and with its placeholders.
    pub manifest: Tree,
    pub values: Tree,
    /// What messages must not quote.
    pub secrets: Secrets,
    /// Where the fields come from that the user asked about.
    pub blames: Vec<Blame>,
}

/// What is observed during a conversion.
#[derive(Clone, Copy)]
pub enum Watching<'a> {
    Nothing,
    Calls(&'a Arc<Recording>),
    /// Where fields come from.
    Fields(&'a Question),
}

/// What all steps need.
struct Context<'a> {
    arguments: &'a ConvertArguments,
    watching: Watching<'a>,
    plugins: Plugins,
    releases: Vec<Release>,
    natives: Vec<Document>,
    configs: Configs,
}

/// What the steps after the variables need.
struct Interpolated {
    deployment: Deployment,
    /// The manifest with its placeholders.
    document: Tree,
    manifest: Manifest,
    external: External,
    permissions: Permissions,
}

/// Converts. Warnings are added to `warnings`. What plugins have printed is logged, also if the conversion fails.
///
/// # Errors
/// All errors that the steps find.
pub fn convert(
    arguments: &ConvertArguments,
    watching: Watching<'_>,
    sources: &mut Sources,
    warnings: &mut Vec<Diagnostic>,
    progress: &Progress,
) -> Result<Done, Vec<Diagnostic>> {
    let mut secrets = Secrets::default();
    let done = run_steps(arguments, watching, sources, warnings, progress, &mut secrets);
    if let Some(printed) = &arguments.plugins.printed {
        printed.log(&secrets, sources);
    }
    done
}

/// `secrets`: gets what is known to be secret, also if the conversion fails.
fn run_steps(
    arguments: &ConvertArguments,
    watching: Watching<'_>,
    sources: &mut Sources,
    warnings: &mut Vec<Diagnostic>,
    progress: &Progress,
    secrets: &mut Secrets,
) -> Result<Done, Vec<Diagnostic>> {
    let permissions = arguments.allowed.permissions()?;
    progress.say("reading releases");
    let (mut context, read) = gather(arguments, watching, sources, progress)?;
    warnings.extend(context.releases.iter().flat_map(|release| release.warnings.clone()));
    warnings.extend(render_warning(arguments));
    context.plugins = prepare_plugins(context.plugins, arguments, &read, watching);
    progress.say("applying ops files and variables");
    let document = context.merge(&read, sources, warnings)?;
    let unknown = plugin_groups::unknown(&arguments.plugins.groups, &document);
    if !unknown.is_empty() {
        return Err(unknown);
    }
    let mut read = read.with_generation();
    let interpolated = context.interpolate(&mut read, &document, sources, warnings);
    secrets.add(read.secrets());
    let mut manifest = interpolated?;
    let deployment = context.deployment(manifest.named())?;
    context.plugins = context.plugins.with_deployment(&deployment.name, &deployment.namespace);
    let (external, reported) = context.links(&deployment, &manifest.document)?;
    warnings.extend(reported);
    manifest.hide(external::secrets(&external));
    secrets.add(external::secrets(&external));
    let interpolated = Interpolated {
        deployment,
        document,
        manifest,
        external,
        permissions,
    };
    context.finish(interpolated, sources, warnings, progress)
}

/// Reads everything before anything fails, so that all missing inputs are reported at once.
fn gather<'a>(
    arguments: &'a ConvertArguments,
    watching: Watching<'a>,
    sources: &mut Sources,
    progress: &Progress,
) -> Result<(Context<'a>, Read), Vec<Diagnostic>> {
    let plugins = plugins::prepare(&arguments.plugins, &Stage::ALL, sources);
    let most = memory::or_found(arguments.plugins.max_memory) / RELEASES_DIVISOR;
    let releases = releases::read(
        &arguments.releases,
        &arguments.default_releases,
        most,
        sources,
        progress,
    );
    let read = variables::read(&arguments.manifest, &arguments.variables, sources);
    let configs = arguments.configs.read(sources);
    let natives = native::read(&arguments.natives, sources);
    let documents = all(read, configs, natives);
    let (plugins, releases, (read, configs, natives)) = all(plugins, releases, documents)?;
    let context = Context {
        arguments,
        watching,
        plugins,
        releases,
        natives,
        configs,
    };
    Ok((context, read))
}

/// The plugins, with who calls them, and what records the calls.
fn prepare_plugins(plugins: Plugins, arguments: &ConvertArguments, read: &Read, watching: Watching<'_>) -> Plugins {
    let plugins = match watching {
        Watching::Calls(recording) => plugins.with_recorder(recording.clone()),
        _ => plugins,
    };
    let fuel = match watching {
        // The calls that find the inputs of a field are no part of the conversion.
        Watching::Fields(_) => u64::MAX,
        _ => plugins.sandbox().limits().conversion_fuel,
    };
    let namespace = arguments.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE);
    let plugins = plugins.with_account(Account::new(namespace, fuel));
    // Ops files may change the manifest's name: later calls get the final one.
    match arguments.name.as_deref().or_else(|| read.own_name()) {
        Some(name) => plugins.with_deployment(name, namespace),
        None => plugins,
    }
}

/// A warning if a plugin of `render` is given.
fn render_warning(arguments: &ConvertArguments) -> Option<Diagnostic> {
    let plugins = &arguments.plugins;
    let mut given = plugins.replacements.iter().chain(&plugins.settings);
    if given.all(|one| one.stage != Stage::Render) {
        return None;
    }
    let what = "pods render their templates with the built-in plugin of their image, not with this plugin";
    let warning = Diagnostic::warning(codes::CONVERT_RENDER_IN_PODS, what);
    Some(warning.help("install the plugin in the operator, which passes it to pods"))
}

// === impl Context ===

impl Context<'_> {
    /// The manifest with ops files, cloud configs and runtime configs.
    fn merge(
        &self,
        read: &Read,
        sources: &mut Sources,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Tree, Vec<Diagnostic>> {
        let mut document = read.merge(
            &self.plugins,
            &self.configs,
            self.arguments.name.as_deref(),
            sources,
            warnings,
        )?;
        warnings.extend(convert::resolve_latest(read.name(), &mut document, &self.releases));
        if let Watching::Calls(recording) = self.watching {
            recording.publish(read.name(), &document);
        }
        let named = Named::new(read.name(), &document);
        let missing = convert::missing(named, &self.releases);
        if missing.is_empty() { Ok(document) } else { Err(missing) }
    }

    /// The manifest with the values of its variables, which are generated if necessary.
    fn interpolate(
        &self,
        read: &mut Read,
        document: &Tree,
        sources: &Sources,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Manifest, Vec<Diagnostic>> {
        let asked = Asked {
            addresses: Some(&|manifest| self.addresses(manifest)),
            check: Some(&|manifest| self.check(manifest)),
        };
        read.interpolate(&self.plugins, document, &Options::convert(), &asked, sources, warnings)
    }

    /// The addresses of links that variables consume.
    fn addresses(&self, manifest: Named<'_>) -> Reply<Addresses> {
        let deployment = self.deployment(manifest).map_err(StageError::Input)?;
        let (external, _) = self.links(&deployment, manifest.tree).map_err(StageError::Input)?;
        self.plugins.addresses(LinksRequest {
            manifest,
            deployment: &deployment,
            jobs: &convert::specs(manifest, &self.releases),
            external: &external,
        })
    }

    /// Checks what does not depend on values, before any is generated.
    fn check(&self, manifest: Named<'_>) -> Result<(), StageError> {
        let deployment = self.deployment(manifest).map_err(StageError::Input)?;
        let (external, _) = self.links(&deployment, manifest.tree).map_err(StageError::Input)?;
        let inputs = GatherInputs {
            deployment: &deployment,
            by_monit: self.arguments.monit,
            manifest,
            releases: &self.releases,
            external: &external,
        };
        convert::check(&self.plugins, inputs)
    }

    /// The links from outside of the deployment.
    fn links(&self, deployment: &Deployment, manifest: &Tree) -> Result<(External, Vec<Diagnostic>), Vec<Diagnostic>> {
        let found = native::links(&self.natives, deployment, manifest)?;
        if let Watching::Calls(recording) = self.watching {
            recording.hide(external::secrets(&found.0));
        }
        Ok(found)
    }

    fn deployment(&self, manifest: Named<'_>) -> Result<Deployment, Vec<Diagnostic>> {
        let arguments = self.arguments;
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
        let name = arguments.name.as_deref().or_else(|| manifest.tree.str("name"));
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            return Err(vec![
                Diagnostic::error(convert_codes::CONVERT_NO_NAME, "the deployment has no name")
                    .in_document(manifest.name)
                    .at("")
                    .help("set `name:` in the manifest, or use --name"),
            ]);
        };
        Ok(Deployment {
            name: name.into(),
            namespace: arguments.namespace.clone().unwrap_or_else(|| DEFAULT_NAMESPACE.into()),
            cluster_domain: arguments
                .cluster_domain
                .clone()
                .unwrap_or_else(|| "cluster.local".into()),
            operator_image: arguments.operator_image.clone(),
            registry: arguments.registry.clone(),
            spread: arguments.instances.into(),
        })
    }

    /// The steps after the variables, and their results.
    fn finish(
        &self,
        interpolated: Interpolated,
        sources: &mut Sources,
        warnings: &mut Vec<Diagnostic>,
        progress: &Progress,
    ) -> Result<Done, Vec<Diagnostic>> {
        let manifest = interpolated.manifest;
        let inputs = Inputs {
            deployment: &interpolated.deployment,
            by_monit: self.arguments.monit,
            manifest: manifest.named(),
            without_values: &interpolated.document,
            variables: &manifest.variables,
            values: &manifest.values,
            releases: &self.releases,
            external: &interpolated.external,
            filter: Filter {
                secrets: &manifest.secrets,
                sources,
            },
            target: self.arguments.target.into(),
            permissions: &interpolated.permissions,
            threads: match self.arguments.record {
                // Calls are numbered in their order.
                Some(_) => 1,
                None => std::thread::available_parallelism().map_or(1, usize::from),
            },
        };
        let (conversion, blames) = self.objects(&inputs, progress);
        let rendered = conversion.rendered.into_iter();
        rendered.for_each(|document| sources.add_document(document, true));
        let mut diagnostics = manifest.secrets.scrub(conversion.diagnostics, sources);
        let Ok(objects) = conversion.result else {
            return Err(diagnostics);
        };
        warnings.append(&mut diagnostics);
        Ok(Done {
            deployment: owner(&interpolated.deployment),
            objects,
            files: conversion.files,
            manifest: interpolated.document,
            values: manifest.values,
            secrets: manifest.secrets,
            blames: blames?,
        })
    }

    fn objects(&self, inputs: &Inputs<'_>, progress: &Progress) -> (Conversion, Result<Vec<Blame>, Diagnostic>) {
        let say = |what: &str| progress.say(what);
        match self.watching {
            Watching::Fields(question) => blame::convert(&self.plugins, inputs, question, &say),
            _ => (convert::convert(&self.plugins, inputs, &say), Ok(Vec::new())),
        }
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

/// The manifest with its ops files, cloud configs and runtime configs, and with its placeholders. Versions `latest` are
/// replaced if their releases are given.
///
/// # Errors
/// Inputs that cannot be read; of the ops stage.
pub fn merged(
    arguments: &ConvertArguments,
    sources: &mut Sources,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Tree, Vec<Diagnostic>> {
    let (context, read) = gather(arguments, Watching::Nothing, sources, &Progress::start())?;
    let name = arguments.name.as_deref();
    let mut document = read.merge(&context.plugins, &context.configs, name, sources, warnings)?;
    convert::resolve_latest(read.name(), &mut document, &context.releases);
    Ok(document)
}
