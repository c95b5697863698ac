//! Pods that lack a disk which their StatefulSet got later. Pure.
//!
//! Volumes of a pod are immutable, so Kubernetes cannot add the disk, and then stops updating the whole StatefulSet. So this controller deletes these
//! pods, one after the other, and their replacements have the disk.

use super::disks::list;
use boson_cluster::client::Error;
use boson_cluster::objects;
use serde_json::Value;

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
    Delete(&'p Value),
}

/// `set`: a StatefulSet. `pods`: those with its label.
pub(super) fn step<'p>(set: &Value, pods: &'p [Value]) -> Step<'p> {
    if !pods.iter().any(|pod| lacks(set, pod)) {
        return Step::Done;
    }
    if set["status"]["observedGeneration"] != set["metadata"]["generation"] {
        return Step::Wait;
    }
    let newest = &set["status"]["updateRevision"];
    let first = set["spec"]["ordinals"]["start"].as_u64().unwrap_or(0);
    let count = set["spec"]["replicas"].as_u64().unwrap_or(1);
    // In order, like Kubernetes: while one is stuck, it does not create later ones.
    for ordinal in first..first.saturating_add(count) {
        let name = format!("{}-{ordinal}", set["metadata"]["name"].as_str().unwrap_or_default());
        let Some(pod) = pods.iter().find(|pod| pod["metadata"]["name"] == name.as_str()) else {
            return Step::Wait;
        };
        if objects::is_going(pod) {
            return Step::Wait;
        }
        // A pod of an older revision may never become ready, and its StatefulSet does not replace it now.
        if lacks(set, pod) || pod["metadata"]["labels"][REVISION] != *newest {
            return Step::Delete(pod);
        }
        if !is_ready(pod) {
            return Step::Wait;
        }
    }
    Step::Done
}

/// What the user has to do if the operator may not delete the pod.
pub(super) fn to_delete(pod: &Value, error: &Error) -> String {
    let name = pod["metadata"]["name"].as_str().unwrap_or_default();
    format!(
        "pod '{name}' lacks a disk that its group got later: delete it (kubectl delete pod {name}), because {error}"
    )
}

fn lacks(set: &Value, pod: &Value) -> bool {
    let volumes = list(&pod["spec"]["volumes"]);
    let is_there = |claim: &Value| {
        let named = |volume: &&Value| volume["name"] == claim["metadata"]["name"];
        let mut named = volumes.iter().filter(named);
        named.any(|volume| volume["persistentVolumeClaim"].is_object())
    };
    !list(&set["spec"]["volumeClaimTemplates"]).iter().all(is_there)
}

fn is_ready(pod: &Value) -> bool {
    let mut conditions = list(&pod["status"]["conditions"]).iter();
    conditions.any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_cluster::client::Fault;
    use serde_json::json;

    fn set() -> Value {
        json!({
            "metadata": {"name": "s", "generation": 1},
            "spec": {"replicas": 2, "volumeClaimTemplates": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]},
            "status": {"observedGeneration": 1, "updateRevision": "new"}
        })
    }

    fn pod(ordinal: u32, claims: &[&str], revision: &str, ready: &str) -> Value {
        let volume = |name: &&str| json!({"name": name, "persistentVolumeClaim": {"claimName": "x"}});
        json!({
            "metadata": {"name": format!("s-{ordinal}"), "labels": {REVISION: revision}},
            "spec": {"volumes": claims.iter().map(volume).collect::<Vec<_>>()},
            "status": {"conditions": [{"type": "Ready", "status": ready}]}
        })
    }

    #[test]
    fn pods_are_deleted_one_after_the_other_in_order() {
        let old = |ordinal| pod(ordinal, &["a"], "old", "True");
        let new = |ordinal, ready| pod(ordinal, &["a", "b"], "new", ready);
        let of = |pods: &[Value]| match step(&set(), pods) {
            Step::Delete(pod) => pod["metadata"]["name"].as_str().unwrap().to_string(),
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
        going["metadata"]["deletionTimestamp"] = "now".into();
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
        unseen["metadata"]["generation"] = 2.into();
        assert_eq!(step(&unseen, &[pod(0, &["a"], "new", "True")]), Step::Wait);
    }
}
