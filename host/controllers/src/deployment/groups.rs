//! What becomes of instance groups: their documents, and the objects of the deployment.

use super::flow::Flow;
use super::manifest::{Manifest, Rules, blocking};
use super::steps::Gathered;
use super::stop::Stop;
use boson_document::Tree;
use boson_pipeline::bundle::Bundle;
use boson_pipeline::convert::pod_plugins::{self, PodPlugin};
use boson_pipeline::convert::{rendering, steps};
use boson_pipeline::plain::active;
use boson_pipeline::release::Release;
use boson_pipeline::stage::{Deployment, JobFiles, Reply, ResolvedGroup, Variable};
use boson_pipeline::{Diagnostic, Stage, StageError, Stages};
use serde_json::Value;
use std::sync::Arc;

/// Threads that render the templates of one deployment.
const THREADS: usize = 2;

// === impl Flow ===

impl Flow<'_> {
    /// The objects of the deployment, ours by label and owner.
    pub(super) async fn convert(
        &self,
        stages: Rules,
        mut manifest: Manifest,
        variables: Vec<Variable>,
        gathered: Vec<Gathered>,
    ) -> Result<(Manifest, Vec<Value>), Stop> {
        let deployment = self.deployment.clone();
        let in_pods = self.copies.plugins.clone();
        let groups = gathered.iter().map(|one| {
            let group = &one.group;
            (group.name.as_str(), &group.document, one.jobs.as_slice())
        });
        let rights = steps::rights(&self.names, &self.context.conversion.allowed, groups);
        let (manifest, result) = blocking(move || {
            let bundle = Bundle::with_rights(&deployment, rights);
            let converted = convert_all(&*stages, &mut manifest, &deployment, &variables, &gathered, &in_pods);
            let result =
                converted.and_then(|objects| transformed(&*stages, &mut manifest, &deployment, objects, bundle));
            (manifest, result)
        })
        .await?;
        let objects = result.map_err(|errors| manifest.fail(errors))?;
        let objects = self.own(objects, &manifest)?;
        Ok((manifest, objects))
    }
}

/// Resolves links.
pub(super) async fn gather(
    stages: Rules,
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

/// Renders the templates of all groups; tells the jobs of each, with their bpm.
pub(super) async fn render(
    stages: Rules,
    mut manifest: Manifest,
    groups: Vec<ResolvedGroup>,
    releases: Arc<Vec<Release>>,
) -> Result<(Manifest, Vec<Vec<JobFiles>>), Stop> {
    blocking(move || {
        let rendered = rendering::render(&*stages, &groups, &releases, manifest.filter(), THREADS);
        let rendered = rendered.map_err(|errors| manifest.fail(errors))?;
        manifest.warnings.extend(rendered.warnings);
        Ok((manifest, rendered.files))
    })
    .await?
}

fn convert_all(
    stages: &dyn Stages,
    manifest: &mut Manifest,
    deployment: &Deployment,
    variables: &[Variable],
    gathered: &[Gathered],
    in_pods: &[PodPlugin],
) -> Result<Vec<Tree>, Vec<Diagnostic>> {
    let (mut objects, mut errors, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
    let mut take = |reply: Reply<Vec<Tree>>| match reply {
        Ok((some, said)) => {
            objects.extend(some);
            warnings.extend(said);
        }
        Err(error) => errors.extend(error.into_diagnostics()),
    };
    take(stages.convert_deployment(deployment, manifest.named(), variables));
    for one in gathered {
        let jobs = one.jobs.clone();
        take(steps::group_objects(
            stages,
            deployment,
            manifest.named(),
            &one.group,
            jobs,
            &one.resolved,
        ));
    }
    manifest.warnings.extend(warnings);
    if !errors.is_empty() {
        return Err(errors);
    }
    pod_plugins::give(&mut objects, in_pods);
    Ok(objects)
}

/// Checks the objects, and lets the hooks change them.
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
