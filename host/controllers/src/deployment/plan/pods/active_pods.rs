//! Services of groups with active/passive probes. Pods from before the probes cannot tell whether they are active, so
//! the Service of such a group leads to all pods until the probes are rolled out and a pod is active. Pure.

use crate::deployment::plan::object::{self, is_same, is_stateful_set};
use boson_api::QuarksStatefulSet;
use boson_manifest::labels;
use serde::Deserialize;
use serde_json::Value;

/// Services that lead to all pods of a group keep doing so until the group can serve from its active pod.
pub fn keep(wanted: &mut [Value], live: &[Value]) {
    let leads_to_one = |service: &Value| !service["spec"]["selector"][labels::POD_ACTIVE].is_null();
    for service in wanted.iter_mut().filter(|object| leads_to_one(object)) {
        let found = live.iter().find(|found| is_same(found, service));
        let leads_to_all = found.is_some_and(|found| !leads_to_one(found));
        let mut groups = live.iter().filter(|object| is_stateful_set(object));
        let group = groups.find(|group| object::group(group) == object::group(service));
        if leads_to_all && group.is_some_and(|group| !serves_from_active_pod(group)) {
            let selector = service["spec"]["selector"].as_object_mut();
            selector.map(|selector| selector.remove(labels::POD_ACTIVE));
        }
    }
}

fn serves_from_active_pod(group: &Value) -> bool {
    QuarksStatefulSet::deserialize(group).is_ok_and(|group| group.serves_from_active_pod())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn service(group: &str, selector: &Value) -> Value {
        let metadata = json!({"name": format!("d-{group}"), "labels": {labels::INSTANCE_GROUP_NAME: group}});
        json!({"kind": "Service", "metadata": metadata, "spec": {"selector": selector}})
    }

    fn set(group: &str, active: Option<&str>, rollout: &str) -> Value {
        let labels = json!({labels::INSTANCE_GROUP_NAME: group});
        let condition = json!({"type": "Progressing", "status": "True", "reason": rollout, "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z"});
        json!({
            "apiVersion": labels::API_VERSION, "kind": "QuarksStatefulSet",
            "metadata": {"name": format!("d-{group}"), "generation": 2, "labels": labels},
            "spec": {"template": {}, "activePassiveProbes": {"c": {"exec": {"command": ["true"]}}}},
            "status": {
                "ready": true, "observedGeneration": 2, "conditions": [condition],
                "activePod": {"name": active, "transitions": 1}
            }
        })
    }

    #[test]
    fn a_running_group_that_gets_probes_serves_from_all_pods_until_they_are_rolled_out_and_one_is_active() {
        let (all, one) = (json!({"a": "b"}), json!({"a": "b", labels::POD_ACTIVE: "active"}));
        let done = "RolledOut";
        for (live, expected, why) in [
            (vec![], &one, "it is new"),
            (vec![service("g", &all), set("g", None, done)], &all, "none is active"),
            (
                vec![service("g", &all), set("g", Some("p"), "CanaryFailed")],
                &all,
                "the others have no sidecar",
            ),
            (
                vec![service("g", &all), set("g", Some("p"), done)],
                &one,
                "one is active",
            ),
            (vec![service("g", &one), set("g", None, done)], &one, "it was so before"),
            (vec![service("g", &all), set("h", None, done)], &one, "it has no pods"),
        ] {
            let mut wanted = vec![service("g", &one)];
            keep(&mut wanted, &live);
            assert_eq!(&wanted[0]["spec"]["selector"], expected, "{why}");
        }
    }
}
