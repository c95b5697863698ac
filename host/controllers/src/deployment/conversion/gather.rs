//! The step that places addons, binds properties and resolves links: a document for each instance group, and one with
//! the links that the deployment provides.

use super::pull_secrets;
use super::work::{Gathered, Work, series};
use crate::deployment::error::DeployError;
use crate::deployment::inputs;
use crate::deployment::jobs;
use crate::deployment::plan::documents::{Document, Stored};
use crate::deployment::reconcile::Reconcile;
use boson_api::deployment::ConversionMode;
use boson_cluster::objects::versioned::Series;
use boson_manifest::group::InstanceGroup;
use boson_pipeline::Stage;
use boson_pipeline::convert::{self, GatherInputs, providers_document, stored_documents};
use boson_pipeline::stage::{External, Provider, ResolvedGroup};
use std::iter;

/// All instance groups with properties bound and links resolved, and the links that the deployment provides.
pub async fn gather(run: &Reconcile<'_>, work: &mut Work) -> Result<(Vec<Gathered>, Vec<Provider>), DeployError> {
    let external = inputs::links(run, &mut work.manifest).await?;
    let groups = InstanceGroup::all(&work.manifest.tree);
    let names: Vec<String> = groups.map(|group| group.name).collect();
    let series = series(&names, &work.manifest, |group| run.ownership().resolved(group))?;
    let mut stored = match run.mode {
        ConversionMode::InProcess => here(run, work, &series, external).await?,
        ConversionMode::Jobs => {
            store(run, work, &external).await?;
            in_pods(run, work, &names, &series).await?
        }
    };
    let links = stored
        .pop()
        .ok_or_else(|| DeployError::defect("the links are not stored"))?;
    work.stamp(run, &links, &work.annotations(None)).await?;
    let providers = providers_document::read(&work.read(&links, stored_documents::PROVIDERS)?);
    let providers = providers.map_err(|error| work.manifest.error(error))?;
    let mut gathered = Vec::new();
    for (name, one) in names.iter().zip(stored) {
        work.stamp(run, &one, &work.annotations(Some(name))).await?;
        gathered.push(Gathered {
            group: ResolvedGroup {
                name: name.clone(),
                document: work.read(&one, stored_documents::RESOLVED)?.tree,
            },
            secret: one.name,
        });
    }
    Ok((gathered, providers))
}

/// `series`: of the groups.
async fn here(
    run: &Reconcile<'_>,
    work: &mut Work,
    series: &[Series],
    external: External,
) -> Result<Vec<Stored>, DeployError> {
    let releases = inputs::releases(run, &work.manifest).await?;
    work.manifest.sources_mut().add_releases(&releases);
    let (deployment, by_monit) = (run.deployment.clone(), run.by_monit);
    let resolved = work.call(move |stages, manifest| {
        let inputs = GatherInputs {
            deployment: &deployment,
            by_monit,
            manifest: manifest.named(),
            releases: &releases,
            external: &external,
        };
        convert::gather(stages, inputs)
    });
    let resolved = resolved.await?;
    let both = series.iter().zip(&resolved.groups);
    let groups = both.map(|(series, group)| Document {
        series,
        texts: stored_documents::resolved(group),
        annotations: work.annotations(Some(&group.name)),
    });
    let links = Document {
        series: &run.ownership().links(),
        texts: stored_documents::providers(&resolved.providers),
        annotations: work.annotations(None),
    };
    work.store(run, groups.chain(iter::once(links)).collect()).await
}

/// Stores the links from outside of the deployment for the pods.
async fn store(run: &Reconcile<'_>, work: &mut Work, external: &External) -> Result<(), DeployError> {
    if external.is_empty() {
        return Ok(());
    }
    let annotations = work.annotations(None);
    let document = Document {
        series: &run.ownership().external_links(),
        texts: stored_documents::external(external),
        annotations: annotations.clone(),
    };
    for one in work.store(run, vec![document]).await? {
        work.stamp(run, &one, &annotations).await?;
        work.external = Some(one.name);
    }
    Ok(())
}

async fn in_pods(
    run: &Reconcile<'_>,
    work: &mut Work,
    names: &[String],
    series: &[Series],
) -> Result<Vec<Stored>, DeployError> {
    let releases = inputs::images(run, &work.manifest)?;
    pull_secrets::apply(run, work).await?;
    let site = work.site(run, Stage::Links).await?;
    let links = run.ownership().links();
    let job = jobs::gathering(&site, &work.desired, names, series, &links, &releases)?;
    jobs::output(run, &job, &[series, &[links]].concat(), &mut work.manifest).await
}
