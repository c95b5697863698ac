//! From a manifest to Kubernetes objects: the flow after ops and variables. Decides nothing that a rule decides; calls the stages in order, in
//! parallel where groups are independent, and gathers what they say.

pub mod context;
pub mod parallel;
pub mod rendering;

use crate::bundle::{self, Bundle};
use crate::diagnostic::Diagnostic;
use crate::plain;
use crate::release::Release;
use crate::stage::{Deployment, GroupRequest, JobSpec, Named, ResolvedGroup, StageError, Stages, Variable};
use crate::yaml;
use boson_document::{Pointer, Tree};

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
    /// What to make.
    pub target: Target,
    /// Threads to work on.
    pub threads: usize,
}

/// A conversion that succeeded.
pub struct Conversion {
    /// In a stable order.
    pub bundle: Bundle,
    /// Warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// A conversion that did not.
pub struct Refused {
    /// At least one error.
    pub diagnostics: Vec<Diagnostic>,
    /// Rendered documents that diagnostics name. They may hold secrets: places only, no excerpts.
    pub rendered: Vec<yaml::Document>,
}

/// Converts. `progress` is told what is being done.
///
/// # Errors
/// Everything that the stage which failed has found, and the warnings of those before.
pub fn convert(stages: &dyn Stages, inputs: &Inputs<'_>, progress: &dyn Fn(&str)) -> Result<Conversion, Refused> {
    let mut run = Run { stages, inputs, diagnostics: Vec::new(), rendered: Vec::new() };
    match run.objects(progress) {
        Ok(bundle) => Ok(Conversion { bundle, diagnostics: run.diagnostics }),
        Err(errors) => {
            run.diagnostics.extend(errors);
            Err(Refused { diagnostics: run.diagnostics, rendered: run.rendered })
        }
    }
}

struct Run<'a> {
    stages: &'a dyn Stages,
    inputs: &'a Inputs<'a>,
    diagnostics: Vec<Diagnostic>,
    rendered: Vec<yaml::Document>,
}

type Outcome<T> = Result<T, Vec<Diagnostic>>;

// === impl Run ===

impl Run<'_> {
    fn objects(&mut self, progress: &dyn Fn(&str)) -> Outcome<Bundle> {
        let inputs = self.inputs;
        progress("resolving links");
        let specs = specs(inputs.releases);
        let resolved = self.stages.resolve(inputs.manifest, inputs.deployment, &specs);
        let groups = self.keep(resolved)?.groups;
        progress("rendering templates");
        let (files, said, documents) = rendering::render(self.stages, &groups, inputs.releases, inputs.threads)?;
        self.diagnostics.extend(said);
        self.rendered = documents;
        progress("converting to Kubernetes objects");
        let deployment = self.stages.convert_deployment(inputs.deployment, inputs.manifest, inputs.variables);
        let converted = self.convert_groups(&groups, files);
        let (first, rest) = self.both(deployment, converted)?;
        let bundle = Bundle::new(inputs.deployment, first.into_iter().chain(rest))?;
        let bundle = self.transform(bundle)?;
        self.lower(bundle, &groups)
    }

    /// Warnings are kept, errors end it.
    fn keep<T>(&mut self, reply: Result<(T, Vec<Diagnostic>), StageError>) -> Outcome<T> {
        let (value, said) = reply.map_err(StageError::into_diagnostics)?;
        self.diagnostics.extend(said);
        Ok(value)
    }

    /// Two stages that do not need each other: errors of both are told at once.
    fn both<A, B>(&mut self, a: Result<(A, Vec<Diagnostic>), StageError>, b: Outcome<B>) -> Outcome<(A, B)> {
        match (self.keep(a), b) {
            (Ok(a), Ok(b)) => Ok((a, b)),
            (Err(mut a), Err(b)) => {
                a.extend(b);
                Err(a)
            }
            (Err(errors), Ok(_)) | (Ok(_), Err(errors)) => Err(errors),
        }
    }

    fn convert_groups(&mut self, groups: &[ResolvedGroup], files: Vec<Vec<crate::stage::JobFiles>>) -> Outcome<Vec<Tree>> {
        let inputs = self.inputs;
        let work: Vec<(&ResolvedGroup, Vec<crate::stage::JobFiles>)> = groups.iter().zip(files).collect();
        let replies = parallel::map(&work, inputs.threads, |(group, files)| {
            let pointer = pointer(inputs.manifest.tree, &group.name);
            self.stages.convert_group(&GroupRequest {
                deployment: inputs.deployment,
                group: &group.document,
                document_name: inputs.manifest.name,
                pointer: &pointer,
                jobs: rendering::with_release_files(files.clone(), group, inputs.releases),
                resolved_secret: &plain::resolved_secret_name(inputs.deployment, &group.name),
            })
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

    /// The hooks, in order, each on the result of the one before.
    fn transform(&mut self, mut bundle: Bundle) -> Outcome<Bundle> {
        for nth in 0..self.stages.transforms() {
            let reply = self.stages.transform(nth, self.inputs.deployment, &bundle.objects);
            let edits = self.keep(reply)?;
            bundle = bundle::edit(bundle, self.inputs.deployment, edits)?;
        }
        Ok(bundle)
    }

    fn lower(&mut self, bundle: Bundle, groups: &[ResolvedGroup]) -> Outcome<Bundle> {
        match self.inputs.target {
            Target::Quarks => Ok(bundle),
            Target::Kubernetes => plain::lower(bundle, self.inputs.deployment, groups, self.inputs.values),
        }
    }
}

fn specs(releases: &[Release]) -> Vec<JobSpec<'_>> {
    let mut specs = Vec::new();
    for release in releases {
        for job in &release.jobs {
            specs.push(JobSpec { release: &release.name, job: &job.name, spec: &job.spec.tree, document_name: &job.spec.name });
        }
    }
    specs
}

/// Where the group of this name is in the manifest.
fn pointer(manifest: &Tree, group: &str) -> String {
    let index = manifest.items("instance_groups").iter().position(|one| one.str("name") == Some(group));
    let root = Pointer::root().at("instance_groups");
    index.map_or(root.clone(), |index| root.at(index)).to_string()
}
