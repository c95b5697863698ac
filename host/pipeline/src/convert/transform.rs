//! The end of the step that makes objects: plugins of the stage `resources` change them, and those of the stage
//! `checks` report on the result.

use super::render::context;
use super::target::Target;
use crate::bundle::{Bundle, Writer};
use crate::diagnostic::{Diagnostic, Severity};
use crate::plain::places;
use crate::resolved_document::{self, quarks};
use crate::stage::{
    ConsumedLink, Deployment, GroupSummary, Hook, JobSummary, PluginRef, ResolvedGroup, StageError, Stages, View,
};
use boson_document::Tree;

/// Whether there are plugins of these stages: they see the manifest with its placeholders.
pub fn has_hooks(stages: &dyn Stages) -> bool {
    stages.info(PluginRef::Resources(0)).is_some() || stages.info(PluginRef::Check(0)).is_some()
}

/// Runs the plugins in order, each on the result of the one before, and checks the result. `view`: what plugins see
/// besides the objects. Warnings are added to `reported`, also if the step fails.
///
/// # Errors
/// Objects that a plugin must not make; errors of the stage `resources`; all errors of enforced checks.
pub fn transform(
    stages: &dyn Stages,
    deployment: &Deployment,
    view: View<'_>,
    mut bundle: Bundle,
    reported: &mut Vec<Diagnostic>,
) -> Result<Vec<Tree>, Vec<Diagnostic>> {
    for (nth, plugin) in stages.transforms().iter().enumerate() {
        let view = view.with_objects(bundle.objects());
        let reply = stages.transform(Hook { nth, deployment, view });
        let shown = |found| shown(found, view.target, bundle.objects());
        let (edits, notes) = reply.map_err(|error| shown(error.into()))?;
        reported.extend(shown(notes));
        let writer = Writer {
            author: &plugin.author,
            is_ordered: plugin.is_ordered,
        };
        reported.extend(bundle.edit(edits, writer)?);
    }
    let objects = bundle.into_objects();
    check(stages, deployment, view.with_objects(&objects), reported)?;
    Ok(objects)
}

/// Runs all checks. An error of a check that is not enforced becomes a warning.
fn check(
    stages: &dyn Stages,
    deployment: &Deployment,
    view: View<'_>,
    reported: &mut Vec<Diagnostic>,
) -> Result<(), Vec<Diagnostic>> {
    let mut errors = Vec::new();
    for (nth, plugin) in stages.checks().iter().enumerate() {
        let found = match stages.check(Hook { nth, deployment, view }) {
            Ok(((), found)) | Err(StageError::Input(found)) => found,
            Err(StageError::Plugin(failure)) if plugin.policy.is_optional => vec![skipped(failure)],
            // A check that cannot run says nothing about the objects.
            Err(StageError::Plugin(failure)) => return Err(vec![failure]),
        };
        for mut one in shown(found, view.target, view.objects) {
            match one.severity {
                Severity::Error if plugin.policy.is_enforced => errors.push(one),
                Severity::Error => {
                    one.severity = Severity::Warning;
                    reported.push(one);
                }
                Severity::Warning | Severity::Info => reported.push(one),
            }
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Diagnostics of plugins, which name objects as the user of this target knows them.
fn shown(mut found: Vec<Diagnostic>, target: &str, objects: &[Tree]) -> Vec<Diagnostic> {
    if target == Target::Kubernetes.name() {
        places::in_plain(&mut found, objects);
    }
    found
}

/// The end of the message about a check that was skipped.
const SKIPPED_SUFFIX: &str = "; the check is skipped";

/// The warning about a check that failed and may be skipped.
fn skipped(failure: Diagnostic) -> Diagnostic {
    Diagnostic {
        severity: Severity::Warning,
        message: format!("{}{SKIPPED_SUFFIX}", failure.message),
        ..failure
    }
}

/// Whether a diagnostic is the warning about a check that failed itself and was skipped. What a plugin reports is not.
pub fn is_skipped_check(one: &Diagnostic) -> bool {
    one.severity == Severity::Warning && one.plugin.is_none() && one.message.ends_with(SKIPPED_SUFFIX)
}

/// What plugins see of a group.
pub fn group_summary(group: &ResolvedGroup) -> GroupSummary {
    let jobs = resolved_document::jobs(&group.document);
    let instances = jobs.first().map_or(0, context::instances);
    GroupSummary {
        name: group.name.clone(),
        instances: u32::try_from(instances).unwrap_or(u32::MAX),
        jobs: jobs
            .iter()
            .map(|job| job_summary(job, group.document.str("name")))
            .collect(),
    }
}

/// A job of a resolved document of this deployment.
fn job_summary(job: &Tree, deployment: Option<&str>) -> JobSummary {
    let text = |name: &str| job.str(name).unwrap_or_default().to_string();
    let links = quarks(job).and_then(|quarks| quarks.get("consumes"));
    let provider = |link: &Tree| {
        // Links of native workloads name no deployment, and those of other deployments name that one.
        if link.str("deployment_name") != deployment {
            return None;
        }
        let first = link.items("instances").first();
        let group = link.str("instance_group").or_else(|| first?.str("name"));
        group.map(str::to_string)
    };
    let links = links.and_then(Tree::as_object).into_iter().flatten();
    let consumes = links.map(|(name, link)| ConsumedLink {
        name: name.clone(),
        provider_group: provider(link),
    });
    JobSummary {
        name: text("name"),
        release: text("release"),
        consumes: consumes.collect(),
    }
}
