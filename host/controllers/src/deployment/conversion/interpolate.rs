//! The step that puts the values of all variables into the manifest. Its result is the desired manifest.

use super::work::Work;
use crate::deployment::error::DeployError;
use crate::deployment::jobs;
use crate::deployment::plan::documents::{Document, Stored, provenance};
use crate::deployment::reconcile::Reconcile;
use boson_api::deployment::ConversionMode;
use boson_cluster::objects::versioned::Series;
use boson_pipeline::convert::stored_documents;
use boson_pipeline::{Stage, plain, variables};
use std::slice;
use std::sync::Arc;

/// Makes the desired manifest.
pub async fn interpolate(run: &Reconcile<'_>, work: &mut Work) -> Result<(), DeployError> {
    let series = run.ownership().desired();
    let stored = match run.mode {
        ConversionMode::InProcess => here(run, work, &series).await?,
        ConversionMode::Jobs => in_pods(run, work, &series).await?,
    };
    let stored = stored.into_iter().next();
    let stored = stored.ok_or_else(|| DeployError::defect("the desired manifest is not stored"))?;
    let (bytes, manifest) = (stored.bytes(stored_documents::MANIFEST), &mut work.manifest);
    work.desired.clone_from(&stored.name);
    work.provenance = provenance::digest(bytes);
    let document = stored_documents::read(&manifest.name, bytes).map_err(|error| manifest.error(error))?;
    manifest.tree = Arc::new(document.tree);
    let tags = plain::tags(&manifest.tree, None);
    work.stamp(run, &stored, &tags).await
}

async fn here(run: &Reconcile<'_>, work: &mut Work, series: &Series) -> Result<Vec<Stored>, DeployError> {
    let values = work.values.clone();
    let desired = work
        .call(move |stages, manifest| variables::desired(stages, manifest.named(), &values.given, &values.generated));
    work.manifest.tree = Arc::new(desired.await?.document);
    let document = Document {
        series,
        texts: stored_documents::manifest(&work.manifest.tree),
        annotations: plain::tags(&work.manifest.tree, None),
    };
    work.store(run, vec![document]).await
}

async fn in_pods(run: &Reconcile<'_>, work: &mut Work, series: &Series) -> Result<Vec<Stored>, DeployError> {
    let text = stored_documents::manifest(&work.manifest.tree).remove(stored_documents::MANIFEST);
    let text = text.ok_or_else(|| DeployError::defect("the manifest has no text"))?;
    let inputs = boson_in_pod::digest(text.as_bytes(), &work.held);
    let site = work.site(run, Stage::Variables).await?;
    let job = jobs::interpolation(&site, &run.names.with_ops(), &inputs, series)?;
    jobs::output(run, &job, slice::from_ref(series), &mut work.manifest).await
}
