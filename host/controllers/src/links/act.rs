//! Rolls workloads, and reports pods that no workload replaces.

use super::memory::Known;
use super::plan::{Outdated, Owner, Plan, Step, step};
use super::stores::PodMeta;
use super::{Context, DeploymentMeta, MANAGER};
use boson_cluster::client::{Error, Identity, Kind, Notice};
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::PartialObjectMeta;
use std::time::Instant;

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
        let Some(owner) = &one.owner else {
            report(context, &one.pod).await;
            known.settle(one.uid().to_string(), one.digest, Instant::now());
            continue;
        };
        let contents = &known.contents;
        let rolled = workload(context, namespace, owner, &one.pod, |template| {
            step(template, deployment, contents, &context.key)
        });
        match rolled.await {
            Ok(true) => known.settle(owner.uid.clone(), one.digest, Instant::now()),
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(kind = owner.kind, name = owner.name, %error, "cannot roll a workload whose links have changed");
                failed = Some(error);
            }
        }
    }
    failed.map_or(Ok(()), Err)
}

/// Rolls the workload of a pod. Returns whether that is done: an owner that is not found may be found later.
async fn workload(
    context: &Context,
    namespace: &str,
    owner: &Owner,
    pod: &PodMeta,
    step: impl Fn(Option<&ObjectMeta>) -> Step,
) -> Result<bool, Error> {
    let template = |template: Option<&PodTemplateSpec>| step(template.and_then(|template| template.metadata.as_ref()));
    match owner.kind.as_str() {
        "ReplicaSet" => {
            let set: Option<PartialObjectMeta<ReplicaSet>> = context.cluster.get(namespace, &owner.name).await?;
            let Some(set) = set.filter(|set| set.metadata.uid.as_deref() == Some(&owner.uid)) else {
                return Ok(false);
            };
            match super::plan::owner(&set.metadata).filter(|owner| owner.kind == "Deployment") {
                Some(owner) => {
                    let of = |one: &Deployment| template(one.spec.as_ref().map(|spec| &spec.template));
                    one(context, namespace, &owner, of).await
                }
                None => {
                    report(context, pod).await;
                    Ok(true)
                }
            }
        }
        "StatefulSet" => {
            let of = |one: &StatefulSet| template(one.spec.as_ref().map(|spec| &spec.template));
            one(context, namespace, owner, of).await
        }
        "DaemonSet" => {
            let of = |one: &DaemonSet| template(one.spec.as_ref().map(|spec| &spec.template));
            one(context, namespace, owner, of).await
        }
        _ => {
            report(context, pod).await;
            Ok(true)
        }
    }
}

/// Rolls one workload, unless it rolls already. Returns whether it exists.
async fn one<K: Kind>(
    context: &Context,
    namespace: &str,
    owner: &Owner,
    step: impl Fn(&K) -> Step,
) -> Result<bool, Error> {
    let found: Option<K> = context.cluster.get(namespace, &owner.name).await?;
    let found = found.filter(|found| found.meta().uid.as_deref() == Some(&owner.uid));
    let Some(found) = found.filter(|found| found.meta().deletion_timestamp.is_none()) else {
        return Ok(false);
    };
    let Step::Roll(members) = step(&found) else {
        return Ok(true);
    };
    context.cluster.merge(MANAGER, &found, members).await?;
    context.cluster.metrics().link_rolls.inc();
    tracing::info!(
        kind = owner.kind,
        name = owner.name,
        "rolled a workload whose links have changed"
    );
    let notice = Notice {
        warning: false,
        reason: "LinkChanged".into(),
        note: "its pods are replaced, because the content of a link that they consume has changed".into(),
    };
    context.events.emit_all(&found, &[notice]).await;
    Ok(true)
}

/// Reports a pod that no workload replaces.
async fn report(context: &Context, pod: &PodMeta) {
    let notice = Notice {
        warning: true,
        reason: "LinkChanged".into(),
        note:
            "the content of a link that it consumes has changed; delete it and create it again to get the new values: \
               only the pods of Deployments, StatefulSets and DaemonSets are replaced automatically"
                .into(),
    };
    context.events.emit_all(pod, &[notice]).await;
}
