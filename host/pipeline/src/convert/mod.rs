//! From a manifest to Kubernetes objects: the flow after ops and variables. Decides nothing that a rule decides; calls the stages in order, in
//! parallel where groups are independent, and gathers what they say.

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
pub mod rendering;
pub mod selection;
pub mod steps;

pub use codes::CODES;
pub use needed::{create_env, missing, releases, resolve_latest, specs};

use crate::bundle::Bundle;
use crate::bundle::privileges::{Privileges, Rights};
use crate::diagnostic::{Diagnostic, causes};
use crate::plain;
use crate::release::Release;
use crate::scrub::Filter;
use crate::stage::{Deployment, JobFiles, Named, Reply, ResolvedGroup, Stage, StageError, Stages, Variable};
use crate::yaml;
use boson_deployment::names::Names;
use boson_document::Tree;

/// What to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Objects of the operator, as it would create them.
    Quarks,
    /// Objects that any cluster accepts.
    Kubernetes,
}

/// All that a conversion starts from.
pub struct Inputs<'a> {
    /// Name and place of the deployment.
    pub deployment: &'a Deployment,
    /// The manifest, ops applied, variables replaced.
    pub manifest: Named<'a>,
    /// Variables that the manifest defines.
    pub variables: &'a [Variable],
    /// Value of every variable, by name: for the plain target's Secrets.
    pub values: &'a Tree,
    /// Releases at hand.
    pub releases: &'a [Release],
    /// What messages may quote.
    pub filter: Filter<'a>,
    /// What to make.
    pub target: Target,
    /// Threads to work on.
    pub threads: usize,
    /// Rights that an administrator allows all pods.
    pub allowed: &'a Privileges,
}

/// What a conversion gave: objects, or why there are none.
pub struct Conversion {
    /// In a stable order.
    pub result: Result<Vec<Tree>, Failed>,
    /// Errors, where it failed, and the warnings of all stages that were reached.
    pub diagnostics: Vec<Diagnostic>,
    /// Rendered documents that diagnostics name. They may hold secrets: places only, no excerpts.
    pub rendered: Vec<yaml::Document>,
}

/// The diagnostics say why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed;

/// Converts. `progress` is told what is being done. A stage that fails ends it, with everything that it has found and the warnings of those before.
pub fn convert(stages: &dyn Stages, inputs: &Inputs<'_>, progress: &dyn Fn(&str)) -> Conversion {
    let mut run = Run {
        stages,
        inputs,
        diagnostics: Vec::new(),
        rendered: Vec::new(),
    };
    let result = run.objects(progress).map_err(|errors| {
        // Errors first: nobody scrolls past two hundred warnings to find out what failed.
        run.diagnostics.splice(0..0, errors);
        Failed
    });
    Conversion {
        result,
        diagnostics: run.diagnostics,
        rendered: run.rendered,
    }
}

/// What is wrong with the manifest whatever its values are: everything up to the templates.
///
/// # Errors
/// What the stages find that would end the conversion, too.
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
    /// What their pods mount, for the plain target.
    secrets: Vec<Tree>,
    objects: Vec<Tree>,
    /// What their pods may have.
    rights: Rights,
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
        // It needs the manifest only: what it finds is told together with whatever else is wrong.
        let deployment = self
            .stages
            .convert_deployment(inputs.deployment, inputs.manifest, inputs.variables);
        let converted = self.groups(&names, progress);
        let (first, groups) = self.both(deployment, converted)?;
        let objects = first.into_iter().chain(groups.objects);
        let bundle = self.bundle(objects.collect(), groups.rights)?;
        self.lower(bundle, &names, &groups.resolved, groups.secrets)
    }

    /// The instance groups, resolved, and their objects.
    fn groups(&mut self, names: &Names, progress: &dyn Fn(&str)) -> Outcome<Groups> {
        progress("resolving links");
        let inputs = self.inputs;
        let resolved = steps::gather(self.stages, inputs.deployment, inputs.manifest, inputs.releases);
        let resolved = self.keep(resolved)?;
        // One that is too large is told now: to render what made it so takes minutes.
        let secrets = match inputs.target {
            Target::Kubernetes => resolved_secrets(names, &resolved)?,
            Target::Quarks => Vec::new(),
        };
        progress("rendering templates");
        let files = self.render(&resolved)?;
        progress("converting to Kubernetes objects");
        let asked = resolved.iter().zip(&files);
        let asked = asked.map(|(group, jobs)| (group.name.as_str(), &group.document, jobs.as_slice()));
        let rights = steps::rights(names, inputs.allowed, asked);
        let objects = self.convert_groups(names, &resolved, files)?;
        Ok(Groups {
            resolved,
            secrets,
            objects,
            rights,
        })
    }

    /// Warnings are kept, errors end it.
    fn keep<T>(&mut self, reply: Reply<T>) -> Outcome<T> {
        let (value, said) = reply.map_err(StageError::into_diagnostics)?;
        self.diagnostics.extend(said);
        Ok(value)
    }

    /// Two stages that do not need each other: errors of both are told at once.
    fn both<A, B>(&mut self, a: Reply<A>, b: Outcome<B>) -> Outcome<(A, B)> {
        match (self.keep(a), b) {
            (Ok(a), Ok(b)) => Ok((a, b)),
            (Err(a), Err(b)) => Err(together(a, b)),
            (Err(errors), Ok(_)) | (Ok(_), Err(errors)) => Err(errors),
        }
    }

    fn render(&mut self, groups: &[ResolvedGroup]) -> Outcome<Vec<Vec<JobFiles>>> {
        let rendering = rendering::render(
            self.stages,
            groups,
            self.inputs.releases,
            self.inputs.filter,
            self.inputs.threads,
        )?;
        self.diagnostics.extend(rendering.warnings);
        self.rendered = rendering.documents;
        Ok(rendering.files)
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

    /// Checks what the plugins made, and lets the hooks at it, in order, each on the result of the one before.
    fn bundle(&mut self, objects: Vec<Tree>, rights: Rights) -> Outcome<Bundle> {
        let mut bundle = Bundle::with_rights(self.inputs.deployment, rights);
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
        // What pods mount comes first.
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

/// Two stages look at one fault of the manifest: `links-wrong-type` and `bpm-wrong-type` of one place.
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
