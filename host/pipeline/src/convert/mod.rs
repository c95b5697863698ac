//! The conversion of a deployment, written once: its steps, in order, as functions without IO.
//!
//! | step | input | result |
//! |---|---|---|
//! | [`merge()`] | manifest, ops files, cloud configs, runtime configs | one manifest |
//! | [`check`] | manifest, releases | errors that do not depend on values |
//! | [`crate::variables`] | manifest, values | the manifest with its values |
//! | [`gather()`] | manifest, releases | each group's resolved document, the links that the deployment provides |
//! | [`render()`] | resolved groups, releases | each group's BPM configuration |
//! | [`objects()`] | manifest, resolved and rendered groups | the objects of the plugins, checked |
//! | its end, `transform` | these objects | the same, changed by `resources` plugins, reported on by `checks` plugins |
//! | [`link_secrets`], [`shared_links`] | the links that the deployment provides | their Secrets |
//! | [`crate::plain::lower`] | objects | objects that any cluster accepts |
//!
//! A driver calls the steps, and stores their results between them: the command line in memory ([`convert()`]), the
//! operator in Secrets, the pods of a conversion in files. A step collects all errors that it can find. An error of one
//! instance group does not affect the others: the operator applies what is left, the command line reports the errors of
//! all steps at once.

pub mod codes;
mod documents;
mod gather;
mod links;
mod merge;
mod needed;
mod objects;
pub mod parallel;
pub(crate) mod places;
pub mod pod_plugins;
pub mod pre_render_ops;
mod render;
mod target;
mod transform;

pub use documents::{bpm as bpm_document, job_sources, providers as providers_document, stored as stored_documents};
pub use gather::{GatherInputs, gather};
pub use links::{secrets as link_secrets, shared as shared_links};
pub use merge::{Documents, apply, merge};
pub use needed::{missing, releases, resolve_latest, specs};
pub use objects::{Group, Making, join_errors, objects};
pub use render::{Origin, RenderError, RenderedGroup, Rendering, render};
pub use render::{collected, context, filling, instance_files, selection};
pub use target::Target;
pub use transform::{has_hooks, is_skipped_check};

use self::instance_files::GroupFiles;
use crate::bundle::{Bundle, Permissions};
use crate::diagnostic::{Diagnostic, all};
use crate::plain;
use crate::release::Release;
use crate::scrub::Filter;
use crate::stage::{Deployment, DeploymentRequest, External, Named, ResolvedGroup, StageError, Stages, Variable};
use crate::yaml;
use boson_document::Tree;
use boson_manifest::names::{NameError, Names};

pub struct Inputs<'a> {
    /// Name and place of the deployment.
    pub deployment: &'a Deployment,
    /// Jobs without bpm information run by their monit files.
    pub by_monit: bool,
    /// The manifest, ops applied, variables replaced.
    pub manifest: Named<'a>,
    /// The manifest, ops applied, with its placeholders: plugins that change or check objects see it without values.
    pub without_values: &'a Tree,
    /// Variables that the manifest defines.
    pub variables: &'a [Variable],
    /// Value of every variable, by name: for the plain target's Secrets.
    pub values: &'a Tree,
    pub releases: &'a [Release],
    /// The links from outside of the deployment.
    pub external: &'a External,
    /// What messages may quote.
    pub filter: Filter<'a>,
    /// The kind of objects to create.
    pub target: Target,
    pub threads: usize,
    /// What an administrator allows plugins.
    pub permissions: &'a Permissions,
}

// === impl Inputs ===

impl<'a> Inputs<'a> {
    fn gather_inputs(&self) -> GatherInputs<'a> {
        GatherInputs {
            deployment: self.deployment,
            by_monit: self.by_monit,
            manifest: self.manifest,
            releases: self.releases,
            external: self.external,
        }
    }
}

