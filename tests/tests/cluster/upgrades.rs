//! Upgrades of the operator: pods keep their image until something else changes them or the operator rolls them.

use crate::connection::{Connection, Death};
use crate::example::Example;
use crate::operator_tasks::OperatorTask;
use anyhow::ensure;
use boson_tests::{is_quiet, wait_for_value};
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Each StatefulSet with the operator image of its pods.
async fn images(example: &Example) -> BTreeMap<String, String> {
    let sets = example
        .tenant
        .api("apps/v1", "StatefulSet")
        .list(&ListParams::default())
        .await
        .unwrap();
    let image = |set: &Value| {
        let init = set["spec"]["template"]["spec"]["initContainers"].as_array().unwrap();
        let renderer = init.iter().find(|one| one["name"] == "template-render").unwrap();
        renderer["image"].as_str().unwrap().to_string()
    };
    sets.items
        .into_iter()
        .map(|set| (set.name_any(), image(&set.data)))
        .collect()
}

fn of(sets: &[(&str, &str)]) -> BTreeMap<String, String> {
    sets.iter()
        .map(|(set, image)| (set.to_string(), image.to_string()))
        .collect()
}

/// Waits for these StatefulSets, with these images, and these groups in the status. `ready`: meanwhile, pods become
/// ready.
async fn wait_for_sets(example: &Example, sets: &[(&str, &str)], outdated: Value, ready: bool) {
    wait_for_value(&format!("{sets:?} {outdated}"), async || {
        if ready {
            example.tenant.pods_are_ready().await;
        }
        let status = example.deployment().await["status"].clone();
        let listed = status.get("outdatedGroups").cloned().unwrap_or(json!([]));
        let deployed = !ready || status["state"] == "Deployed";
        let images = images(example).await;
        ensure!(
            images == of(sets) && listed == outdated && deployed,
            "{images:#?} {status:#}"
        );
        Ok(())
    })
    .await;
}

fn start(example: &Example, image: &str, roll_outdated: usize) -> OperatorTask {
    let client = Connection::default().client(example.env.client.clone(), Death::Never);
    example.operator_of(client, image, roll_outdated, &image.replace(':', "-"))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_restarts_no_pod_unless_it_is_asked_to() {
    let example = Example::set("upgraded").await;
    let operator = start(&example, "boson:1", 0);
    example.deploy().await;
    example.wait_until_settled().await;
    let (broker, gateway) = ("nats-broker-z0-v1", "nats-gateway-z0-v1");
    wait_for_sets(&example, &[(broker, "boson:1"), (gateway, "boson:1")], json!([]), true).await;
    operator.stop().await;

    let operator = start(&example, "boson:2", 0);
    let group = |name: &str, image: &str| json!({"name": name, "image": image});
    let both = json!([group("broker", "boson:1"), group("gateway", "boson:1")]);
    wait_for_sets(&example, &[(broker, "boson:1"), (gateway, "boson:1")], both, true).await;

    // A StatefulSet that changes for another reason gets the new image.
    let tolerations = "- type: replace\n  path: /instance_groups/name=gateway/env?/bosh/agent/settings/tolerations\n  \
                       value: [{key: x, operator: Exists}]\n";
    example.edit(&format!("{}{tolerations}", Example::ops(0))).await;
    let gateway = "nats-gateway-z0-v2";
    let rest = json!([group("broker", "boson:1")]);
    wait_for_sets(&example, &[(broker, "boson:1"), (gateway, "boson:2")], rest, true).await;
    operator.stop().await;

    // One after the other: the second waits until the first is ready, which has disks and rolls in place.
    let operator = start(&example, "boson:3", 1);
    let rest = json!([group("gateway", "boson:2")]);
    let rolling = [(broker, "boson:3"), (gateway, "boson:2")];
    wait_for_sets(&example, &rolling, rest.clone(), false).await;
    is_quiet("a group that is not ready", &of(&rolling), images(&example)).await;
    wait_for_sets(&example, &rolling, rest, false).await;
    let rolled = [(broker, "boson:3"), ("nats-gateway-z0-v3", "boson:3")];
    wait_for_sets(&example, &rolled, json!([]), true).await;
    operator.stop().await;
}
