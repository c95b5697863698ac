//! Stores the documents between the steps of a conversion: each step creates a version of a Secret, unless the newest
//! one has the same content.

use super::preflight::check_secret_owner;
use crate::deployment::context::MANAGER;
use crate::deployment::error::DeployError;
use crate::deployment::manifest::Manifest;
use crate::deployment::observe;
use crate::deployment::plan::documents::{Document, PendingChange, Stored, content, is_up_to_date, provenance};
use crate::deployment::reconcile::Reconcile;
use boson_cluster::objects::versioned::{Content, Next, Series};
use boson_pipeline::diagnostic::all;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::BTreeMap;

/// Stores the manifest after ops; while the deployment is paused, with the one from before the pause and what differs.
pub async fn store_manifest(run: &Reconcile<'_>, manifest: &Manifest) -> Result<(), DeployError> {
    let live = observe::secret(run, &run.names.with_ops()).await?;
    check_secret_owner(run, live.as_ref())?;
    let pending = match live.as_ref().filter(|_| run.object.spec.paused).cloned() {
        Some(live) => {
            manifest
                .blocking(move |manifest| PendingChange::of(&live, &manifest.tree))
                .await?
        }
        None => None,
    };
    let with = |pending: Option<&PendingChange>| run.ownership().with_ops(&manifest.tree, pending);
    let mut wanted = with(pending.as_ref());
    // Two manifests may be too large for a Secret, in which one has a place.
    for pending in pending.into_iter().flat_map(PendingChange::shorter) {
        wanted = wanted.or_else(|_| with(Some(&pending)));
    }
    let wanted = wanted.map_err(|error| manifest.error(error))?;
    if !live.is_some_and(|live| is_up_to_date(&wanted, &live)) {
        run.context.cluster.apply(MANAGER, &wanted).await?;
    }
    Ok(())
}

/// Stores each document, as a new version if its text has changed. `existing`: all versions.
pub async fn store(
    run: &Reconcile<'_>,
    documents: Vec<Document<'_>>,
    manifest: &Manifest,
    existing: &[ObjectMeta],
) -> Result<Vec<Stored>, DeployError> {
    // Texts that are too large are reported before anything is written.
    let contents = documents.into_iter().map(|document| {
        let content = content(&document.series.name, document.texts);
        content.map(|content| (document.series, content, document.annotations))
    });
    let contents = all(contents).map_err(|errors| manifest.errors(errors))?;
    let mut stored = Vec::new();
    for (series, content, annotations) in contents {
        let secret = find_or_create_version(run, series, existing, content, annotations).await?;
        stored.push(Stored::new(series, secret)?);
    }
    Ok(stored)
}

/// The version with this content; creates it if needed, with these annotations.
async fn find_or_create_version(
    run: &Reconcile<'_>,
    series: &Series,
    existing: &[ObjectMeta],
    content: Content,
    annotations: BTreeMap<String, String>,
) -> Result<Secret, DeployError> {
    let changed = || DeployError::Waiting(format!("the new version of {}", series.name));
    let newest = match series.newest_of_any_owner(existing) {
        None => None,
        // It was deleted meanwhile; its number must not be reused, so list again.
        Some(name) => Some(observe::secret(run, name).await?.ok_or_else(changed)?),
    };
    let mut secret = match series.next(newest.as_ref(), content) {
        Next::Keep(_, secret) => return Ok(*secret),
        Next::Make(_, secret) => secret,
    };
    secret.metadata.annotations.get_or_insert_default().extend(annotations);
    let Some(name) = secret.metadata.name.clone() else {
        return Err(DeployError::defect(&format!(
            "a new version of {} has no name",
            series.name
        )));
    };
    match run.context.cluster.create(MANAGER, &*secret).await? {
        Some(made) => Ok(made),
        // Another process was faster, or an earlier try succeeded: read again.
        None => {
            check_secret_owner(run, observe::secret(run, &name).await?.as_ref())?;
            Err(changed())
        }
    }
}

/// Sets annotations of a document: its tags, and that it is made from the present desired manifest.
pub async fn annotate(
    run: &Reconcile<'_>,
    one: &Stored,
    annotations: &BTreeMap<String, String>,
) -> Result<(), DeployError> {
    if let Some(members) = provenance::annotation_patch(&one.secret, annotations) {
        run.context.cluster.merge(MANAGER, &one.secret, members).await?;
    }
    Ok(())
}
