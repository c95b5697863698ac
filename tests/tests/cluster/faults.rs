//! Counts the writes, then dies at each of them: before the request is sent, and after it succeeded but before the
//! answer arrived.

use crate::connection::{Connection, Death};
use crate::operator_tasks::OperatorTasks;
use k8s_openapi::api::core::v1::Secret;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

const OBJECTS: &str = r"
{spec: {type: certificate, secretName: root, request: {certificate: {commonName: root, isCA: true, keyLength: 2048}}}, metadata: {name: root}}
---
{spec: {type: certificate, secretName: leaf, request: {certificate: {commonName: leaf, keyLength: 2048, CARef: {name: root, key: certificate},
  CAKeyRef: {name: root, key: private_key}}}}, metadata: {name: leaf}}
---
{spec: {type: password, secretName: word}, metadata: {name: word}}
";
const NAMES: [&str; 3] = ["root", "leaf", "word"];

/// One run that ends as given, and one after it. Returns the number of writes in the first.
async fn two_lives(env: &OperatorTasks, death: Death) -> usize {
    let (first, second) = (Connection::default(), Connection::default());
    let operator = env.operator_through(first.client(env.client.clone(), death), "first");
    env.apply(OBJECTS).await;
    first.ended_or(env.wait_until_ready(&NAMES)).await;
    operator.kill().await;
    let left: BTreeMap<String, Secret> = env.values().await;
    let operator = env.operator_through(second.client(env.client.clone(), Death::Never), "second");
    env.wait_until_ready(&NAMES).await;
    let found = env.values().await;
    for (name, secret) in &left {
        assert_eq!(found[name].data, secret.data, "{death:?}: {name} has another value");
    }
    assert_eq!(env.text("leaf", "ca").await, env.text("root", "certificate").await);
    let mut landed = first.landed.lock().clone();
    landed.extend(second.landed.lock().iter().cloned());
    let of_secrets = |method: &str| {
        landed
            .iter()
            .filter(|what| what.starts_with(method) && what.ends_with("/secrets"))
            .count()
    };
    assert_eq!(of_secrets("POST"), NAMES.len(), "{death:?}: {landed:#?}");
    assert!(
        !landed.iter().any(|what| what.starts_with("DELETE")),
        "{death:?}: {landed:#?}"
    );
    operator.stop().await;
    first.writes.load(Ordering::SeqCst)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_at_any_write_loses_nothing() {
    let writes = two_lives(&OperatorTasks::set("death-never").await, Death::Never).await;
    assert!(writes >= 6, "three Secrets and three statuses: {writes}");
    for (nth, death) in Death::at_writes(writes).into_iter().enumerate() {
        two_lives(&OperatorTasks::set(&format!("secret-death-{nth}")).await, death).await;
    }
}
