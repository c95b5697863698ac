//! The content of a link changes, with the operator dying at each write until the consumers have rolled.

use crate::connection::{Connection, Death};
use crate::example::Example;
use crate::links::{DIGEST, consumer};
use boson_tests::{QUIET_DURATION, wait_until};
use futures::stream::{self, StreamExt};
use kube::api::{Api, DeleteParams, ListParams};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

/// Runs at a time.
const CONCURRENT_RUNS: usize = 4;
const SECRET: &str = "link-nats-broker-main-broker";
/// The property that changes.
const KEY: &str = "broker.user";

/// The operations of the example, and another user of the broker: a property of its link.
fn ops() -> String {
    let path = "/instance_groups/name=broker/jobs/name=broker/properties/broker/user";
    format!("{}- {{type: replace, path: {path}, value: other}}\n", Example::ops(0))
}

pub async fn workload(example: &Example) -> Value {
    example.tenant.get("apps/v1", "Deployment", "web").await.unwrap()
}

/// Whether a pod has its links. One from before the API server knew the webhook is created again.
pub async fn has_linked_pod(example: &Example) -> bool {
    let pods: Api<_> = example.tenant.api("v1", "Pod");
    let list = pods.list(&ListParams::default().labels("app=web")).await.unwrap();
    let linked =
        |pod: &kube::api::DynamicObject| pod.metadata.annotations.iter().flatten().any(|(key, _)| key == DIGEST);
    for pod in list.items.iter().filter(|pod| !linked(pod)) {
        let name = pod.metadata.name.as_deref().unwrap();
        let _ = pods.delete(name, &DeleteParams::default().grace_period(0)).await;
    }
    list.items.iter().any(linked)
}

/// A consumer of a link runs.
async fn prepared(name: &str) -> Example {
    let example = Example::set(name).await;
    let operator = example.operator_with_links(&Connection::default(), Death::Never, "zero");
    example.deploy().await;
    example.wait_until_applied().await;
    example.tenant.apply(consumer("web", "nats")).await;
    wait_until("a pod with links", async || has_linked_pod(&example).await).await;
    operator.stop().await;
    example
}

/// The writes of the controller of links, and those of the Secrets of links by the controller of deployments.
fn is_of_links(write: &str) -> bool {
    write.contains("fieldManager=boson-links") || write.contains("/secrets/link-")
}

fn of_links() -> Connection {
    Connection {
        numbered: Some(is_of_links),
        ..Connection::default()
    }
}

/// The data of the Secret of the link.
async fn data(example: &Example) -> Value {
    example.tenant.get("v1", "Secret", SECRET).await.unwrap()["data"].clone()
}

/// The keys whose values differ.
fn changed(before: &Value, after: &Value) -> Vec<String> {
    let (before, after) = (before.as_object().unwrap(), after.as_object().unwrap());
    let all: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let differs = |key: &&String| before.get(*key) != after.get(*key);
    all.into_iter().filter(differs).cloned().collect()
}

async fn digest(example: &Example) -> Value {
    workload(example).await["spec"]["template"]["metadata"]["annotations"][DIGEST].clone()
}

/// The change with this death of the first operator. Returns the number of its writes.
async fn change(name: &str, first: Connection, death: Death) -> usize {
    let example = prepared(name).await;
    let before = data(&example).await;
    assert_eq!(workload(&example).await["metadata"]["generation"], 1);
    example.edit(&ops()).await;
    let has_rolled = async || digest(&example).await.is_string();
    let operator = example.operator_with_links(&first, death, "first");
    let done = async {
        wait_until("the rollout", async || has_rolled().await).await;
        // It is not the last write.
        tokio::time::sleep(QUIET_DURATION).await;
    };
    first.ended_or(done).await;
    let writes = first.writes.load(Ordering::SeqCst);
    operator.kill().await;
    let left = changed(&before, &data(&example).await);
    assert!(left.is_empty() || left == [KEY], "{death:?}: {left:?}");
    let operator = example.operator_with_links(&Connection::default(), Death::Never, "second");
    wait_until(&format!("{death:?}: the rollout"), has_rolled).await;
    is_whole(&example, &before, death).await;
    operator.stop().await;
    writes
}

/// The pods of the consumer.
async fn consumers(example: &Example) -> Vec<Value> {
    let pods = example.tenant.api("v1", "Pod");
    let list = pods.list(&ListParams::default().labels("app=web")).await.unwrap();
    let items = list.items.iter();
    items.map(|pod| serde_json::to_value(pod).unwrap()).collect()
}

/// The link has changed as a whole, and its consumers were replaced once: a native workload, and the groups of the
/// deployment itself.
async fn is_whole(example: &Example, before: &Value, death: Death) {
    let digest = digest(example).await;
    let is_current = |pod: &Value| pod["metadata"]["annotations"][DIGEST] == digest;
    let has_current = async || consumers(example).await.iter().any(is_current);
    wait_until(&format!("{death:?}: a pod with the new content"), has_current).await;
    example.wait_until_applied().await;
    tokio::time::sleep(QUIET_DURATION).await;
    assert_eq!(changed(before, &data(example).await), [KEY], "{death:?}");
    assert_eq!(workload(example).await["metadata"]["generation"], 2, "{death:?}: once");
    let objects = example.objects().await;
    for group in ["broker", "gateway"] {
        let newest = |version: u32| objects.contains_key(&format!("Secret nats.ig-resolved.{group}-v{version}"));
        assert!(newest(2) && !newest(3), "{death:?}: {group} has changed once");
    }
}

/// Runs the change with each of these deaths.
async fn die(name: &str, connection: fn() -> Connection, deaths: Vec<Death>) {
    let lives = stream::iter(deaths.into_iter().enumerate().map(|(nth, death)| async move {
        change(&format!("{name}-{nth}"), connection(), death).await;
    }));
    lives.buffer_unordered(CONCURRENT_RUNS).collect::<Vec<()>>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_at_any_write_of_a_changed_link_rolls_its_consumers_once() {
    let count = change("link-whole", Connection::default(), Death::Never).await;
    assert!(
        count >= 3,
        "a version, the Secret of the link, and the workload: {count}"
    );
    die("link-death", Connection::default, Death::at_writes(count)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_before_or_after_each_write_of_a_link_rolls_its_consumers_once() {
    let count = change("link-writes", of_links(), Death::Never).await;
    assert!(
        count >= 3,
        "the Secret of the link, the workload, and an event: {count}"
    );
    die("link-write", of_links, Death::at_writes(count)).await;
}
