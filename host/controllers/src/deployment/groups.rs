//! Converts instance groups to their documents, and to the objects of the deployment.

use super::flow::Flow;
use super::held_back::HeldBack;
use super::manifest::{Manifest, SharedStages, blocking};
use super::stop::Stop;
use boson_pipeline::Diagnostic;
use boson_pipeline::convert::job_sources::{self, Packed, Room};
use boson_pipeline::convert::kept::{self, Texts};
use boson_pipeline::convert::{self, Failure, Group, Origin, pod_plugins};
use boson_pipeline::release::Release;
use boson_pipeline::stage::{Deployment, JobFiles, ResolvedGroup, Variable};
use serde_json::Value;
use std::sync::Arc;

/// How many threads convert one deployment.
const THREADS: usize = 2;

/// An instance group, resolved.
pub(super) struct Gathered {
    pub group: ResolvedGroup,
    /// Name of the Secret with its resolved document.
    pub resolved: String,
    pub jobs: Vec<JobFiles>,
    /// Its job sources, if they are stored and small enough for its pods to mount them.
    pub sources: Option<Packed>,
}

// === impl Gathered ===

impl Gathered {
    /// As an input of the step that makes objects.
    pub(super) fn ready(&self) -> Group<'_> {
        Group {
            resolved: &self.group,
            secret: &self.resolved,
            jobs: &self.jobs,
        }
    }
}

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
        let granted = convert::granted(
            &self.names,
            &self.context.conversion.allowed,
            gathered.iter().map(Gathered::ready),
        );
        let (manifest, failed, result) = blocking(move || {
            let mut said = Vec::new();
            let ready: Vec<Group<'_>> = gathered.iter().map(Gathered::ready).collect();
            let of_deployment = (manifest.named(), variables.as_slice());
            let made = convert::objects(&*stages, &deployment, of_deployment, &ready, THREADS, &mut said);
            // Errors of the whole deployment are reported together with those of groups. If no group is left, the conversion fails, too.
            let is_lost = !made.failed.is_empty() && made.failed.len() == ready.len();
            let (failed, result) = if is_lost || !made.errors.is_empty() {
                let of_groups = made.failed.into_iter().flat_map(|(_, errors)| errors);
                (Vec::new(), Err(convert::together(made.errors, of_groups.collect())))
            } else {
                let mut objects = made.objects;
                pod_plugins::give(&mut objects, &in_pods);
                let objects = convert::transform(&*stages, &deployment, objects, granted, &mut said);
                (made.failed, objects)
            };
            manifest.warnings.extend(said);
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
        manifest.sources.add_releases(&releases);
        let groups = convert::gather(&*stages, &deployment, manifest.named(), &releases);
        let (groups, said) = groups.map_err(|error| manifest.wrong(error))?;
        manifest.warnings.extend(said);
        Ok((manifest, groups))
    })
    .await?
}

/// Renders the templates of all groups. Returns for each group what the next step reads, or its errors.
pub(super) async fn render(
    stages: SharedStages,
    mut manifest: Manifest,
    groups: Vec<ResolvedGroup>,
    releases: Arc<Vec<Release>>,
) -> Result<(Manifest, Vec<Result<Texts, Vec<Diagnostic>>>), Stop> {
    blocking(move || {
        let (mut said, origin) = (Vec::new(), Origin::Manifest(manifest.named()));
        let how = (manifest.filter(), THREADS);
        let rendered = convert::render(&*stages, origin, &groups, &releases, how, &mut said);
        let rendered = rendered.map_err(|errors| manifest.fail(errors))?.groups;
        manifest.warnings.extend(said);
        let mut room = Room::default();
        let texts = groups.iter().zip(rendered).map(|(group, jobs)| {
            let jobs = jobs.map_err(Failure::into_diagnostics)?;
            Ok(kept::bpm(
                &jobs,
                job_sources::text(&group.document, &releases, &mut room),
            ))
        });
        let texts = texts.collect();
        Ok((manifest, texts))
    })
    .await?
}
