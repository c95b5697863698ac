//! Changes by others: those of admission stay and cause no writes; those by hand are reverted.

use crate::example::{Example, writes};
use crate::mutating::{INJECTED, MIRROR, Webhook};
use anyhow::ensure;
use boson_tests::cluster::shared;
use boson_tests::{QUIET_DURATION, is_quiet, wait_for_value};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::{Value, json};
use tokio::time::sleep;

const SET: &str = "nats-broker-z0-v1";
const SERVICE: &str = "nats-broker";

fn kubectl(example: &Example, arguments: &[&str]) {
    let namespace = ["--namespace", &example.env.namespace];
    shared().unwrap().kubectl(namespace.iter().chain(arguments)).unwrap();
}

async fn get(example: &Example, api_version: &str, kind: &str, name: &str) -> Value {
    example.tenant.get(api_version, kind, name).await.unwrap()
}

async fn set(example: &Example) -> Value {
    get(example, "apps/v1", "StatefulSet", SET).await
}

fn pods(set: &Value) -> &Value {
    &set["spec"]["template"]["spec"]
}

fn has(list: &Value, key: &str, name: &str) -> bool {
    list.as_array().into_iter().flatten().any(|item| item[key] == name)
}

/// With the changes of the webhook.
fn is_injected(set: &Value) -> bool {
    let (pods, container) = (pods(set), &pods(set)["containers"][0]);
    has(&pods["tolerations"], "key", INJECTED)
        && has(&pods["volumes"], "name", INJECTED)
        && has(&container["env"], "name", INJECTED)
        && container["image"].as_str().unwrap().starts_with(MIRROR)
}

async fn wait_until_deployed(example: &Example) {
    wait_for_value("Deployed", async || {
        example.tenant.pods_are_ready().await;
        let status = example.deployment().await["status"].clone();
        ensure!(status["state"] == "Deployed", "{status:#} {:#}", set(example).await);
        Ok(())
    })
    .await;
}

/// Whether all pods were made from the template that `kubectl rollout restart` has changed.
async fn is_restarted(example: &Example) -> bool {
    example.tenant.pods_are_ready().await;
    let pods = example.env.api::<Pod>().list(&ListParams::default()).await.unwrap();
    let mut of_set = pods
        .items
        .iter()
        .filter(|pod| pod.name_any().starts_with(SET))
        .peekable();
    let restarted = |pod: &Pod| pod.annotations().contains_key("kubectl.kubernetes.io/restartedAt");
    of_set.peek().is_some() && of_set.all(restarted)
}

/// Waits until the StatefulSet meets the condition.
async fn wait_for_set(example: &Example, what: &str, holds: impl Fn(&Value) -> bool) {
    wait_for_value(what, async || {
        let set = set(example).await;
        ensure!(holds(&set), "{set:#}");
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_by_admission_stay_and_cause_no_writes() {
    let example = Example::set("injected").await;
    let _webhook = Webhook::start(&example.env.namespace).await;
    let (operator, _) = example.operator("first");
    example.deploy().await;
    example.wait_until_settled().await;
    wait_until_deployed(&example).await;
    assert!(is_injected(&set(&example).await), "{:#}", set(&example).await);
    sleep(QUIET_DURATION).await;
    let here = [example.env.namespace.as_str()];
    let before = writes(&here);
    // Both controllers reconcile everything again.
    for object in [format!("statefulset/{SET}"), format!("service/{SERVICE}")] {
        kubectl(&example, &["annotate", &object, "example.com/reconcile=yes"]);
    }
    let since = async { writes(&here).split_off(before.len()) };
    is_quiet("what admission has changed", &Vec::new(), since).await;
    assert!(is_injected(&set(&example).await));
    assert_eq!(example.deployment().await["status"]["state"], "Deployed");
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_by_hand_are_reverted() {
    let example = Example::set("byhand").await;
    let _webhook = Webhook::start(&example.env.namespace).await;
    let (operator, _) = example.operator("first");
    example.deploy().await;
    example.wait_until_settled().await;
    wait_until_deployed(&example).await;
    let object = format!("statefulset/{SET}");

    // A variable that the operator does not set.
    kubectl(&example, &["set", "env", &object, "DEBUG=1"]);
    wait_for_set(&example, "a variable's end", |set| {
        !has(&pods(set)["containers"][0]["env"], "name", "DEBUG")
    })
    .await;
    let more = json!({"spec": {"template": {"spec": {"volumes": [{"name": "more", "emptyDir": {}}]}}}});
    kubectl(&example, &["patch", &object, "--patch", &more.to_string()]);
    wait_for_set(&example, "a volume's end", |set| {
        !has(&pods(set)["volumes"], "name", "more")
    })
    .await;
    // Another value for a field that the operator sets.
    kubectl(&example, &["scale", &object, "--replicas=5"]);
    wait_for_set(&example, "the number of pods", |set| set["spec"]["replicas"] != 5).await;
    // Anyone may restart pods.
    kubectl(&example, &["rollout", "restart", &object]);
    wait_for_value("the restart of the pods", async || {
        ensure!(is_restarted(&example).await, "{:#}", set(&example).await);
        Ok(())
    })
    .await;
    wait_until_deployed(&example).await;
    let restarted = set(&example).await;
    let annotations = &restarted["spec"]["template"]["metadata"]["annotations"];
    assert!(
        annotations["kubectl.kubernetes.io/restartedAt"].is_string(),
        "{annotations}"
    );
    assert!(is_injected(&restarted), "what the webhook adds stays: {restarted:#}");

    a_service_is_as_before(&example).await;
    for words in [
        "env 'DEBUG' (set by 'kubectl-set')",
        "volumes 'more' (set by 'kubectl-patch')",
        "ports '9 TCP'",
    ] {
        let has_words = |_: &str, note: &str| note.contains(words);
        example.tenant.wait_for_event(words, has_words).await;
    }
    operator.stop().await;
}

/// An additional key in its selector would leave it without endpoints.
async fn a_service_is_as_before(example: &Example) {
    let service = async || get(example, "v1", "Service", SERVICE).await["spec"].clone();
    let before = service().await;
    let selector = json!({"spec": {"selector": {"no-pod": "has-this"}}}).to_string();
    kubectl(example, &["patch", "service", SERVICE, "--patch", &selector]);
    let port = json!([{"op": "add", "path": "/spec/ports/-", "value": {"name": "more", "port": 9}}]).to_string();
    kubectl(example, &["patch", "service", SERVICE, "--type=json", "--patch", &port]);
    wait_for_value("the Service as it was", async || {
        let now = service().await;
        ensure!(now == before, "{now:#} is not {before:#}");
        Ok(())
    })
    .await;
}
