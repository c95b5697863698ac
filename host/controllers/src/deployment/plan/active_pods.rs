//! Services of groups with active/passive probes. Pods from before the probes cannot tell whether they are active, so
//! the Service of such a group leads to all of them until the first pod is active. Pure.

use super::object::{self, is_same, is_stateful_set};
use boson_api::QuarksStatefulSetStatus;
use boson_manifest::labels;
use serde::Deserialize;
use serde_json::Value;

/// Services that lead to all pods of a group keep doing so until the group has an active pod.
pub fn keep(wanted: &mut [Value], live: &[Value]) {
    let leads_to_one = |service: &Value| !service["spec"]["selector"][labels::POD_ACTIVE].is_null();
    for service in wanted.iter_mut().filter(|object| leads_to_one(object)) {
        let found = live.iter().find(|found| is_same(found, service));
        let leads_to_all = found.is_some_and(|found| !leads_to_one(found));
        let mut groups = live.iter().filter(|object| is_stateful_set(object));
        let group = groups.find(|group| object::group(group) == object::group(service));
        if leads_to_all && group.is_some_and(|group| !has_active_pod(group)) {
            let selector = service["spec"]["selector"].as_object_mut();
            selector.map(|selector| selector.remove(labels::POD_ACTIVE));
        }
    }
}

fn has_active_pod(group: &Value) -> bool {
    let status = QuarksStatefulSetStatus::deserialize(&group["status"]);
    status.is_ok_and(|status| status.active_pod().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn service(group: &str, selector: Value) -> Value {
        let metadata = json!({"name": format!("d-{group}"), "labels": {labels::INSTANCE_GROUP_NAME: group}});
        json!({"kind": "Service", "metadata": metadata, "spec": {"selector": selector}})
    }

    fn set(group: &str, active: Option<&str>) -> Value {
        let metadata = json!({"name": format!("d-{group}"), "labels": {labels::INSTANCE_GROUP_NAME: group}});
        let status = json!({"ready": true, "activePod": active.map(|name| json!({"name": name, "transitions": 1}))});
        json!({"kind": "QuarksStatefulSet", "metadata": metadata, "status": status})
    }

    #[test]
    fn a_running_group_that_gets_probes_serves_from_all_pods_until_one_is_active() {
        let (all, one) = (json!({"a": "b"}), json!({"a": "b", labels::POD_ACTIVE: "active"}));
        for (live, expected, why) in [
            (vec![], &one, "it is new"),
            (vec![service("g", all.clone()), set("g", None)], &all, "none is active"),
            (vec![service("g", all.clone()), set("g", Some("p"))], &one, "one is active"),
            (vec![service("g", one.clone()), set("g", None)], &one, "it was so before"),
            (vec![service("g", all.clone()), set("h", None)], &one, "it has no pods"),
        ] {
            let mut wanted = vec![service("g", one.clone())];
            keep(&mut wanted, &live);
            assert_eq!(&wanted[0]["spec"]["selector"], expected, "{why}");
        }
    }
}
