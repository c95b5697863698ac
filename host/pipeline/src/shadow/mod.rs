//! Shadow plugins: they get the same calls as the plugins in use, and only the difference of their replies is reported.
//!
//! # Guarantees
//! The reply of a call is always that of the plugin in use, whatever a shadow does. A shadow is called after it, and
//! not if it failed. Reports have names and places, no values, and a limited size.

mod edited;
mod report;

pub use report::{MAX_PLACES, Report};

use crate::author::Author;
use crate::diagnostic::Diagnostic;
use crate::stage::{
    Addresses, Applied, Deployment, Edit, GroupRequest, Interpolated, LinksRequest, Named, Rendered, Reply, Resolved,
    Stage, StageError, Stages, Template, Variable, VariableRules, VariablesPlan, View,
};
use boson_document::Tree;
use parking_lot::Mutex;
use std::sync::Arc;

/// Stages that several threads share.
pub type SharedStages = Arc<dyn Stages + Send + Sync>;

/// A plugin that runs beside those in use.
pub struct Shadow {
    pub stage: Stage,
    pub name: String,
    /// sha256 of its component.
    pub digest: String,
    /// `resources` and `checks`: the plugin in use that it would replace; none: it would be the last.
    pub nth: Option<usize>,
    /// Its stage, with limits of its own. Of `resources` and `checks`, it is the only plugin.
    pub stages: SharedStages,
    report: Mutex<Report>,
}

/// Stages with plugins that run beside those in use.
pub struct Shadowed {
    inner: SharedStages,
    shadows: Arc<[Shadow]>,
}

// === impl Shadow ===

impl Shadow {
    /// A plugin that has not been called yet.
    pub fn new(stage: Stage, name: &str, digest: &str, nth: Option<usize>, stages: SharedStages) -> Self {
        Self {
            stage,
            name: name.to_string(),
            digest: digest.to_string(),
            nth,
            stages,
            report: Mutex::default(),
        }
    }

    /// The differences so far.
    pub fn report(&self) -> Report {
        self.report.lock().clone()
    }

    /// Makes a call, and compares its reply.
    fn call<T>(&self, call: impl FnOnce(&dyn Stages) -> Reply<T>, compare: impl FnOnce(&T, &mut Report)) {
        let mut report = self.report.lock();
        if report.is_exhausted() {
            return report.skip();
        }
        // Calls of other threads must not wait for this one.
        drop(report);
        let reply = call(&*self.stages);
        report = self.report.lock();
        match reply {
            Ok((value, _)) => report.compared(|report| compare(&value, report)),
            Err(error) => report.failed(&error.into_diagnostics()),
        }
    }
}

// === impl Shadowed ===

impl Shadowed {
    /// These stages, with plugins that run beside them.
    pub fn new(inner: SharedStages, shadows: Arc<[Shadow]>) -> Self {
        Self { inner, shadows }
    }

    fn of(&self, stage: Stage) -> impl Iterator<Item = &Shadow> {
        self.shadows.iter().filter(move |shadow| shadow.stage == stage)
    }

    /// Those that run beside plugin number `nth` of a stage. Those that replace none run after the last one.
    fn beside(&self, stage: Stage, nth: usize, plugins: usize) -> impl Iterator<Item = &Shadow> {
        self.of(stage)
            .filter(move |shadow| shadow.nth.unwrap_or(plugins) == nth)
    }

    /// The number of calls of a stage: one more if a shadow replaces no plugin.
    fn calls(&self, stage: Stage, plugins: usize) -> usize {
        let is_new = self.of(stage).any(|shadow| shadow.nth.is_none());
        plugins + usize::from(is_new)
    }
}

