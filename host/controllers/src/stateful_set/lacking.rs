//! Pods that lack a disk which their StatefulSet got later. Pure.
//!
//! Volumes of a pod are immutable, so Kubernetes cannot add the disk, and then stops updating the whole StatefulSet. So
//! this controller deletes these pods, one after the other, and their replacements have the disk.

use super::inspect::{is_observed, replicas};
use boson_cluster::client::Error;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

/// Label of a pod: the revision of its StatefulSet.
const REVISION: &str = "controller-revision-hash";

/// What to do.
#[derive(Debug, PartialEq)]
pub(super) enum Step<'p> {
    /// No pod lacks a disk.
    Done,
    /// Replacements are not ready yet.
    Wait,
    /// Delete this one.
    Delete(&'p Pod),
}

/// `pods`: those with the label of the StatefulSet.
pub(super) fn step<'p>(set: &StatefulSet, pods: &'p [Pod]) -> Step<'p> {
    if !pods.iter().any(|pod| lacks(set, pod)) {
        return Step::Done;
    }
    if !is_observed(set) {
        return Step::Wait;
    }
    let newest = set.status.as_ref().and_then(|status| status.update_revision.as_ref());
    // In order, like Kubernetes: while one is stuck, it does not create later ones.
    for name in names(set) {
        let Some(pod) = pods.iter().find(|pod| pod.metadata.name.as_ref() == Some(&name)) else {
            return Step::Wait;
        };
        if pod.metadata.deletion_timestamp.is_some() {
            return Step::Wait;
        }
        // A pod of an older revision may never become ready, and its StatefulSet does not replace it now.
        if lacks(set, pod) || pod.labels().get(REVISION) != newest {
            return Step::Delete(pod);
        }
        if !is_ready(pod) {
            return Step::Wait;
        }
    }
    Step::Done
}

/// The names of its pods, in order.
fn names(set: &StatefulSet) -> impl Iterator<Item = String> {
    let ordinals = set.spec.as_ref().and_then(|spec| spec.ordinals.as_ref());
    let first = ordinals.and_then(|ordinals| ordinals.start).unwrap_or(0);
    let name = set.name_any();
    (first..first.saturating_add(replicas(set))).map(move |ordinal| format!("{name}-{ordinal}"))
}

/// What the user has to do if the operator may not delete the pod.
pub(super) fn to_delete(pod: &Pod, error: &Error) -> String {
    let name = pod.name_any();
    format!(
        "pod '{name}' lacks a disk that its group got later: delete it (kubectl delete pod {name}), because {error}"
    )
}

fn lacks(set: &StatefulSet, pod: &Pod) -> bool {
    let volumes: Vec<_> = pod.spec.iter().flat_map(|spec| &spec.volumes).flatten().collect();
    let mut claims = set.spec.iter().flat_map(|spec| &spec.volume_claim_templates).flatten();
    !claims.all(|claim| {
        let mut named = volumes
            .iter()
            .filter(|volume| Some(&volume.name) == claim.metadata.name.as_ref());
        named.any(|volume| volume.persistent_volume_claim.is_some())
    })
}

fn is_ready(pod: &Pod) -> bool {
    let mut conditions = pod.status.iter().flat_map(|status| &status.conditions).flatten();
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_cluster::client::Fault;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use k8s_openapi::jiff::Timestamp;
    use serde_json::json;

    fn set() -> StatefulSet {
        let set = json!({
            "metadata": {"name": "s", "generation": 1},
            "spec": {"replicas": 2, "volumeClaimTemplates": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]},
            "status": {"replicas": 2, "observedGeneration": 1, "updateRevision": "new"}
        });
        serde_json::from_value(set).unwrap()
    }

    fn pod(ordinal: u32, claims: &[&str], revision: &str, ready: &str) -> Pod {
        let volume = |name: &&str| json!({"name": name, "persistentVolumeClaim": {"claimName": "x"}});
        let pod = json!({
            "metadata": {"name": format!("s-{ordinal}"), "labels": {REVISION: revision}},
            "spec": {"containers": [], "volumes": claims.iter().map(volume).collect::<Vec<_>>()},
            "status": {"conditions": [{"type": "Ready", "status": ready}]}
        });
        serde_json::from_value(pod).unwrap()
    }

    #[test]
    fn pods_are_deleted_one_after_the_other_in_order() {
        let old = |ordinal| pod(ordinal, &["a"], "old", "True");
        let new = |ordinal, ready| pod(ordinal, &["a", "b"], "new", ready);
        let of = |pods: &[Pod]| match step(&set(), pods) {
            Step::Delete(pod) => pod.name_any(),
            other => format!("{other:?}"),
        };
        assert_eq!(of(&[old(1), old(0)]), "s-0");
        assert_eq!(of(&[old(1)]), "Wait", "it is being created");
        assert_eq!(of(&[new(0, "False"), old(1)]), "Wait");
        assert_eq!(of(&[new(0, "True"), old(1)]), "s-1");
        assert_eq!(of(&[new(0, "True"), new(1, "False")]), "Done");
        let stale = pod(0, &["a", "b"], "old", "False");
        assert_eq!(
            of(&[stale, old(1)]),
            "s-0",
            "else a fixed template would never be rolled out"
        );
        let mut going = old(0);
        going.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        assert_eq!(of(&[going, old(1)]), "Wait");
    }

    #[test]
    fn a_pod_that_the_operator_may_not_delete_is_named_with_the_command() {
        let error = Error {
            verb: "delete",
            kind: "Pod".into(),
            resource: "pods".into(),
            name: "s-0".into(),
            fault: Fault::Forbidden,
        };
        let text = to_delete(&pod(0, &["a"], "old", "True"), &error);
        assert!(text.contains("kubectl delete pod s-0"), "{text}");
        assert!(text.contains("'boson-pod-replacement' is not bound"), "{text}");
    }

    #[test]
    fn nothing_is_decided_before_kubernetes_has_observed_the_change() {
        let mut unseen = set();
        unseen.metadata.generation = Some(2);
        assert_eq!(step(&unseen, &[pod(0, &["a"], "new", "True")]), Step::Wait);
    }
}
