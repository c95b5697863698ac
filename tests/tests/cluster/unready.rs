//! Why an instance group is not ready: group, pod, container and reason in the condition of the deployment, in the
//! status of its QuarksStatefulSet, and as an event.

use crate::example::Example;
use crate::objects::{OURS, condition};
use anyhow::ensure;
use boson_tests::cluster::shared;
use boson_tests::{wait_for_value, wait_until};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{Api, ListParams};
use serde_json::{Value, json};

/// Removes the setting by which the gateway's job does not need root.
const AS_ROOT: &str = "\n- {type: remove, path: /instance_groups/name=gateway/jobs/name=gateway/properties/quarks/run/security_context}\n";

async fn pods(example: &Example) -> Vec<String> {
    let pods: Api<Pod> = example.env.api();
    let list = pods.list(&ListParams::default()).await.unwrap();
    let mut names: Vec<String> = list.items.iter().map(ResourceExt::name_any).collect();
    names.sort();
    names
}

async fn ready_message(example: &Example) -> String {
    let deployment = example.deployment().await;
    let ready = condition(&deployment, "Ready").cloned().unwrap_or_default();
    ready["message"].as_str().unwrap_or_default().to_string()
}

async fn said(example: &Example, words: &str) {
    wait_for_value(words, async || {
        ensure!(
            ready_message(example).await.contains(words),
            "{:#}",
            example.deployment().await["status"]
        );
        Ok(())
    })
    .await;
}

/// Reason and note of the events about objects of a kind.
async fn events(example: &Example, kind: &str) -> Vec<(String, String)> {
    let events = example.tenant.list("events.k8s.io/v1", "Event").await;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    events
        .iter()
        .filter(|event| event["regarding"]["kind"] == kind)
        .map(|event| (text(&event["reason"]), text(&event["note"])))
        .collect()
}

fn quota(name: &str, hard: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name}, "spec": {"hard": hard}})
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_passes_the_restricted_profile_and_a_limits_quota_and_violations_are_named() {
    let example = Example::set("restricted-example").await;
    let label = "pod-security.kubernetes.io/enforce";
    shared()
        .unwrap()
        .label_namespace(&example.env.namespace, label, "restricted")
        .unwrap();
    let limits = json!({"limits.cpu": "64", "limits.memory": "64Gi", "requests.cpu": "64", "requests.memory": "64Gi"});
    example.tenant.apply(quota("limits", &limits)).await;
    let (operator, _) = example.operator("first");
    example.deploy().await;
    let all = ["nats-broker-z0-v1-0", "nats-broker-z0-v1-1", "nats-gateway-z0-v1-0"];
    wait_for_value("all pods", async || {
        let pods = pods(&example).await;
        ensure!(pods == all, "{pods:?} {:#}", example.deployment().await["status"]);
        Ok(())
    })
    .await;

    example.edit(&format!("{}{AS_ROOT}", Example::ops(0))).await;
    said(
        &example,
        "nats-gateway: pod 'nats-gateway-z0-v2-0': FailedCreate: violates PodSecurity",
    )
    .await;
    let set = example.tenant.get(OURS, "QuarksStatefulSet", "nats-gateway").await;
    let set = set.unwrap();
    let problem = &set["status"]["problems"][0];
    assert_eq!(
        (&problem["pod"], &problem["reason"]),
        (&"nats-gateway-z0-v2-0".into(), &"FailedCreate".into())
    );
    assert_eq!(condition(&set, "Ready").unwrap()["reason"], "FailedCreate");
    for kind in ["BOSHDeployment", "QuarksStatefulSet"] {
        let is_reported = async || {
            let mut reported = events(&example, kind).await.into_iter();
            reported.any(|(reason, note)| reason == "FailedCreate" && note.contains("violates PodSecurity"))
        };
        wait_until(&format!("an event of the {kind}"), is_reported).await;
    }

    the_next_version_gets_no_pods(&example).await;
    operator.stop().await;
}

/// No more pods are allowed than exist now.
async fn the_next_version_gets_no_pods(example: &Example) {
    example.tenant.apply(quota("few", &json!({"pods": "1"}))).await;
    example.edit(&Example::ops(1)).await;
    said(example, "FailedCreate: exceeded quota: few").await;
    example.tenant.delete("v1", "ResourceQuota", "few").await;
    wait_for_value("another message", async || {
        let message = ready_message(example).await;
        ensure!(!message.contains("FailedCreate"), "{message}");
        Ok(())
    })
    .await;
}