impl Stages for Shadowed {
    fn apply(&self, document: Named<'_>, files: &[Named<'_>]) -> Reply<Applied> {
        let reply = self.inner.apply(document, files)?;
        for shadow in self.of(Stage::Ops) {
            let call = |stages: &dyn Stages| stages.apply(document, files);
            shadow.call(call, |new, report| {
                report.documents("manifest", &reply.0.document, &new.document)
            });
        }
        Ok(reply)
    }

    fn find(&self, document: Named<'_>, path: &str) -> Reply<Tree> {
        self.inner.find(document, path)
    }

    fn plan(&self, document: Named<'_>, rules: VariableRules) -> Reply<VariablesPlan> {
        self.inner.plan(document, rules)
    }

    fn interpolate(&self, document: Named<'_>, values: &Tree, rules: VariableRules) -> Reply<Interpolated> {
        let reply = self.inner.interpolate(document, values, rules)?;
        for shadow in self.of(Stage::Variables) {
            let call = |stages: &dyn Stages| stages.interpolate(document, values, rules);
            shadow.call(call, |new, report| {
                report.documents("manifest", &reply.0.document, &new.document)
            });
        }
        Ok(reply)
    }

    fn resolve(&self, request: LinksRequest<'_>) -> Reply<Resolved> {
        let reply = self.inner.resolve(request)?;
        for shadow in self.of(Stage::Links) {
            let call = |stages: &dyn Stages| stages.resolve(request);
            shadow.call(call, |new, report| {
                // The host has checked that both have the groups of the manifest.
                for (old, new) in reply.0.groups.iter().zip(&new.groups) {
                    let group = format!("instance group '{}'", old.name);
                    report.documents(&group, &old.document, &new.document);
                }
            });
        }
        Ok(reply)
    }

    fn addresses(&self, request: LinksRequest<'_>) -> Reply<Addresses> {
        self.inner.addresses(request)
    }

    fn render(&self, group: Option<&str>, templates: &[Template<'_>], spec: &Tree) -> Reply<Vec<Rendered>> {
        let reply = self.inner.render(group, templates, spec)?;
        for shadow in self.of(Stage::Render) {
            let call = |stages: &dyn Stages| stages.render(group, templates, spec);
            shadow.call(call, |new, report| {
                let both = reply.0.iter().zip(new);
                both.filter(|(old, new)| old.content != new.content)
                    .for_each(|(old, _)| report.place(&format!("template '{}'", old.name)));
            });
        }
        Ok(reply)
    }

    fn convert_deployment(
        &self,
        deployment: &Deployment,
        document: Named<'_>,
        variables: &[Variable],
    ) -> Reply<Vec<Tree>> {
        let reply = self.inner.convert_deployment(deployment, document, variables)?;
        for shadow in self.of(Stage::Bpm) {
            let call = |stages: &dyn Stages| stages.convert_deployment(deployment, document, variables);
            shadow.call(call, |new, report| report.objects(&reply.0, new));
        }
        Ok(reply)
    }

    fn convert_group(&self, request: &GroupRequest<'_>) -> Reply<Vec<Tree>> {
        let reply = self.inner.convert_group(request)?;
        for shadow in self.of(Stage::Bpm) {
            shadow.call(
                |stages| stages.convert_group(request),
                |new, report| report.objects(&reply.0, new),
            );
        }
        Ok(reply)
    }

    fn spent_here(&self) -> u64 {
        self.inner.spent_here()
    }

    fn transforms(&self) -> usize {
        self.calls(Stage::Resources, self.inner.transforms())
    }

    fn transform(&self, nth: usize, deployment: &Deployment, view: View<'_>) -> Reply<Vec<Edit>> {
        let plugins = self.inner.transforms();
        let reply = if nth < plugins {
            self.inner.transform(nth, deployment, view)?
        } else {
            (Vec::new(), Vec::new())
        };
        for shadow in self.beside(Stage::Resources, nth, plugins) {
            let call = |stages: &dyn Stages| {
                let (edits, _) = stages.transform(0, deployment, view)?;
                let new = edited::edited(view.objects, edits).map_err(|error| StageError::Input(vec![*error]))?;
                Ok((new, Vec::new()))
            };
            // If the edits of the plugin in use do not apply, its conversion fails.
            let Ok(old) = edited::edited(view.objects, reply.0.clone()) else {
                break;
            };
            shadow.call(call, |new, report| {
                let (old, new) = edited::both(view.objects, &old, new);
                report.objects(&old, &new);
            });
        }
        Ok(reply)
    }

    fn is_ordered(&self, nth: usize) -> bool {
        self.inner.is_ordered(nth)
    }

    fn checks(&self) -> usize {
        self.calls(Stage::Checks, self.inner.checks())
    }

    fn check(&self, nth: usize, deployment: &Deployment, view: View<'_>) -> Reply<()> {
        let plugins = self.inner.checks();
        let reply = if nth < plugins {
            self.inner.check(nth, deployment, view)
        } else {
            Ok(((), Vec::new()))
        };
        let old = match &reply {
            Ok(((), found)) | Err(StageError::Input(found)) => found.clone(),
            Err(StageError::Plugin(_)) => return reply,
        };
        for shadow in self.beside(Stage::Checks, nth, plugins) {
            // What a check finds is its reply, also if it is an error.
            let call = |stages: &dyn Stages| match stages.check(0, deployment, view) {
                Ok(((), found)) | Err(StageError::Input(found)) => Ok((found, Vec::new())),
                Err(error) => Err(error),
            };
            shadow.call(call, |new: &Vec<Diagnostic>, report| report.findings(&old, new));
        }
        reply
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
