//! Warnings when a BOSHDeployment is deleted whose links others use: deployments that consume what it shares, and pods
//! that ask for its links. A deletion is never refused, and does not depend on the operator.

use super::Reviewers;
use super::answer::Answer;
use super::configuration::DELETION_TIMEOUT_SECONDS;
use crate::links::NOT_ENDED;
use boson_api::BoshDeployment;
use boson_api::deployment::InputKind;
use boson_cluster::client::Error;
use boson_manifest::labels::CONSUMER;
use boson_manifest::names::Names;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::DynamicObject;
use kube::core::admission::AdmissionRequest;
use std::collections::BTreeSet;
use std::time::Duration;

/// Our own limit, shorter than that of the API server, so that the answer can say that nothing was checked.
const REVIEW_TIMEOUT: Duration = Duration::from_millis(DELETION_TIMEOUT_SECONDS as u64 * 1000 - 700);
/// How many deletions are reviewed at a time; each holds the deployments of a namespace.
pub(super) const MAX_CONCURRENT_REVIEWS: usize = 4;
/// Characters of a warning with names: the API server cuts longer ones than 256.
const MAX_WARNING_CHARS: usize = 240;

/// Label that Kubernetes sets on the pods of a Deployment: the end of the name of their ReplicaSet.
const POD_TEMPLATE_HASH: &str = "pod-template-hash";

/// The answer to a request: it is always allowed.
pub(super) async fn review(reviewers: &Reviewers, request: &AdmissionRequest<DynamicObject>) -> Answer {
    let namespace = request.namespace.as_deref().unwrap_or_default();
    if !reviewers.serves(namespace) {
        return Answer::allow("elsewhere", Vec::new());
    }
    // A deletion has no new object. That of a collection has no name of its own.
    let old = request.old_object.as_ref().and_then(|old| old.metadata.name.as_deref());
    let name = old.unwrap_or(&request.name);
    match tokio::time::timeout(REVIEW_TIMEOUT, warnings(reviewers, namespace, name)).await {
        Ok(Ok(warnings)) => Answer::reviewed(warnings),
        Ok(Err(error)) => Answer::allow("failed", vec![unchecked_warning(&error.to_string())]),
        Err(_) => Answer::allow("late", vec![unchecked_warning("that would have taken too long")]),
    }
}

/// Finds out who uses the links of a deployment.
async fn warnings(reviewers: &Reviewers, namespace: &str, name: &str) -> Result<Vec<String>, Error> {
    // No namespace gets more than half of the slots, or it could delay the deletions of all others.
    let _slot = reviewers.deletions.next(namespace).await;
    let Ok(names) = Names::new(name, namespace, "") else {
        return Ok(Vec::new());
    };
    let cluster = &reviewers.context.cluster;
    let deployments: Vec<BoshDeployment> = cluster.list(namespace, "").await?;
    let selector = format!("{CONSUMER}={}", names.deployment());
    // A pod that has ended uses no link any more.
    let pods = cluster.list_metadata_with_fields::<Pod>(namespace, &selector, NOT_ENDED);
    let lines = [deployments_warning(&deployments, name), pods_warning(&pods.await?)];
    Ok(lines.into_iter().flatten().collect())
}

fn unchecked_warning(why: &str) -> String {
    format!("whether other deployments or pods use its links was not checked: {why}")
}

/// The warning about deployments that consume a link of this one.
fn deployments_warning(all: &[BoshDeployment], deleted: &str) -> Option<String> {
    let wanted = format!("deployment/{deleted}");
    let consumes = |deployment: &&BoshDeployment| {
        let inputs = deployment.status.iter().flat_map(|status| &status.inputs);
        let mut links = inputs.filter(|input| input.kind == InputKind::Link);
        deployment.metadata.deletion_timestamp.is_none() && links.any(|input| input.name == wanted)
    };
    let names = all.iter().filter(consumes).filter_map(|one| one.metadata.name.clone());
    list_names(
        "other deployments use its links; they keep the last values, and cannot be updated without it:",
        names.collect(),
    )
}

/// The warning about pods that ask for a link of this deployment, by their workloads.
fn pods_warning(pods: &[ObjectMeta]) -> Option<String> {
    let here = pods.iter().filter(|pod| pod.deletion_timestamp.is_none());
    list_names(
        "pods use its links; new pods of their workloads are refused without it:",
        here.filter_map(workload).collect(),
    )
}

