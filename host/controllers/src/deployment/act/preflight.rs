//! What is checked before anything is written: name conflicts, a dry run of all objects, quotas. A change that is
//! applied only in part would leave neither the old state nor the new one.

use super::trial;
use super::write::MAX_CONCURRENT_WRITES;
use crate::codes;
use crate::deployment::context::MANAGER;
use crate::deployment::error::{DeployError, refusal};
use crate::deployment::manifest::Manifest;
use crate::deployment::observe;
use crate::deployment::plan::{Applying, quota};
use crate::deployment::reconcile::Reconcile;
use boson_cluster::objects::Plan;
use boson_cluster::objects::conflicts::{Conflicts, Owner, owner_of};
use boson_pipeline::Diagnostic;
use futures::{FutureExt, StreamExt, stream};
use k8s_openapi::api::core::v1::Secret;
use serde_json::{Value, json};

/// Fails if the plan cannot be carried out as a whole.
pub async fn preflight(run: &Reconcile<'_>, plan: &Applying, manifest: &Manifest) -> Result<(), DeployError> {
    check_names(run, plan.objects.new_objects()).await?;
    if let Some(name) = plan.terminating_service() {
        return Err(DeployError::Waiting(format!("Service '{name}' to be deleted")));
    }
    dry_run(run, &plan.objects, manifest).await?;
    check_quotas(run, plan, manifest).await
}

/// Fails if an object that is about to be created has a name conflict.
pub async fn check_names<'o>(run: &Reconcile<'_>, objects: impl Iterator<Item = &'o Value>) -> Result<(), DeployError> {
    let conflicts = Conflicts::find(&run.context.cluster, run.namespace, objects, &run.owner).await?;
    if let Some(message) = conflicts.message() {
        return Err(name_conflict(message));
    }
    match conflicts.leaving.as_slice() {
        [] => Ok(()),
        leaving => Err(DeployError::Waiting(format!("{} to be deleted", leaving.join(", ")))),
    }
}

/// A dry run of all objects, and of the workloads that other controllers will create for them.
async fn dry_run(run: &Reconcile<'_>, plan: &Plan, manifest: &Manifest) -> Result<(), DeployError> {
    let cluster = &run.context.cluster;
    // The API server would refuse replacements while the old objects exist.
    let objects = plan.apply.iter().filter(|object| plan.replaced(object).is_none());
    let objects = objects.map(|object| cluster.try_any(MANAGER, object).map(Result::err).boxed());
    let workloads = plan.apply.iter().filter_map(|object| {
        let workload = trial::workload(object)?;
        let tried = async move { trial::refusal(cluster.try_any(MANAGER, &workload).await.err()?, object) };
        Some(tried.boxed())
    });
    let asked: Vec<_> = objects.chain(workloads).collect();
    let answers: Vec<_> = stream::iter(asked).buffered(MAX_CONCURRENT_WRITES).collect().await;
    let mut refusals = Vec::new();
    for error in answers.into_iter().flatten() {
        if error.is_lasting() {
            refusals.push(refusal(&error))
        } else {
            return Err(error.into());
        }
    }
    if refusals.is_empty() {
        Ok(())
    } else {
        Err(manifest.refused(refusals))
    }
}

/// Refuses new objects that are together too many for a quota.
async fn check_quotas(run: &Reconcile<'_>, plan: &Applying, manifest: &Manifest) -> Result<(), DeployError> {
    let config_map = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    let more = std::iter::repeat_n(&config_map, plan.job_sources.create.len());
    let new: Vec<&Value> = plan.objects.new_objects().chain(more).collect();
    if new.is_empty() {
        return Ok(());
    }
    let exceeded = quota::exceeded_errors(&observe::quotas(run).await?, &new);
    if exceeded.is_empty() {
        Ok(())
    } else {
        Err(manifest.refused(exceeded))
    }
}

/// Fails if a Secret that is about to be written exists and is not owned by this deployment.
pub fn check_secret_owner(run: &Reconcile<'_>, secret: Option<&Secret>) -> Result<(), DeployError> {
    let Some(secret) = secret else { return Ok(()) };
    let name = secret.metadata.name.as_deref().unwrap_or_default();
    match owner_of(&secret.metadata, &run.owner, &run.names.deployment()) {
        Owner::Ours => Ok(()),
        Owner::Leaving => Err(DeployError::Waiting(format!("Secret '{name}' to be deleted"))),
        Owner::Other(other) => Err(name_conflict(format!("there is already Secret '{name}' ({other})"))),
    }
}

fn name_conflict(message: String) -> DeployError {
    let error = Diagnostic::error(codes::DEPLOYMENT_NAME_CONFLICT, message)
        .help("delete it, or give the deployment or the instance group another name; the operator retries every 30 s");
    DeployError::conflict(vec![error])
}