/// Result of a conversion: objects, or the diagnostics that say why there are none.
pub struct Conversion {
    /// In a stable order.
    pub result: Result<Vec<Tree>, ConversionError>,
    /// Errors, if it failed, and the warnings of all stages that ran.
    pub diagnostics: Vec<Diagnostic>,
    /// Rendered documents that diagnostics name. They may hold secrets, so only places are shown, no excerpts.
    pub rendered: Vec<yaml::Document>,
    /// What the instances of each group render; none if the conversion failed.
    pub files: Vec<GroupFiles>,
}

/// The conversion failed; the diagnostics say why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConversionError;

/// Converts a manifest and reports each step to `progress`. If a stage fails, the result holds all its errors and the
/// warnings of the stages before.
pub fn convert(stages: &dyn Stages, inputs: &Inputs<'_>, progress: &dyn Fn(&str)) -> Conversion {
    let done = Conversion {
        result: Err(ConversionError),
        diagnostics: Vec::new(),
        rendered: Vec::new(),
        files: Vec::new(),
    };
    let mut run = Run { stages, inputs, done };
    match run.objects(progress) {
        Ok(objects) => run.done.result = Ok(objects),
        // Errors first, so that no user has to scroll past two hundred warnings.
        Err(errors) => drop(run.done.diagnostics.splice(0..0, errors)),
    }
    run.done
}

/// Finds mistakes of the manifest that do not depend on values: runs all stages before the templates.
///
/// # Errors
/// Errors of the stages that would also end the conversion.
pub fn check(stages: &dyn Stages, inputs: GatherInputs<'_>) -> Result<(), StageError> {
    let request = DeploymentRequest {
        deployment: inputs.deployment,
        manifest: inputs.manifest,
        variables: &[],
    };
    let first = stages.convert_deployment(request).map(drop);
    let resolved = gather(stages, inputs).map(drop);
    match (first, resolved) {
        (Ok(()), Ok(())) => Ok(()),
        (Err(error), Ok(())) | (Ok(()), Err(error)) => Err(error),
        (Err(first), Err(resolved)) => Err(StageError::Input(join_errors(first.into(), resolved.into()))),
    }
}

struct Run<'a> {
    stages: &'a dyn Stages,
    inputs: &'a Inputs<'a>,
    done: Conversion,
}

/// The instance groups of a deployment, resolved.
struct Gathered {
    groups: Vec<ResolvedGroup>,
    /// Secrets that pods mount, for the plain target.
    secrets: Vec<Tree>,
    /// Secrets of the links that the deployment provides, for pods and for other deployments.
    links: Vec<Tree>,
}

// === impl Run ===

