//! Rolls workloads, and reports pods that no workload replaces.

use super::memory::Known;
use super::plan::{Outdated, Plan, Workload, roll_patch};
use super::stores::PodMeta;
use super::{Context, DeploymentMeta, MANAGER};
use boson_cluster::client::{Error, Identity, Kind, Notice};
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::PartialObjectMeta;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Instant;

/// Reason of the events about a link.
const LINK_CHANGED: &str = "LinkChanged";

/// Carries out the plan, and remembers what is done. Returns whether there is anything to check again.
///
/// # Errors
/// See [`Error`].
pub(super) async fn act(
    context: &Context,
    deployment: &DeploymentMeta,
    mut known: Known,
    plan: Plan,
) -> Result<bool, Error> {
    let Identity { namespace, name, .. } = Identity::of(deployment)?;
    known.settled = plan.settled;
    let rolled = roll(context, namespace, name, plan.due, &mut known).await;
    let has_settled = !known.settled.is_empty();
    context.memory.put(namespace, name, known);
    rolled.map(|()| has_settled)
}

/// Rolls these workloads, and notes what is done in `known`. A workload that cannot be changed does not keep the others
/// from it.
async fn roll(
    context: &Context,
    namespace: &str,
    deployment: &str,
    due: Vec<Outdated>,
    known: &mut Known,
) -> Result<(), Error> {
    let mut failed = None;
    for one in due {
        let contents = &known.contents;
        let workload = one.workload;
        let rolled = roll_one(context, namespace, &workload, &one.pod, |template| {
            roll_patch(template, deployment, contents, &context.key)
        });
        match rolled.await {
            Ok(true) => known.record(workload.uid, one.digest, Instant::now()),
            Ok(false) => {}
            Err(error) => {
                let Workload { kind, name, .. } = workload;
                tracing::warn!(kind, name, %error, "cannot roll a workload whose links have changed");
                failed = Some(error);
            }
        }
    }
    failed.map_or(Ok(()), Err)
}

/// Rolls the workload of a pod. Returns whether that is done: a workload that is not found may be found later.
async fn roll_one(
    context: &Context,
    namespace: &str,
    workload: &Workload,
    pod: &PodMeta,
    step: impl Fn(&ObjectMeta) -> Option<Value>,
) -> Result<bool, Error> {
    match workload.kind.as_str() {
        "ReplicaSet" => {
            let set: Option<PartialObjectMeta<ReplicaSet>> = context.cluster.get(namespace, &workload.name).await?;
            let Some(set) = set.filter(|set| workload.is_same(&set.metadata)) else {
                return Ok(false);
            };
            if let Some(deployment) = workload.deployment(&set.metadata) {
                return roll_workload::<Deployment>(context, namespace, &deployment, step).await;
            }
        }
        "StatefulSet" => return roll_workload::<StatefulSet>(context, namespace, workload, step).await,
        "DaemonSet" => return roll_workload::<DaemonSet>(context, namespace, workload, step).await,
        _ => {}
    }
    report(context, pod).await;
    Ok(true)
}

/// Rolls one workload, unless it rolls already. Returns whether it exists.
async fn roll_workload<K: Kind>(
    context: &Context,
    namespace: &str,
    workload: &Workload,
    step: impl Fn(&ObjectMeta) -> Option<Value>,
) -> Result<bool, Error> {
    let found: Option<K> = context.cluster.get(namespace, &workload.name).await?;
    let found = found.filter(|found| workload.is_same(found.meta()));
    let Some(found) = found.filter(|found| found.meta().deletion_timestamp.is_none()) else {
        return Ok(false);
    };
    let object = json!(found);
    let template = object.pointer("/spec/template/metadata");
    let template = template.and_then(|template| ObjectMeta::deserialize(template).ok());
    let Some(members) = template.and_then(|template| step(&template)) else {
        return Ok(true);
    };
    context.cluster.merge(MANAGER, &found, members).await?;
    context.cluster.metrics().link_rolls.inc();
    tracing::info!(
        kind = workload.kind,
        name = workload.name,
        "rolled a workload whose links have changed"
    );
    let note = "its pods are replaced, because the content of a link that they consume has changed";
    let notice = Notice::normal(LINK_CHANGED, note);
    context.events.emit_all(&found, &[notice]).await;
    Ok(true)
}

/// Reports a pod that no workload replaces.
async fn report(context: &Context, pod: &PodMeta) {
    let note = "the content of a link that it consumes has changed; delete it and create it again to get the new \
                values: only the pods of Deployments, StatefulSets and DaemonSets are replaced automatically";
    let notice = Notice::warning(LINK_CHANGED, note);
    context.events.emit_all(pod, &[notice]).await;
}
