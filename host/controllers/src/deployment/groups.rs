//! Converts instance groups to their documents, and to the objects of the deployment.

use super::flow::Flow;
use super::held_back::HeldBack;
use super::manifest::{Manifest, SharedStages, blocking};
use super::steps::Gathered;
use super::stop::Stop;
use boson_document::Tree;
use boson_pipeline::bundle::Bundle;
use boson_pipeline::convert::pod_plugins::{self, PodPlugin};
use boson_pipeline::convert::{pre_render_ops, rendering, steps};
use boson_pipeline::plain::active;
use boson_pipeline::release::Release;
use boson_pipeline::stage::{Deployment, JobFiles, ResolvedGroup, Variable};
use boson_pipeline::{Diagnostic, Stage, StageError, Stages};
use serde_json::Value;
use std::sync::Arc;

/// How many threads render the templates of one deployment.
const THREADS: usize = 2;

// === impl Flow ===

impl Flow<'_> {
    /// The objects of the deployment, with its label and owner reference.
    pub(super) async fn convert(
        &self,
        stages: SharedStages,
        mut manifest: Manifest,
        variables: Vec<Variable>,
        gathered: Vec<Gathered>,
        held_back: &mut HeldBack,
    ) -> Result<(Manifest, Vec<Value>), Stop> {
        let deployment = self.deployment.clone();
        let in_pods = self.copies.plugins.clone();
        let groups = gathered.iter().map(|one| {
            let group = &one.group;
            (group.name.as_str(), &group.document, one.jobs.as_slice())
        });
        let granted = steps::granted(&self.names, &self.context.conversion.allowed, groups);
        let (manifest, failed, result) = blocking(move || {
            let bundle = Bundle::with_privileges(&deployment, granted);
            let converted = convert_all(&*stages, &mut manifest, &deployment, &variables, &gathered, &in_pods);
            let (failed, result) = match converted {
                Ok(made) => {
                    let objects = transformed(&*stages, &mut manifest, &deployment, made.objects, bundle);
                    (made.failed, objects)
                }
                Err(errors) => (Vec::new(), Err(errors)),
            };
            (manifest, failed, result)
        })
        .await?;
        let objects = result.map_err(|errors| manifest.fail(errors))?;
        for (group, errors) in failed {
            held_back.add([group], manifest.wrong_with(errors));
        }
        let objects = self.own(objects, &manifest)?;
        Ok((manifest, objects))
    }
}

/// Binds properties and resolves links.
pub(super) async fn gather(
    stages: SharedStages,
    mut manifest: Manifest,
    deployment: Deployment,
    releases: Arc<Vec<Release>>,
) -> Result<(Manifest, Vec<ResolvedGroup>), Stop> {
    blocking(move || {
        for job in releases.iter().flat_map(|release| &release.jobs) {
            manifest.sources.add_document(job.spec.clone(), false);
            for file in &job.templates {
                manifest.sources.add_text(&file.document_name, &file.text);
            }
        }
        let groups = steps::gather(&*stages, &deployment, manifest.named(), &releases);
        let (groups, said) = groups.map_err(|error| manifest.wrong(error))?;
        manifest.warnings.extend(said);
        Ok((manifest, groups))
    })
    .await?
}

/// Renders the templates of all groups. Returns for each group its jobs with their BPM configuration, or its errors.
pub(super) async fn render(
    stages: SharedStages,
    mut manifest: Manifest,
    groups: Vec<ResolvedGroup>,
    releases: Arc<Vec<Release>>,
) -> Result<(Manifest, Vec<Result<Vec<JobFiles>, Vec<Diagnostic>>>), Stop> {
    blocking(move || {
        let rendered = rendering::render_each(&*stages, &groups, &releases, manifest.filter(), THREADS);
        let mut rendered = rendered.map_err(|errors| manifest.fail(errors))?;
        manifest.warnings.extend(rendered.warnings);
        for (group, jobs) in groups.iter().zip(&mut rendered.groups) {
            let Ok(files) = jobs else { continue };
            match pre_render_ops::to_bpm(&*stages, group, files, &mut rendered.documents, &manifest.name) {
                Ok(mut said) => {
                    pre_render_ops::in_manifest(&mut said, manifest.named());
                    manifest.warnings.extend(said);
                }
                Err(mut errors) => {
                    pre_render_ops::in_manifest(&mut errors, manifest.named());
                    *jobs = Err(errors);
                }
            }
        }
        Ok((manifest, rendered.groups))
    })
    .await?
}

/// The objects of a deployment, and the errors of groups that have none.
struct Made {
    objects: Vec<Tree>,
    failed: Vec<(String, Vec<Diagnostic>)>,
}

fn convert_all(
    stages: &dyn Stages,
    manifest: &mut Manifest,
    deployment: &Deployment,
    variables: &[Variable],
    gathered: &[Gathered],
    in_pods: &[PodPlugin],
) -> Result<Made, Vec<Diagnostic>> {
    let of_deployment = stages.convert_deployment(deployment, manifest.named(), variables);
    let (mut objects, mut warnings, mut errors) = match of_deployment {
        Ok((objects, warnings)) => (objects, warnings, Vec::new()),
        Err(error) => (Vec::new(), Vec::new(), error.into_diagnostics()),
    };
    let mut failed = Vec::new();
    for one in gathered {
        let jobs = one.jobs.clone();
        let reply = steps::group_objects(stages, deployment, manifest.named(), &one.group, jobs, &one.resolved);
        match reply {
            Ok((some, said)) => {
                objects.extend(some);
                warnings.extend(said);
            }
            Err(error) => failed.push((one.group.name.clone(), error.into_diagnostics())),
        }
    }
    manifest.warnings.extend(warnings);
    // Errors of the whole deployment are reported together with those of groups. If no group is left, the conversion fails, too.
    if !errors.is_empty() || (!failed.is_empty() && failed.len() == gathered.len()) {
        errors.extend(failed.into_iter().flat_map(|(_, errors)| errors));
        return Err(errors);
    }
    pod_plugins::give(&mut objects, in_pods);
    Ok(Made { objects, failed })
}

/// Checks the objects, and lets the plugins of the stage resources change them.
fn transformed(
    stages: &dyn Stages,
    manifest: &mut Manifest,
    deployment: &Deployment,
    objects: Vec<Tree>,
    mut bundle: Bundle,
) -> Result<Vec<Tree>, Vec<Diagnostic>> {
    bundle.add(objects, &stages.called(Stage::Bpm, 0))?;
    for nth in 0..stages.transforms() {
        let reply = stages.transform(nth, deployment, bundle.objects());
        let (edits, said) = reply.map_err(StageError::into_diagnostics)?;
        manifest.warnings.extend(said);
        let said = bundle.edit(edits, &stages.called(Stage::Resources, nth))?;
        manifest.warnings.extend(said);
    }
    let mut objects = bundle.into_objects();
    manifest.warnings.extend(active::lead_to_all(&mut objects));
    Ok(objects)
}
