//! The step that places addons, binds properties and resolves links: a document for each instance group.

use super::pull_secrets;
use super::work::{Gathered, Work, series};
use crate::deployment::act;
use crate::deployment::inputs;
use crate::deployment::jobs;
use crate::deployment::manifest::{Manifest, SharedStages, blocking};
use crate::deployment::plan::documents::Document;
use crate::deployment::plan::stored::Stored;
use crate::deployment::reconcile::Reconcile;
use crate::deployment::stop::Stop;
use boson_api::deployment::ConversionMode;
use boson_cluster::objects::versioned::Series;
use boson_document::Tree;
use boson_manifest::group::InstanceGroup;
use boson_pipeline::Stage;
use boson_pipeline::convert::{self, stored_documents};
use boson_pipeline::release::Release;
use boson_pipeline::stage::{Deployment, ResolvedGroup};
use std::sync::Arc;

/// All instance groups with properties bound and links resolved.
pub async fn gather(
    run: &Reconcile<'_>,
    stages: &SharedStages,
    manifest: Manifest,
    work: &mut Work,
) -> Result<(Manifest, Vec<Gathered>), Stop> {
    let names = group_names(&manifest.tree);
    let series = series(&names, &manifest, |group| run.whose().resolved(group))?;
    let (manifest, stored) = match run.mode {
        ConversionMode::InProcess => here(run, stages, manifest, &series, work).await?,
        ConversionMode::Jobs => in_pods(run, stages, manifest, (&names, &series), work).await?,
    };
    let mut gathered = Vec::new();
    for (name, one) in names.iter().zip(stored) {
        work.stamp(run, &one, &work.annotations(&manifest, name)).await?;
        let document = stored_documents::read(&one.name, one.bytes(stored_documents::RESOLVED))
            .map_err(|error| manifest.one(error))?;
        gathered.push(Gathered {
            group: ResolvedGroup {
                name: name.clone(),
                document: document.tree,
            },
            resolved: one.name,
            jobs: Vec::new(),
            sources: None,
        });
    }
    Ok((manifest, gathered))
}

async fn here(
    run: &Reconcile<'_>,
    stages: &SharedStages,
    manifest: Manifest,
    series: &[Series],
    work: &Work,
) -> Result<(Manifest, Vec<Stored>), Stop> {
    let releases = inputs::releases(run, &manifest).await?;
    let (manifest, resolved) = resolve(stages.clone(), manifest, run.deployment.clone(), releases).await?;
    let both = series.iter().zip(&resolved);
    let documents = both.map(|(series, group)| Document {
        series,
        texts: stored_documents::resolved(group),
        annotations: work.annotations(&manifest, &group.name),
    });
    let stored = act::documents::store(run, documents.collect(), &manifest, &work.existing).await?;
    Ok((manifest, stored))
}

async fn in_pods(
    run: &Reconcile<'_>,
    stages: &SharedStages,
    mut manifest: Manifest,
    (names, series): (&[String], &[Series]),
    work: &Work,
) -> Result<(Manifest, Vec<Stored>), Stop> {
    let releases = inputs::images(run, &manifest)?;
    pull_secrets::apply(run, stages, &manifest).await?;
    let both = names.iter().zip(series);
    let groups: Vec<_> = both.map(|(name, series)| jobs::Gathering { name, series }).collect();
    let site = work.site(run, Stage::Links, &manifest).await?;
    let job = jobs::gathering(&site, &work.desired, &groups, &releases)?;
    let stored = jobs::output(run, &job, series, &mut manifest).await?;
    Ok((manifest, stored))
}

/// Binds properties and resolves links.
async fn resolve(
    stages: SharedStages,
    mut manifest: Manifest,
    deployment: Deployment,
    releases: Arc<Vec<Release>>,
) -> Result<(Manifest, Vec<ResolvedGroup>), Stop> {
    blocking(move || {
        manifest.sources.add_releases(&releases);
        let groups = convert::gather(&*stages, &deployment, manifest.named(), &releases);
        let (groups, reported) = groups.map_err(|error| manifest.wrong(error))?;
        manifest.warnings.extend(reported);
        Ok((manifest, groups))
    })
    .await?
}

/// Names of the instance groups, in manifest order.
fn group_names(manifest: &Tree) -> Vec<String> {
    InstanceGroup::all(manifest).map(|group| group.name).collect()
}