impl Run<'_> {
    fn objects(&mut self, progress: &dyn Fn(&str)) -> Result<Vec<Tree>, Vec<Diagnostic>> {
        let inputs = self.inputs;
        let names = names(inputs.deployment)?;
        let missing = missing(inputs.manifest, inputs.releases);
        if !missing.is_empty() {
            return Err(missing);
        }
        progress("resolving links");
        let Gathered { groups, secrets, links } = match self.resolve(&names) {
            Ok(gathered) => gathered,
            // The deployment's own objects need only the manifest, so their errors are reported together with these.
            Err(errors) => return self.make(&names, &[], errors),
        };
        progress("rendering templates");
        let (rendered, mut errors) = self.render(&groups);
        progress("converting to Kubernetes objects");
        let mut ready = Vec::new();
        for (resolved, rendered) in groups.iter().zip(&rendered) {
            let Some(RenderedGroup { jobs, .. }) = rendered else {
                continue;
            };
            match names.resolved(&resolved.name, Some(plain::FIRST_VERSION)) {
                Ok(secret) => ready.push(Group { resolved, secret, jobs }),
                Err(error) => errors.push(name_error(&error)),
            }
        }
        let objects = self.make(&names, &ready, errors)?;
        let mut whole = Bundle::of_host(inputs.deployment).with_kinds(inputs.permissions.kinds());
        match inputs.target {
            Target::Quarks => whole.add(objects, "plugins")?,
            Target::Kubernetes => {
                let plain = self.lower(objects, &names, &groups)?;
                // The Secrets that pods mount come first.
                whole.add(secrets, "the host")?;
                whole.add(plain, "the host")?;
            }
        }
        whole.add(links, "the host")?;
        let each = groups.into_iter().zip(rendered.into_iter().flatten());
        self.done.files = each
            .map(|(resolved, RenderedGroup { instances, .. })| GroupFiles { resolved, instances })
            .collect();
        Ok(whole.into_objects())
    }

    /// The resolved groups, and the Secrets that are made from them.
    fn resolve(&mut self, names: &Names) -> Result<Gathered, Vec<Diagnostic>> {
        let inputs = self.inputs;
        let (resolved, reported) = gather(self.stages, inputs.gather_inputs())?;
        self.done.diagnostics.extend(reported);
        // Refuses what is too large now: rendering it would take minutes.
        let secret = |group| plain::resolved::resolved_secret(names, group);
        let secrets = match inputs.target {
            Target::Kubernetes => all(resolved.groups.iter().map(secret)),
            Target::Quarks => Ok(Vec::new()),
        };
        let links = link_secrets::secrets(names, &resolved.providers, inputs.manifest, &mut self.done.diagnostics);
        let shared = shared_links::secret(names, &resolved.providers, inputs.manifest.tree).map_err(Vec::from);
        match (secrets, links, shared) {
            (Ok(secrets), Ok(links), Ok(shared)) => Ok(Gathered {
                groups: resolved.groups,
                secrets,
                links: links.into_iter().chain(shared).collect(),
            }),
            (secrets, links, shared) => {
                let errors = [secrets.err(), links.err(), shared.err()];
                Err(errors.into_iter().flatten().flatten().collect())
            }
        }
    }

    /// The groups, none where a group cannot be rendered, and the errors of those.
    fn render(&mut self, groups: &[ResolvedGroup]) -> (Vec<Option<RenderedGroup>>, Vec<Diagnostic>) {
        let inputs = self.inputs;
        let rendering = render(
            self.stages,
            Origin::Manifest(inputs.manifest),
            groups,
            inputs.releases,
            inputs.filter,
            inputs.threads,
            &mut self.done.diagnostics,
        );
        match rendering {
            Ok(rendering) => {
                self.done.rendered = rendering.documents;
                let mut failures = Vec::new();
                let groups = rendering.groups.into_iter();
                let groups = groups.map(|group| group.map_err(|failure| failures.push(failure)).ok());
                (groups.collect(), RenderError::all(failures))
            }
            Err(errors) => (Vec::new(), errors),
        }
    }

    fn make(
        &mut self,
        names: &Names,
        groups: &[Group<'_>],
        errors: Vec<Diagnostic>,
    ) -> Result<Vec<Tree>, Vec<Diagnostic>> {
        let inputs = self.inputs;
        let making = Making {
            deployment: inputs.deployment,
            names,
            manifest: inputs.manifest,
            without_values: inputs.without_values,
            variables: inputs.variables,
            target: inputs.target,
            permissions: inputs.permissions,
            pod_plugins: &[],
            is_partial: false,
            threads: inputs.threads,
        };
        objects(self.stages, &making, groups, errors, &mut self.done.diagnostics).result
    }

    fn lower(
        &mut self,
        objects: Vec<Tree>,
        names: &Names,
        groups: &[ResolvedGroup],
    ) -> Result<Vec<Tree>, Vec<Diagnostic>> {
        let (mut plain, reported) = plain::lower(objects, self.inputs.values)?;
        self.done.diagnostics.extend(reported);
        plain::resolved::mark_pods(&mut plain, names, groups)?;
        Ok(plain)
    }
}

fn names(deployment: &Deployment) -> Result<Names, Diagnostic> {
    Names::of(deployment).map_err(|error| name_error(&error))
}

fn name_error(error: &NameError) -> Diagnostic {
    Diagnostic::error(codes::CONVERT_NO_NAME, error.to_string()).help("choose another name: --name for the deployment")
}
