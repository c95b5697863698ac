//! From a manifest to Kubernetes objects: the flow after ops and variables. Makes no decision that belongs to a plugin. Calls the stages in order, in
//! parallel for independent groups, and collects their diagnostics.

mod alias_files;
mod alike;
pub mod bpm_document;
mod codes;
pub mod collected;
pub mod context;
mod copies;
mod costs;
pub mod filling;
pub mod kept;
mod needed;
pub mod parallel;
mod places;
pub mod pod_plugins;
pub mod pre_render_ops;
pub mod rendering;
pub mod selection;
pub mod steps;

pub use codes::CODES;
pub use needed::{create_env, missing, releases, resolve_latest, specs};

use crate::bundle::Bundle;
use crate::bundle::privileges::{GrantedPrivileges, Privileges};
use crate::diagnostic::{Diagnostic, causes};
use crate::plain;
use crate::release::Release;
use crate::scrub::Filter;
use crate::stage::{Deployment, JobFiles, Named, Reply, ResolvedGroup, Stage, StageError, Stages, Variable};
use crate::yaml;
use boson_deployment::names::Names;
use boson_document::Tree;

/// The kind of objects to create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Objects of the operator, as it would create them.
    Quarks,
    /// Objects that any cluster accepts.
    Kubernetes,
}

/// Inputs of a conversion.
pub struct Inputs<'a> {
    /// Name and place of the deployment.
    pub deployment: &'a Deployment,
    /// The manifest, ops applied, variables replaced.
    pub manifest: Named<'a>,
    /// Variables that the manifest defines.
    pub variables: &'a [Variable],
    /// Value of every variable, by name: for the plain target's Secrets.
    pub values: &'a Tree,
    /// The given releases.
    pub releases: &'a [Release],
    /// What messages may quote.
    pub filter: Filter<'a>,
    /// The kind of objects to create.
    pub target: Target,
    /// Number of threads.
    pub threads: usize,
    /// Privileges that an administrator allows for all pods.
    pub allowed: &'a Privileges,
}

/// Result of a conversion: objects, or the diagnostics that say why there are none.
pub struct Conversion {
    /// In a stable order.
    pub result: Result<Vec<Tree>, Failed>,
    /// Errors, if it failed, and the warnings of all stages that ran.
    pub diagnostics: Vec<Diagnostic>,
    /// Rendered documents that diagnostics name. They may hold secrets, so only places are shown, no excerpts.
    pub rendered: Vec<yaml::Document>,
}

/// The conversion failed; the diagnostics say why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed;

/// Converts a manifest and reports each step to `progress`. If a stage fails, the result holds all its errors and the warnings of the stages before.
pub fn convert(stages: &dyn Stages, inputs: &Inputs<'_>, progress: &dyn Fn(&str)) -> Conversion {
    let mut run = Run {
        stages,
        inputs,
        diagnostics: Vec::new(),
        rendered: Vec::new(),
    };
    let result = run.objects(progress).map_err(|errors| {
        // Errors first, so that no user has to scroll past two hundred warnings.
        run.diagnostics.splice(0..0, errors);
        Failed
    });
    Conversion {
        result,
        diagnostics: run.diagnostics,
        rendered: run.rendered,
    }
}

/// Finds mistakes of the manifest that do not depend on values: runs all stages before the templates.
///
/// # Errors
/// Errors of the stages that would also end the conversion.
pub fn check(
    stages: &dyn Stages,
    deployment: &Deployment,
    manifest: Named<'_>,
    releases: &[Release],
) -> Result<(), StageError> {
    let first = stages.convert_deployment(deployment, manifest, &[]).map(drop);
    let resolved = steps::gather(stages, deployment, manifest, releases).map(drop);
    match (first, resolved) {
        (Ok(()), Ok(())) => Ok(()),
        (Err(error), Ok(())) | (Ok(()), Err(error)) => Err(error),
        (Err(first), Err(resolved)) => {
            let both = together(first.into_diagnostics(), resolved.into_diagnostics());
            Err(StageError::Input(both))
        }
    }
}

struct Run<'a> {
    stages: &'a dyn Stages,
    inputs: &'a Inputs<'a>,
    diagnostics: Vec<Diagnostic>,
    rendered: Vec<yaml::Document>,
}

