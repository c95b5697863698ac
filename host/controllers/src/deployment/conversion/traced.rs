//! Stages that log each call and how long it took.
//!
//! A conversion calls its stages from other threads, which do not have the tracing span of the reconcile. So the span
//! is stored here.

use crate::deployment::manifest::SharedStages;
use boson_document::Tree;
use boson_pipeline::stage::{
    Addresses, Applied, Deployment, Edit, GroupRequest, Interpolated, LinksRequest, Named, Rendered, Reply, Resolved,
    Template, Variable, VariableRules, VariablesPlan, View,
};
use boson_pipeline::{Author, Stage, Stages};
use std::sync::Arc;
use std::time::Instant;
use tracing::Span;

/// Stages, for one reconcile.
struct Traced {
    inner: SharedStages,
    /// The span of the reconcile.
    span: Span,
}

/// These stages, traced in the current span.
pub fn traced(inner: SharedStages) -> SharedStages {
    let span = Span::current();
    Arc::new(Traced { inner, span })
}

// === impl Traced ===

impl Traced {
    fn call<T>(&self, stage: Stage, function: &'static str, call: impl FnOnce(&dyn Stages) -> Reply<T>) -> Reply<T> {
        // At the highest level, like the span of the reconcile.
        let span = tracing::error_span!(parent: &self.span, "stage", stage = stage.name());
        let _entered = span.enter();
        let began = Instant::now();
        let reply = call(&*self.inner);
        let outcome = if reply.is_ok() { "ok" } else { "failed" };
        tracing::debug!(
            function,
            outcome,
            seconds = began.elapsed().as_secs_f64(),
            "called a stage"
        );
        reply
    }
}

impl Stages for Traced {
    fn apply(&self, document: Named<'_>, files: &[Named<'_>]) -> Reply<Applied> {
        self.call(Stage::Ops, "apply", |stages| stages.apply(document, files))
    }

    fn find(&self, document: Named<'_>, path: &str) -> Reply<Tree> {
        self.call(Stage::Ops, "find", |stages| stages.find(document, path))
    }

    fn plan(&self, document: Named<'_>, rules: VariableRules) -> Reply<VariablesPlan> {
        self.call(Stage::Variables, "plan", |stages| stages.plan(document, rules))
    }

    fn interpolate(&self, document: Named<'_>, values: &Tree, rules: VariableRules) -> Reply<Interpolated> {
        let call = |stages: &dyn Stages| stages.interpolate(document, values, rules);
        self.call(Stage::Variables, "interpolate", call)
    }

    fn resolve(&self, request: LinksRequest<'_>) -> Reply<Resolved> {
        self.call(Stage::Links, "resolve", |stages| stages.resolve(request))
    }

    fn addresses(&self, request: LinksRequest<'_>) -> Reply<Addresses> {
        self.call(Stage::Links, "addresses", |stages| stages.addresses(request))
    }

    fn render(&self, group: Option<&str>, templates: &[Template<'_>], context: &Tree) -> Reply<Vec<Rendered>> {
        let call = |stages: &dyn Stages| stages.render(group, templates, context);
        self.call(Stage::Render, "render", call)
    }

    fn convert_deployment(
        &self,
        deployment: &Deployment,
        document: Named<'_>,
        variables: &[Variable],
    ) -> Reply<Vec<Tree>> {
        let call = |stages: &dyn Stages| stages.convert_deployment(deployment, document, variables);
        self.call(Stage::Bpm, "convert-deployment", call)
    }

    fn convert_group(&self, request: &GroupRequest<'_>) -> Reply<Vec<Tree>> {
        self.call(Stage::Bpm, "convert-group", |stages| stages.convert_group(request))
    }

    fn spent_here(&self) -> u64 {
        self.inner.spent_here()
    }

    fn transforms(&self) -> usize {
        self.inner.transforms()
    }

    fn transform(&self, nth: usize, deployment: &Deployment, view: View<'_>) -> Reply<Vec<Edit>> {
        let call = |stages: &dyn Stages| stages.transform(nth, deployment, view);
        self.call(Stage::Resources, "transform", call)
    }

    fn is_ordered(&self, nth: usize) -> bool {
        self.inner.is_ordered(nth)
    }

    fn checks(&self) -> usize {
        self.inner.checks()
    }

    fn check(&self, nth: usize, deployment: &Deployment, view: View<'_>) -> Reply<()> {
        let call = |stages: &dyn Stages| stages.check(nth, deployment, view);
        self.call(Stage::Checks, "check", call)
    }

    fn is_enforced(&self, nth: usize) -> bool {
        self.inner.is_enforced(nth)
    }

    fn is_optional(&self, nth: usize) -> bool {
        self.inner.is_optional(nth)
    }

    fn author(&self, stage: Stage, nth: usize) -> Author {
        self.inner.author(stage, nth)
    }

    fn group_author(&self, group: &str) -> Author {
        self.inner.group_author(group)
    }
}
