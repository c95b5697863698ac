//! A converged deployment: the operator writes nothing unless something changes.

use crate::example::{Example, KINDS, OBJECTS, all_writes, is_applied, writes};
use anyhow::ensure;
use boson_tests::{QUIET_DURATION, is_quiet, wait_for_value, wait_until};
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// How long nothing may be written: longer than the intervals at which controllers look again.
const IDLE_DURATION: Duration = Duration::from_secs(60);
/// Longer than recorded events wait until they are written.
const EVENT_WRITE_DELAY: Duration = Duration::from_secs(15);
/// Edits at shorter intervals count as one series.
const EDIT_INTERVAL: Duration = Duration::from_millis(400);

#[tokio::test(flavor = "multi_thread")]
async fn a_converged_deployment_causes_no_writes_even_after_a_restart() {
    let (example, operator) = Example::running("silent").await;
    sleep(EVENT_WRITE_DELAY).await;
    let here = [example.env.namespace.as_str()];
    let (before, conversions) = (all_writes(&here), example.conversions.load(Ordering::SeqCst));
    assert!(
        before.len() > OBJECTS.len(),
        "the log does not show what operators do: {before:#?}"
    );
    sleep(IDLE_DURATION).await;
    let after = all_writes(&here);
    assert_eq!(after[before.len()..], [], "of {}", before.len());
    assert_eq!(example.conversions.load(Ordering::SeqCst), conversions);
    operator.kill().await;
    let (operator, _) = example.operator("second");
    wait_until("a conversion", async || {
        example.conversions.load(Ordering::SeqCst) > conversions
    })
    .await;
    sleep(EVENT_WRITE_DELAY).await;
    assert_eq!(all_writes(&here)[after.len()..], [], "the restart changed something");
    assert_eq!(
        example.conversions.load(Ordering::SeqCst),
        conversions + 1,
        "once after a restart"
    );
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_deleted_object_is_recreated() {
    let (example, operator) = Example::running("healed").await;
    for (_, kind) in KINDS {
        let objects = example.objects().await;
        // Values come last: everything is regenerated from them.
        let of_kind = |what: &&String| what.starts_with(&format!("{kind} ")) && !what.contains(".var-");
        for what in objects.keys().filter(of_kind) {
            back(&example, what).await;
        }
    }
    example.wait_until_settled().await;
    for what in ["Secret nats.var-broker-password", "QuarksSecret nats.var-broker-tls"] {
        back(&example, what).await;
    }
    example.wait_until_applied().await;
    operator.stop().await;
}

/// Deletes it and waits for a new object of its name.
async fn back(example: &Example, what: &str) {
    let uid = example.objects().await.get(what).and_then(ResourceExt::uid);
    let (kind, name) = what.split_once(' ').unwrap();
    example.delete(kind, name).await;
    let is_back = async || {
        let found = example.objects().await.get(what).and_then(ResourceExt::uid);
        found.is_some() && found != uid
    };
    wait_until(what, is_back).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rapid_series_of_edits_is_converted_once_or_twice() {
    let (example, operator) = Example::running("edits").await;
    sleep(QUIET_DURATION).await;
    let before = example.conversions.load(Ordering::SeqCst);
    let (mut last, mut pauses) = (Instant::now(), 0);
    for edit in 1..=20 {
        example.edit(&Example::ops(edit)).await;
        // A busy machine splits it into several series.
        pauses += usize::from(std::mem::replace(&mut last, Instant::now()).elapsed() > EDIT_INTERVAL);
    }
    let has_last = async || {
        let secret = example.env.api::<Secret>().get("nats.with-ops").await.unwrap();
        let text = String::from_utf8(secret.data.unwrap().remove("manifest.yaml").unwrap().0).unwrap();
        text.contains("connections: 1020") && is_applied(&example.deployment().await)
    };
    wait_until("the last edit", has_last).await;
    sleep(QUIET_DURATION).await;
    let conversions = example.conversions.load(Ordering::SeqCst) - before;
    assert!(
        (1..=2 + pauses).contains(&conversions),
        "{conversions} conversions, {pauses} pauses"
    );
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_operators_at_once_do_no_harm() {
    let example = Example::set("two").await;
    let operators = [example.operator("first"), example.operator("second")];
    example.deploy().await;
    example.wait_until_settled().await;
    sleep(QUIET_DURATION).await;
    let here = [example.env.namespace.as_str()];
    let before = writes(&here);
    let since = async { writes(&here).split_off(before.len()) };
    is_quiet("the other operator", &Vec::new(), since).await;
    let made = |object: &&str| {
        let (kind, name) = object.split_once(' ').unwrap();
        let what = format!("{}s//{name}", kind.to_lowercase());
        let times = before
            .iter()
            .filter(|(_, _, one, code)| *one == what && *code == 201)
            .count();
        times > 1
    };
    let twice: Vec<_> = OBJECTS.into_iter().filter(made).collect();
    assert!(twice.is_empty(), "{twice:?}");
    assert!(
        !before.iter().any(|(_, verb, ..)| verb.starts_with("delete")),
        "{before:#?}"
    );
    for (operator, _) in operators {
        operator.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_changes_back_from_deployed_on_a_change() {
    let example = Example::set("deployed").await;
    let (operator, _) = example.operator("first");
    example.deploy().await;
    let state = async |wanted: &str| {
        wait_for_value(wanted, async || {
            example.tenant.pods_are_ready().await;
            let status = example.deployment().await["status"].clone();
            ensure!(status["state"] == wanted, "{status:#}");
            Ok(())
        })
        .await;
    };
    state("Deployed").await;
    assert_eq!(example.deployment().await["status"]["deployedInstanceGroups"], 2);
    let broken = "- {type: remove, path: /nothing}\n";
    example.edit(broken).await;
    state("Converting to Kubernetes Resources").await;
    let more = format!(
        "{}- {{type: replace, path: /instance_groups/name=gateway/instances, value: 2}}\n",
        Example::ops(1)
    );
    example.edit(&more).await;
    let waits = async || {
        let status = example.deployment().await["status"].clone();
        // The broker's links have the gateway's instances, so it rolls, too.
        let message = status["message"].as_str().unwrap_or_default();
        message.ends_with("of 2 instance groups") && status["state"] == "Converting to Kubernetes Resources"
    };
    wait_until("the wait for both groups", waits).await;
    state("Deployed").await;
    operator.stop().await;
}
