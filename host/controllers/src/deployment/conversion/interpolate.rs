//! The step that puts the values of all variables into the manifest. Its result is the desired manifest.

use super::work::Work;
use crate::deployment::act;
use crate::deployment::jobs;
use crate::deployment::manifest::Manifest;
use crate::deployment::plan::documents::Document;
use crate::deployment::plan::provenance;
use crate::deployment::plan::stored::Stored;
use crate::deployment::reconcile::Reconcile;
use crate::deployment::stop::Stop;
use boson_api::deployment::ConversionMode;
use boson_pipeline::convert::stored_documents;
use boson_pipeline::stage::SharedStages;
use boson_pipeline::{Stage, plain, variables};
use std::sync::Arc;

/// Makes the desired manifest of it.
pub async fn interpolate(
    run: &Reconcile<'_>,
    stages: &SharedStages,
    manifest: &mut Manifest,
    work: &mut Work,
) -> Result<(), Stop> {
    let stored = match run.mode {
        ConversionMode::InProcess => here(run, stages, manifest, work).await?,
        ConversionMode::Jobs => in_pods(run, manifest, work).await?,
    };
    let stored = stored.into_iter().next();
    let stored = stored.ok_or_else(|| Stop::defect("the desired manifest is not stored"))?;
    let bytes = stored.bytes(stored_documents::MANIFEST);
    work.desired.clone_from(&stored.name);
    work.provenance = provenance::digest(bytes);
    let document = stored_documents::read(&manifest.name, bytes).map_err(|error| manifest.one(error))?;
    manifest.tree = Arc::new(document.tree);
    work.stamp(run, &stored, &plain::tags(&manifest.tree, None)).await
}

async fn here(
    run: &Reconcile<'_>,
    stages: &SharedStages,
    manifest: &mut Manifest,
    work: &Work,
) -> Result<Vec<Stored>, Stop> {
    let (stages, values) = (stages.clone(), work.values.clone());
    let desired = manifest.blocking(move |manifest| {
        let done = variables::desired(&*stages, manifest.named(), &values.given, &values.generated);
        done.map_err(|error| manifest.wrong(error))
    });
    let (done, reported) = desired.await??;
    manifest.warnings.extend(reported);
    manifest.tree = Arc::new(done.document);
    let series = run.whose().desired();
    let document = Document {
        series: &series,
        texts: stored_documents::manifest(&manifest.tree),
        annotations: plain::tags(&manifest.tree, None),
    };
    act::documents::store(run, vec![document], manifest, &work.existing).await
}

async fn in_pods(run: &Reconcile<'_>, manifest: &mut Manifest, work: &Work) -> Result<Vec<Stored>, Stop> {
    let series = [run.whose().desired()];
    let text = stored_documents::manifest(&manifest.tree).remove(stored_documents::MANIFEST);
    let text = text.ok_or_else(|| Stop::defect("the manifest has no text"))?;
    let inputs = boson_in_pod::digest(text.as_bytes(), &work.held);
    let site = work.site(run, Stage::Variables, manifest).await?;
    let [output] = &series;
    let job = jobs::interpolation(&site, &run.names.with_ops(), &inputs, output)?;
    jobs::output(run, &job, &series, manifest).await
}
