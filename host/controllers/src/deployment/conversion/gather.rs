//! The step that places addons, binds properties and resolves links: a document for each instance group, and one with
//! the links that the deployment provides.

use super::pull_secrets;
use super::work::{Gathered, Work, series};
use crate::deployment::act;
use crate::deployment::inputs;
use crate::deployment::jobs;
use crate::deployment::manifest::Manifest;
use crate::deployment::plan::documents::Document;
use crate::deployment::plan::stored::Stored;
use crate::deployment::reconcile::Reconcile;
use crate::deployment::stop::Stop;
use boson_api::deployment::ConversionMode;
use boson_cluster::objects::versioned::Series;
use boson_document::Tree;
use boson_manifest::group::InstanceGroup;
use boson_pipeline::Stage;
use boson_pipeline::convert::{self, providers_document, stored_documents};
use boson_pipeline::stage::{External, Provider, ResolvedGroup, SharedStages};
use std::iter;

/// The series of the step's documents.
struct Documents {
    /// By instance group.
    groups: Vec<Series>,
    links: Series,
}

/// All instance groups with properties bound and links resolved, and the links that the deployment provides.
pub async fn gather(
    run: &Reconcile<'_>,
    stages: &SharedStages,
    manifest: &mut Manifest,
    work: &mut Work,
) -> Result<(Vec<Gathered>, Vec<Provider>), Stop> {
    let external = inputs::links(run, manifest).await?;
    let names = group_names(&manifest.tree);
    let series = Documents {
        groups: series(&names, manifest, |group| run.whose().resolved(group))?,
        links: run.whose().links(),
    };
    let mut stored = match run.mode {
        ConversionMode::InProcess => here(run, stages, manifest, &series, work, external).await?,
        ConversionMode::Jobs => {
            store(run, manifest, &external, work).await?;
            in_pods(run, stages, manifest, &names, &series, work).await?
        }
    };
    let links = stored.pop().ok_or_else(|| Stop::defect("the links are not stored"))?;
    let providers = providers(run, manifest, &links, work).await?;
    let mut gathered = Vec::new();
    for (name, one) in names.iter().zip(stored) {
        work.stamp(run, &one, &work.annotations(manifest, Some(name))).await?;
        let document = stored_documents::read(&one.name, one.bytes(stored_documents::RESOLVED))
            .map_err(|error| manifest.one(error))?;
        gathered.push(Gathered {
            group: ResolvedGroup {
                name: name.clone(),
                document: document.tree,
            },
            secret: one.name,
        });
    }
    Ok((gathered, providers))
}

/// The links of a stored document.
async fn providers(
    run: &Reconcile<'_>,
    manifest: &Manifest,
    links: &Stored,
    work: &mut Work,
) -> Result<Vec<Provider>, Stop> {
    work.stamp(run, links, &work.annotations(manifest, None)).await?;
    let document = stored_documents::read(&links.name, links.bytes(stored_documents::PROVIDERS));
    let providers = document.and_then(|document| providers_document::read(&document));
    providers.map_err(|error| manifest.one(error))
}

async fn here(
    run: &Reconcile<'_>,
    stages: &SharedStages,
    manifest: &mut Manifest,
    series: &Documents,
    work: &Work,
    external: External,
) -> Result<Vec<Stored>, Stop> {
    let releases = inputs::releases(run, manifest).await?;
    manifest.sources_mut().add_releases(&releases);
    let (stages, deployment) = (stages.clone(), run.deployment.clone());
    let resolved = manifest.blocking(move |manifest| {
        let resolved = convert::gather(&*stages, &deployment, manifest.named(), &releases, &external);
        resolved.map_err(|error| manifest.wrong(error))
    });
    let (resolved, reported) = resolved.await??;
    manifest.warnings.extend(reported);
    let both = series.groups.iter().zip(&resolved.groups);
    let groups = both.map(|(series, group)| Document {
        series,
        texts: stored_documents::resolved(group),
        annotations: work.annotations(manifest, Some(&group.name)),
    });
    let links = Document {
        series: &series.links,
        texts: stored_documents::providers(&resolved.providers),
        annotations: work.annotations(manifest, None),
    };
    let documents = groups.chain(iter::once(links)).collect();
    act::documents::store(run, documents, manifest, &work.existing).await
}

/// Stores the links from outside of the deployment for the pods.
async fn store(run: &Reconcile<'_>, manifest: &Manifest, external: &External, work: &mut Work) -> Result<(), Stop> {
    if external.is_empty() {
        return Ok(());
    }
    let annotations = work.annotations(manifest, None);
    let document = Document {
        series: &run.whose().external_links(),
        texts: stored_documents::external(external),
        annotations: annotations.clone(),
    };
    for one in act::documents::store(run, vec![document], manifest, &work.existing).await? {
        work.stamp(run, &one, &annotations).await?;
        work.external = Some(one.name);
    }
    Ok(())
}

async fn in_pods(
    run: &Reconcile<'_>,
    stages: &SharedStages,
    manifest: &mut Manifest,
    names: &[String],
    series: &Documents,
    work: &Work,
) -> Result<Vec<Stored>, Stop> {
    let releases = inputs::images(run, manifest)?;
    pull_secrets::apply(run, stages, manifest).await?;
    let both = names.iter().zip(&series.groups);
    let groups: Vec<_> = both.map(|(name, series)| jobs::Gathering { name, series }).collect();
    let site = work.site(run, Stage::Links, manifest).await?;
    let job = jobs::gathering(&site, &work.desired, &groups, &series.links, &releases)?;
    let all: Vec<Series> = series.groups.iter().chain([&series.links]).cloned().collect();
    jobs::output(run, &job, &all, manifest).await
}

/// Names of the instance groups, in manifest order.
fn group_names(manifest: &Tree) -> Vec<String> {
    InstanceGroup::all(manifest).map(|group| group.name).collect()
}
