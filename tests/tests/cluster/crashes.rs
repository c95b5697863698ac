//! A whole deployment, with the operator dying at each write: before the request is sent, or after it succeeded but
//! before the answer arrived.

use crate::connection::{Connection, Death};
use crate::example::{Example, writes};
use futures::stream::{self, StreamExt};
use kube::api::DynamicObject;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// Runs at a time.
const CONCURRENT_RUNS: usize = 4;

/// One run that ends as given, and one after it. Returns the number of writes in the first, and the namespace.
async fn two_lives(name: &str, death: Death) -> (usize, String) {
    let example = Example::set(name).await;
    let (first, second) = (Connection::default(), Connection::default());
    let operator = example.operator_through(&first, death, "first");
    example.deploy().await;
    first.ended_or(example.wait_until_settled()).await;
    operator.kill().await;
    let left = values(&example.objects().await);
    let operator = example.operator_through(&second, Death::Never, "second");
    example.wait_until_settled().await;
    let found = values(&example.objects().await);
    for (name, value) in &left {
        assert_eq!(found.get(name), Some(value), "{death:?}: {name} has another value");
    }
    operator.stop().await;
    (first.writes.load(Ordering::SeqCst), example.env.namespace)
}

/// The data of all Secrets.
fn values(objects: &BTreeMap<String, DynamicObject>) -> BTreeMap<String, String> {
    let secrets = objects.iter().filter(|(name, _)| name.starts_with("Secret "));
    secrets
        .map(|(name, object)| (name.clone(), object.data["data"].to_string()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_at_any_write_of_a_deployment_loses_nothing_and_creates_nothing_twice() {
    let (count, whole) = two_lives("whole", Death::Never).await;
    assert!(count >= 30, "{count}");
    let deaths = Death::at_writes(count).into_iter();
    let lives = stream::iter(deaths.enumerate().map(|(nth, death)| async move {
        let (_, namespace) = two_lives(&format!("death-{nth}"), death).await;
        namespace
    }));
    let mut namespaces: Vec<String> = lives.buffer_unordered(CONCURRENT_RUNS).collect().await;
    namespaces.push(whole);
    let names: Vec<&str> = namespaces.iter().map(String::as_str).collect();
    let mut made: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (namespace, verb, what, code) in writes(&names) {
        assert!(!verb.starts_with("delete"), "{namespace}: {what} was deleted");
        if code == 201 {
            *made.entry((namespace, what)).or_default() += 1;
        }
    }
    assert!(made.len() > 20 * namespaces.len(), "{}", made.len());
    let twice: Vec<_> = made.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "{twice:#?}");
}
