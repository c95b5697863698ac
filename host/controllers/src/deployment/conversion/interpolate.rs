//! The step that puts the values of all variables into the manifest. Its result is the desired manifest.

use super::work::Work;
use crate::deployment::act;
use crate::deployment::jobs;
use crate::deployment::manifest::{Manifest, blocking};
use crate::deployment::plan::documents::Document;
use crate::deployment::plan::provenance;
use crate::deployment::plan::stored::Stored;
use crate::deployment::reconcile::Reconcile;
use crate::deployment::stop::Stop;
use boson_api::deployment::ConversionMode;
use boson_in_pod::Values;
use boson_pipeline::convert::stored_documents;
use boson_pipeline::stage::SharedStages;
use boson_pipeline::{Stage, plain, variables};

/// The desired manifest.
pub async fn interpolate(
    run: &Reconcile<'_>,
    stages: &SharedStages,
    manifest: Manifest,
    work: &mut Work,
) -> Result<Manifest, Stop> {
    let (mut manifest, stored) = match run.mode {
        ConversionMode::InProcess => here(run, stages, manifest, work).await?,
        ConversionMode::Jobs => in_pods(run, manifest, work).await?,
    };
    let bytes = stored.bytes(stored_documents::MANIFEST);
    work.desired.clone_from(&stored.name);
    work.provenance = provenance::digest(bytes);
    let document = stored_documents::read(&manifest.name, bytes).map_err(|error| manifest.one(error))?;
    manifest.tree = document.tree;
    work.stamp(run, &stored, &plain::tags(&manifest.tree, None)).await?;
    Ok(manifest)
}

async fn here(
    run: &Reconcile<'_>,
    stages: &SharedStages,
    manifest: Manifest,
    work: &Work,
) -> Result<(Manifest, Stored), Stop> {
    let manifest = with_values(stages.clone(), manifest, work.values.clone()).await?;
    let series = run.whose().desired();
    let document = Document {
        series: &series,
        texts: stored_documents::manifest(&manifest.tree),
        annotations: plain::tags(&manifest.tree, None),
    };
    let stored = act::documents::store(run, vec![document], &manifest, &work.existing).await?;
    only(manifest, stored)
}

async fn in_pods(run: &Reconcile<'_>, mut manifest: Manifest, work: &Work) -> Result<(Manifest, Stored), Stop> {
    let series = [run.whose().desired()];
    let text = stored_documents::manifest(&manifest.tree).remove(stored_documents::MANIFEST);
    let text = text.ok_or_else(|| Stop::defect("the manifest has no text"))?;
    let inputs = boson_in_pod::digest(text.as_bytes(), &work.held);
    let site = work.site(run, Stage::Variables, &manifest).await?;
    let [output] = &series;
    let job = jobs::interpolation(&site, &run.names.with_ops(), &inputs, output)?;
    let stored = jobs::output(run, &job, &series, &mut manifest).await?;
    only(manifest, stored)
}

fn only(manifest: Manifest, stored: Vec<Stored>) -> Result<(Manifest, Stored), Stop> {
    let stored = stored.into_iter().next();
    let stored = stored.ok_or_else(|| Stop::defect("the desired manifest is not stored"))?;
    Ok((manifest, stored))
}

/// The manifest with the values of all variables.
async fn with_values(stages: SharedStages, mut manifest: Manifest, values: Values) -> Result<Manifest, Stop> {
    blocking(move || {
        let result = variables::desired(&*stages, manifest.named(), &values.given, &values.generated);
        let (done, reported) = result.map_err(|error| manifest.wrong(error))?;
        manifest.warnings.extend(reported);
        manifest.tree = done.document;
        Ok(manifest)
    })
    .await?
}
