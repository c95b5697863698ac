//! The content of a link changes, with the operator dying at each write until the consumers have rolled.

use crate::connection::{Connection, Death};
use crate::example::{Example, is_applied, until};
use crate::links::{DIGEST, consumer};
use futures::stream::{self, StreamExt};
use kube::api::{Api, DeleteParams, ListParams};
use serde_json::Value;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Runs at a time.
const LIVES: usize = 4;
const PATIENCE: Duration = Duration::from_secs(120);
/// How long nothing may happen.
const QUIET: Duration = Duration::from_secs(4);
const SECRET: &str = "link-nats-broker-main-broker";

async fn soon(what: &str, holds: impl AsyncFn() -> bool) {
    let waited = tokio::time::timeout(PATIENCE, until(holds)).await;
    assert!(waited.is_ok(), "{what} does not come");
}

/// The operations of the example, and another user of the broker: a property of its link.
fn ops() -> String {
    let path = "/instance_groups/name=broker/jobs/name=broker/properties/broker/user";
    format!("{}- {{type: replace, path: {path}, value: other}}\n", Example::ops(0))
}

async fn workload(example: &Example) -> Value {
    let found = example.any("apps/v1", "Deployment").get("web").await.unwrap();
    serde_json::to_value(found).unwrap()
}

/// Whether a pod has its links. One from before the API server knew the webhook is created again.
async fn has_linked_pod(example: &Example) -> bool {
    let pods: Api<_> = example.any("v1", "Pod");
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
    soon("the example", async || is_applied(&example.deployment().await)).await;
    example.put(consumer("web", "nats")).await;
    soon("a pod with links", async || has_linked_pod(&example).await).await;
    operator.stop().await;
    example
}

/// The change with this death. Returns the number of writes before the consumer had rolled.
async fn change(name: &str, death: Death) -> usize {
    let example = prepared(name).await;
    let before = example.any("v1", "Secret").get(SECRET).await.unwrap().data["data"].clone();
    assert_eq!(workload(&example).await["metadata"]["generation"], 1);
    example.edit(&ops()).await;
    let has_rolled = async || {
        let workload = workload(&example).await;
        workload["spec"]["template"]["metadata"]["annotations"][DIGEST].is_string()
    };
    let first = Connection::default();
    let operator = example.operator_with_links(&first, death, "first");
    soon("the end", async || first.is_cut() || has_rolled().await).await;
    let writes = first.writes.load(Ordering::SeqCst);
    operator.kill().await;
    let operator = example.operator_with_links(&Connection::default(), Death::Never, "second");
    soon(&format!("{death:?}: the rollout"), has_rolled).await;
    tokio::time::sleep(QUIET).await;
    let after = example.any("v1", "Secret").get(SECRET).await.unwrap().data["data"].clone();
    let changed: Vec<&String> = after
        .as_object()
        .unwrap()
        .keys()
        .filter(|key| after[*key] != before[*key])
        .collect();
    assert_eq!(changed, ["broker.user"], "{death:?}");
    assert_eq!(workload(&example).await["metadata"]["generation"], 2, "{death:?}: once");
    operator.stop().await;
    writes
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_at_any_write_of_a_changed_link_rolls_its_consumers_once() {
    let count = change("link-whole", Death::Never).await;
    assert!(
        count >= 3,
        "a version, the Secret of the link, and the workload: {count}"
    );
    let deaths = (0..=count).map(|at| {
        if at % 2 == 0 {
            Death::Before(at)
        } else {
            Death::After(at)
        }
    });
    let lives = stream::iter(deaths.enumerate().map(|(nth, death)| async move {
        change(&format!("link-death-{nth}"), death).await;
    }));
    lives.buffer_unordered(LIVES).collect::<Vec<()>>().await;
}
