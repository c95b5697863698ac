//! Why a group is not ready, as kubelet and scheduler report it.

use super::conversion::load_releases;
use crate::objects::{condition, config_map};
use crate::operator::Environment;
use boson_tests::cluster::with_node;
use serde_json::Value;

#[test]
fn errors_of_kubelet_and_scheduler_are_reported_with_pod_and_container() {
    let Some(cluster) = with_node().unwrap() else { return };
    let mut env = Environment::with_pods(cluster, "unready").unwrap();
    env.mode = "InProcess";
    load_releases(cluster, &env).unwrap();
    env.deploy().unwrap();
    let message = |deployment: &Value| {
        let ready = condition(deployment, "Ready").cloned().unwrap_or_default();
        ready["message"].as_str().unwrap_or_default().to_string()
    };
    let reported = |words: &str| {
        env.wait_for_deployment(words, |deployment| message(deployment).contains(words))
            .unwrap();
    };
    // No node is in the zone z1.
    reported("nats-gateway: pod 'nats-gateway-z0-v1-0': Unschedulable: 0/1 nodes are available");
    let change = |name: &str, ops: &str| {
        env.apply(&[config_map(name, "ops", ops), env.deployment(&["nats-scale", name])])
            .unwrap();
    };
    let anywhere = "- {type: remove, path: /instance_groups/name=gateway/azs}\n";
    let crash = "- type: replace\n  path: /instance_groups/name=gateway/jobs/name=gateway/properties/quarks/bpm?\n  \
                 value: {processes: [{name: gateway, executable: /bin/sh, args: [-c, exit 7], hooks: {pre_start: /bin/true}}]}\n";
    change("crash", &format!("{anywhere}{crash}"));
    reported("container 'gateway-gateway': CrashLoopBackOff: it ended with code 7");
    let events = env.kubectl(&["get", "events", "--output=json"]).unwrap();
    let events: Value = serde_json::from_str(&events).unwrap();
    let mut events = events["items"].as_array().unwrap().iter();
    assert!(
        events
            .any(|event| event["involvedObject"]["kind"] == "BOSHDeployment" && event["reason"] == "CrashLoopBackOff"),
        "no event"
    );
}