/// The instance groups of a deployment.
struct Groups {
    resolved: Vec<ResolvedGroup>,
    /// The Secrets that their pods mount, for the plain target.
    secrets: Vec<Tree>,
    objects: Vec<Tree>,
    /// The privileges that their pods may have.
    granted: GrantedPrivileges,
}

type Outcome<T> = Result<T, Vec<Diagnostic>>;

// === impl Run ===

impl Run<'_> {
    fn objects(&mut self, progress: &dyn Fn(&str)) -> Outcome<Vec<Tree>> {
        let inputs = self.inputs;
        let names = names(inputs.deployment)?;
        let missing = missing(inputs.manifest, inputs.releases);
        if !missing.is_empty() {
            return Err(missing);
        }
        // It needs only the manifest, so its diagnostics are reported together with all others.
        let deployment = self
            .stages
            .convert_deployment(inputs.deployment, inputs.manifest, inputs.variables);
        let converted = self.groups(&names, progress);
        let (first, groups) = self.both(deployment, converted)?;
        let objects = first.into_iter().chain(groups.objects);
        let bundle = self.bundle(objects.collect(), groups.granted)?;
        self.lower(bundle, &names, &groups.resolved, groups.secrets)
    }

    /// The instance groups, resolved, and their objects.
    fn groups(&mut self, names: &Names, progress: &dyn Fn(&str)) -> Outcome<Groups> {
        progress("resolving links");
        let inputs = self.inputs;
        let resolved = steps::gather(self.stages, inputs.deployment, inputs.manifest, inputs.releases);
        let resolved = self.keep(resolved)?;
        // Refuses a document that is too large now: rendering it would take minutes.
        let secrets = match inputs.target {
            Target::Kubernetes => resolved_secrets(names, &resolved)?,
            Target::Quarks => Vec::new(),
        };
        progress("rendering templates");
        let files = self.render(&resolved)?;
        progress("converting to Kubernetes objects");
        let asked = resolved.iter().zip(&files);
        let asked = asked.map(|(group, jobs)| (group.name.as_str(), &group.document, jobs.as_slice()));
        let granted = steps::granted(names, inputs.allowed, asked);
        let objects = self.convert_groups(names, &resolved, files)?;
        Ok(Groups {
            resolved,
            secrets,
            objects,
            granted,
        })
    }

    /// Collects warnings; an error ends the conversion.
    fn keep<T>(&mut self, reply: Reply<T>) -> Outcome<T> {
        let (value, said) = reply.map_err(StageError::into_diagnostics)?;
        self.diagnostics.extend(said);
        Ok(value)
    }

    /// Joins the results of two independent stages, so that the errors of both are reported at once.
    fn both<A, B>(&mut self, a: Reply<A>, b: Outcome<B>) -> Outcome<(A, B)> {
        match (self.keep(a), b) {
            (Ok(a), Ok(b)) => Ok((a, b)),
            (Err(a), Err(b)) => Err(together(a, b)),
            (Err(errors), Ok(_)) | (Ok(_), Err(errors)) => Err(errors),
        }
    }

    fn render(&mut self, groups: &[ResolvedGroup]) -> Outcome<Vec<Vec<JobFiles>>> {
        let mut rendering = rendering::render(
            self.stages,
            groups,
            self.inputs.releases,
            self.inputs.filter,
            self.inputs.threads,
        )?;
        self.diagnostics.extend(rendering.warnings);
        let (mut said, mut errors) = (Vec::new(), Vec::new());
        for (group, jobs) in groups.iter().zip(&mut rendering.files) {
            let name = self.inputs.manifest.name;
            match pre_render_ops::to_bpm(self.stages, group, jobs, &mut rendering.documents, name) {
                Ok(notes) => said.extend(notes),
                Err(found) => errors.extend(found),
            }
        }
        pre_render_ops::in_manifest(&mut said, self.inputs.manifest);
        pre_render_ops::in_manifest(&mut errors, self.inputs.manifest);
        self.diagnostics.extend(said);
        self.rendered = rendering.documents;
        if errors.is_empty() {
            Ok(rendering.files)
        } else {
            Err(errors)
        }
    }

    fn convert_groups(
        &mut self,
        names: &Names,
        groups: &[ResolvedGroup],
        files: Vec<Vec<JobFiles>>,
    ) -> Outcome<Vec<Tree>> {
        let inputs = self.inputs;
        let work: Vec<(&ResolvedGroup, Vec<JobFiles>)> = groups.iter().zip(files).collect();
        let replies = parallel::map(&work, inputs.threads, |(group, jobs)| {
            let secret = names
                .resolved(&group.name, Some(plain::FIRST_VERSION))
                .map_err(|error| unnamed(&error))?;
            steps::group_objects(
                self.stages,
                inputs.deployment,
                inputs.manifest,
                group,
                jobs.clone(),
                &secret,
            )
        });
        let (mut objects, mut errors) = (Vec::new(), Vec::new());
        for reply in replies {
            match self.keep(reply) {
                Ok(some) => objects.extend(some),
                Err(some) => errors.extend(some),
            }
        }
        if errors.is_empty() { Ok(objects) } else { Err(errors) }
    }

    /// Checks the objects of the plugins, and runs the hooks in order, each on the result of the one before.
    fn bundle(&mut self, objects: Vec<Tree>, granted: GrantedPrivileges) -> Outcome<Bundle> {
        let mut bundle = Bundle::with_privileges(self.inputs.deployment, granted);
        bundle.add(objects, &self.stages.called(Stage::Bpm, 0))?;
        for nth in 0..self.stages.transforms() {
            let reply = self.stages.transform(nth, self.inputs.deployment, bundle.objects());
            let edits = self.keep(reply)?;
            let said = bundle.edit(edits, &self.stages.called(Stage::Resources, nth))?;
            self.diagnostics.extend(said);
        }
        Ok(bundle)
    }

    fn lower(
        &mut self,
        bundle: Bundle,
        names: &Names,
        groups: &[ResolvedGroup],
        secrets: Vec<Tree>,
    ) -> Outcome<Vec<Tree>> {
        let inputs = self.inputs;
        let mut objects = bundle.into_objects();
        self.diagnostics.extend(plain::active::lead_to_all(&mut objects));
        if inputs.target == Target::Quarks {
            return Ok(objects);
        }
        let (mut plain, said) = plain::lower(objects, inputs.values)?;
        self.diagnostics.extend(said);
        plain::resolved::mark_pods(&mut plain, names, groups, plain::FIRST_VERSION).map_err(|error| vec![*error])?;
        let mut whole = Bundle::of_host(inputs.deployment);
        // The Secrets that pods mount come first.
        whole.add(secrets, "the host")?;
        whole.add(plain, "the host")?;
        Ok(whole.into_objects())
    }
}