/// The workload of a pod: `Deployment/web`.
fn workload(pod: &ObjectMeta) -> Option<String> {
    let mut owners = pod.owner_references.iter().flatten();
    let Some(owner) = owners.find(|owner| owner.controller == Some(true)) else {
        return Some(format!("Pod/{}", pod.name.as_deref()?));
    };
    // The name of a ReplicaSet of a Deployment ends with the hash of the template.
    let hash = pod.labels.as_ref().and_then(|labels| labels.get(POD_TEMPLATE_HASH));
    let deployment = hash.and_then(|hash| owner.name.strip_suffix(hash)?.strip_suffix('-'));
    Some(match deployment.filter(|_| owner.kind == "ReplicaSet") {
        Some(name) => format!("Deployment/{name}"),
        None => format!("{}/{}", owner.kind, owner.name),
    })
}

/// A line with as many of the names as fit; none without names.
fn list_names(what: &str, names: BTreeSet<String>) -> Option<String> {
    if names.is_empty() {
        return None;
    }
    let (mut line, mut left) = (what.to_string(), names.len());
    for (nth, name) in names.iter().enumerate() {
        let comma = if nth == 0 { " " } else { ", " };
        let more = format!(" and {left} more");
        if line.len() + comma.len() + name.len() + more.len() > MAX_WARNING_CHARS {
            break;
        }
        line = line + comma + name;
        left -= 1;
    }
    Some(match left {
        0 => line,
        _ if left == names.len() => format!("{line} {left}"),
        _ => format!("{line} and {left} more"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn deployment(name: &str, inputs: Value) -> BoshDeployment {
        let value = json!({
            "apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "BOSHDeployment", "metadata": {"name": name},
            "spec": {"manifest": {"type": "configmap", "name": "m"}}, "status": {"inputs": inputs},
        });
        serde_json::from_value(value).unwrap()
    }

    fn input(kind: &str, name: &str) -> Value {
        json!({"kind": kind, "name": name, "digest": "d"})
    }

    fn pod(name: &str, owner: Option<(&str, &str)>, hash: Option<&str>) -> ObjectMeta {
        let owner = owner.map(
            |(kind, name)| json!({"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": "u", "controller": true}),
        );
        let labels = hash.map(|hash| json!({POD_TEMPLATE_HASH: hash}));
        let owners: Vec<Value> = owner.into_iter().collect();
        serde_json::from_value(json!({"name": name, "ownerReferences": owners, "labels": labels})).unwrap()
    }

    #[test]
    fn consumers_are_named_by_what_a_user_has_written() {
        let all = [
            deployment("d", json!([input("link", "deployment/p"), input("manifest", "x")])),
            deployment("e", json!([input("link", "deployment/pp")])),
            deployment(
                "f",
                json!([input("link", "secret/p"), input("manifest", "deployment/p")]),
            ),
            deployment("p", json!([])),
        ];
        let warning = deployments_warning(&all, "p").unwrap();
        assert!(warning.ends_with("cannot be updated without it: d"), "{warning}");
        assert_eq!(deployments_warning(&all, "q"), None);
        let pods = [
            pod("web-5d-x", Some(("ReplicaSet", "web-5d")), Some("5d")),
            pod("web-5d-y", Some(("ReplicaSet", "web-5d")), Some("5d")),
            pod("own-1", Some(("ReplicaSet", "own")), None),
            pod("store-0", Some(("StatefulSet", "store")), None),
            pod("bare", None, None),
        ];
        let warning = pods_warning(&pods).unwrap();
        assert!(
            warning.ends_with("without it: Deployment/web, Pod/bare, ReplicaSet/own, StatefulSet/store"),
            "{warning}"
        );
        assert_eq!(pods_warning(&[]), None);
    }

    #[test]
    fn a_warning_is_one_line_that_the_api_server_passes_on_whole() {
        let names = |length: usize| (0..100).map(|nth| format!("{nth:0length$}")).collect::<BTreeSet<_>>();
        for length in [2, 30, 100, 253] {
            let line = list_names("pods use its links:", names(length)).unwrap();
            assert!(line.len() <= MAX_WARNING_CHARS, "{line}");
            assert!(line.ends_with(" more") || line == "pods use its links: 100", "{line}");
        }
    }
}
