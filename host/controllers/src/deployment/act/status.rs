//! Writes the status of a deployment.

use crate::deployment::context::{Context, MANAGER};
use crate::deployment::status::{self, Observed, Outcome};
use boson_api::{BoshDeployment, BoshDeploymentStatus, ConditionStatus};
use boson_cluster::client::{Error, NamespacedName};
use boson_manifest::labels;
use boson_plugins::PluginProblem;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::{Resource, ResourceExt};

/// Writes the first status of an object that has none; returns the updated object.
pub async fn write_created(context: &Context, object: &BoshDeployment) -> Result<Option<BoshDeployment>, Error> {
    let status = status::created(&now());
    match context.cluster.set_status(MANAGER, object, &status).await {
        Ok(object) => Ok(Some(object)),
        // The object has changed: its watch event requeues it.
        Err(error) if error.is_race() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes the status after a reconcile, if it has changed.
pub async fn write(
    context: &Context,
    object: &BoshDeployment,
    new: &BoshDeploymentStatus,
    key: &NamespacedName,
) -> Result<(), Error> {
    let is_ready = |one: &boson_api::Condition| one.kind == "Ready" && one.status == ConditionStatus::True;
    count(context, key, Some(new.conditions.iter().any(is_ready)));
    if new.outdated_groups.is_empty() && new.deployed_instance_groups == new.total_instance_groups {
        context.memory.rollouts.set(key, None);
    }
    if object.status.as_ref() == Some(new) {
        return Ok(());
    }
    let (state, message) = (new.state.as_ref().map(tracing::field::debug), new.message.as_deref());
    tracing::info!(state, message, "the status changes");
    let schedule = &context.memory.schedule;
    match context.cluster.set_status(MANAGER, object, new).await {
        // A write that changes nothing causes no watch event: the cached object is already current.
        Ok(now) if now.resource_version() != object.resource_version() => {
            schedule.record_replaced(key, object.resource_version());
        }
        Ok(_) => {}
        // The watch event of the other change requeues the object; what could not be reported now must be found again.
        Err(error) if error.is_race() => schedule.forget_outcome(key),
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Reports that a new generation is not applied yet; else the conditions would still describe the previous one.
pub async fn report_delay(
    context: &Context,
    object: &BoshDeployment,
    error: &Error,
    plugin_problems: Vec<PluginProblem>,
) {
    let generation = object.meta().generation;
    let old = object.status.as_ref();
    let Some(old) = old.filter(|old| old.observed_generation != generation) else {
        return;
    };
    let observed = Observed::as_before(old, generation, Outcome::Waiting(error.to_string()), plugin_problems);
    let new = status::after(old, &observed, &now());
    if let Err(error) = context.cluster.set_status(MANAGER, object, &new).await {
        tracing::debug!(%error, "cannot report the delay");
    }
}

/// Reports once, in the status and as an event, that the namespace has no label. Skips namespaces with the label of
/// another operator, and deployments that already have a status.
pub async fn report_unserved(context: &Context, object: &BoshDeployment, namespace: &str) -> Result<(), Error> {
    // An operator for a list of namespaces cannot read others.
    let Some(id) = context.scope.monitored_id().filter(|_| object.status.is_none()) else {
        return Ok(());
    };
    let found = context.cluster.namespace(namespace).await?;
    if found.is_none_or(|found| found.labels().contains_key(labels::MONITORED)) {
        return Ok(());
    }
    let (status, notice) = status::unserved(object, namespace, id, &now());
    match context.cluster.set_status(MANAGER, object, &status).await {
        Ok(_) => {}
        // Another operator serves it after all.
        Err(error) if error.is_race() => return Ok(()),
        Err(error) => return Err(error),
    }
    context.events.emit_all(object, &[notice]).await;
    Ok(())
}

/// Counts the deployment in the metrics; none: it is deleted.
pub fn count(context: &Context, key: &NamespacedName, ready: Option<bool>) {
    let key = format!("{}/{}", key.0, key.1);
    context.cluster.metrics().deployments.set(&key, ready);
}

fn now() -> Time {
    Time(Timestamp::now())
}