/// Errors of two stages.
fn together(mut one: Vec<Diagnostic>, other: Vec<Diagnostic>) -> Vec<Diagnostic> {
    one.retain(|a| !other.iter().any(|b| same_fault(a, b)));
    one.extend(other);
    causes(one)
}

/// Whether two stages report the same fault of the manifest: `links-wrong-type` and `bpm-wrong-type` of one place.
fn same_fault(one: &Diagnostic, other: &Diagnostic) -> bool {
    let fault = |code: &str| code.split_once('-').map(|(_, fault)| fault.to_owned());
    one.place == other.place && fault(&one.code) == fault(&other.code)
}

fn resolved_secrets(names: &Names, groups: &[ResolvedGroup]) -> Outcome<Vec<Tree>> {
    let (mut secrets, mut errors) = (Vec::new(), Vec::new());
    for group in groups {
        match plain::resolved::resolved_secret(names, group, plain::FIRST_VERSION) {
            Ok(secret) => secrets.push(secret),
            Err(error) => errors.push(*error),
        }
    }
    if errors.is_empty() { Ok(secrets) } else { Err(errors) }
}

fn names(deployment: &Deployment) -> Outcome<Names> {
    Names::new(&deployment.name, &deployment.namespace, &deployment.cluster_domain)
        .map_err(|error| unnamed(&error).into_diagnostics())
}

fn unnamed(error: &boson_deployment::names::NameError) -> StageError {
    StageError::Input(vec![
        Diagnostic::error("convert-no-name", error.to_string()).help("choose another name: --name for the deployment"),
    ])
}
