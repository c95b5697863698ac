//! Writes to the cluster: the only part with effects. No object is written before a dry run of all of them.

mod dns;
pub mod documents;
pub mod events;
pub mod garbage;
mod job_sources;
pub mod natives;
pub mod pause;
pub mod plugins;
pub mod post_deploy;
mod preflight;
pub mod status;
mod trial;
pub mod variables;
mod write;

pub use write::{apply, apply_typed, delete_typed};

use super::error::DeployError;
use super::manifest::Manifest;
use super::plan::{Applying, Retaining};
use super::reconcile::Reconcile;
use boson_api::secret::ReclaimPolicy;
use boson_cluster::client::Error;
use boson_cluster::objects::drift;
use preflight::preflight;

/// Marks generated values as retained. The deployment then waits for that.
pub async fn retain(run: &Reconcile<'_>, plan: &Retaining) -> Result<DeployError, Error> {
    for object in &plan.secrets.apply {
        apply(run, object).await?;
    }
    variables::set_policy(run, &plan.removed, ReclaimPolicy::Retain).await?;
    Ok(DeployError::Waiting("the generated values to be retained".into()))
}

/// Creates, changes and deletes what differs. Objects that this deployment does not own are left alone.
pub async fn act(run: &Reconcile<'_>, plan: &Applying, manifest: &Manifest) -> Result<(), DeployError> {
    job_sources::tag(run, &plan.job_sources.tag).await?;
    preflight(run, plan, manifest).await?;
    drift::remove(&run.context.events, run.object, &plan.objects.additions).await?;
    if plan.has_dns {
        dns::make_account(run).await?;
    }
    // What pods mount must exist before they start.
    let created = job_sources::create(run, &plan.job_sources.create).await;
    created.map_err(|error| manifest.refused_if_lasting(error))?;
    for objects in plan.in_order() {
        let written = write::write_all(run, &plan.objects, &objects)
            .await
            .map_err(DeployError::from);
        written.map_err(|error| manifest.refused_if_lasting(error))?;
    }
    for object in &plan.objects.delete {
        run.context.cluster.delete_any(object).await?;
    }
    variables::set_policy(run, &plan.unretained, ReclaimPolicy::Delete).await?;
    if let Some(change) = &plan.change {
        tracing::info!(change = change.note, "changed the deployment");
        events::changed(run.context, run.object, change).await;
    }
    Ok(())
}
