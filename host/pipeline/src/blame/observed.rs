//! Stages that remember what the plugins of `bpm` and `resources` got and returned.

use crate::author::Author;
use crate::convert::Inputs;
use crate::stage::{
    Addresses, Applied, Deployment, Edit, GroupRequest, GroupSummary, Interpolated, JobFiles, LinksRequest, Named,
    Rendered, Reply, Resolved, Template, Variable, VariableRules, VariablesPlan, View,
};
use crate::{Stage, Stages};
use boson_document::Tree;
use parking_lot::{Mutex, MutexGuard};

/// Stages that remember calls. An additional check, which reports nothing, sees the final objects.
pub struct Observed<'s> {
    stages: &'s dyn Stages,
    calls: Mutex<Calls>,
}

/// What was called.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    /// One for each instance group.
    pub groups: Vec<GroupCall>,
    /// The objects of the deployment itself.
    pub of_deployment: Vec<Tree>,
    /// The plugins of `resources`, each with the objects before it.
    pub transforms: Vec<(Author, Vec<Tree>)>,
    /// The groups that they see.
    pub summaries: Vec<GroupSummary>,
    /// The objects after all of them.
    pub last: Vec<Tree>,
}

/// A call of bpm.convert-group.
#[derive(Clone, Debug)]
pub struct GroupCall {
    /// The resolved document.
    pub group: Tree,
    /// Pointer of the group in the manifest.
    pub pointer: String,
    pub jobs: Vec<JobFiles>,
    pub resolved_secret: String,
    pub objects: Vec<Tree>,
}

// === impl GroupCall ===

impl GroupCall {
    pub fn request<'c>(&'c self, inputs: &Inputs<'c>) -> GroupRequest<'c> {
        GroupRequest {
            deployment: inputs.deployment,
            group: &self.group,
            document_name: inputs.manifest.name,
            pointer: &self.pointer,
            jobs: self.jobs.clone(),
            resolved_secret: &self.resolved_secret,
        }
    }
}

// === impl Observed ===

impl<'s> Observed<'s> {
    pub fn new(stages: &'s dyn Stages) -> Self {
        Self {
            stages,
            calls: Mutex::default(),
        }
    }

    /// The calls so far.
    pub fn into_calls(self) -> Calls {
        self.calls.into_inner()
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock()
    }
}

impl Stages for Observed<'_> {
    fn apply(&self, document: Named<'_>, files: &[Named<'_>]) -> Reply<Applied> {
        self.stages.apply(document, files)
    }

    fn find(&self, document: Named<'_>, path: &str) -> Reply<Tree> {
        self.stages.find(document, path)
    }

    fn plan(&self, document: Named<'_>, rules: VariableRules) -> Reply<VariablesPlan> {
        self.stages.plan(document, rules)
    }

    fn interpolate(&self, document: Named<'_>, values: &Tree, rules: VariableRules) -> Reply<Interpolated> {
        self.stages.interpolate(document, values, rules)
    }

    fn resolve(&self, request: LinksRequest<'_>) -> Reply<Resolved> {
        self.stages.resolve(request)
    }

    fn addresses(&self, request: LinksRequest<'_>) -> Reply<Addresses> {
        self.stages.addresses(request)
    }

    fn render(&self, group: Option<&str>, templates: &[Template<'_>], context: &Tree) -> Reply<Vec<Rendered>> {
        self.stages.render(group, templates, context)
    }

    fn convert_deployment(
        &self,
        deployment: &Deployment,
        document: Named<'_>,
        variables: &[Variable],
    ) -> Reply<Vec<Tree>> {
        let reply = self.stages.convert_deployment(deployment, document, variables);
        if let Ok((objects, _)) = &reply {
            self.calls().of_deployment.clone_from(objects);
        }
        reply
    }

    fn convert_group(&self, request: &GroupRequest<'_>) -> Reply<Vec<Tree>> {
        let reply = self.stages.convert_group(request);
        if let Ok((objects, _)) = &reply {
            self.calls().groups.push(GroupCall {
                group: request.group.clone(),
                pointer: request.pointer.to_string(),
                jobs: request.jobs.clone(),
                resolved_secret: request.resolved_secret.to_string(),
                objects: objects.clone(),
            });
        }
        reply
    }

    fn spent_here(&self) -> u64 {
        self.stages.spent_here()
    }

    fn transforms(&self) -> usize {
        self.stages.transforms()
    }

    fn transform(&self, nth: usize, deployment: &Deployment, view: View<'_>) -> Reply<Vec<Edit>> {
        let author = self.stages.author(Stage::Resources, nth);
        let mut calls = self.calls();
        calls.transforms.push((author, view.objects.to_vec()));
        calls.summaries = view.groups.to_vec();
        drop(calls);
        self.stages.transform(nth, deployment, view)
    }

    fn is_ordered(&self, nth: usize) -> bool {
        self.stages.is_ordered(nth)
    }

    fn checks(&self) -> usize {
        self.stages.checks() + 1
    }

    fn check(&self, nth: usize, deployment: &Deployment, view: View<'_>) -> Reply<()> {
        if nth < self.stages.checks() {
            self.stages.check(nth, deployment, view)
        } else {
            self.calls().last = view.objects.to_vec();
            Ok(((), Vec::new()))
        }
    }

    fn is_enforced(&self, nth: usize) -> bool {
        self.stages.is_enforced(nth)
    }

    fn is_optional(&self, nth: usize) -> bool {
        self.stages.is_optional(nth)
    }

    fn author(&self, stage: Stage, nth: usize) -> Author {
        self.stages.author(stage, nth)
    }

    fn group_author(&self, group: &str) -> Author {
        self.stages.group_author(group)
    }
}
