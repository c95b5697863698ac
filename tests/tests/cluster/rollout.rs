//! Versions of an instance group: one that never becomes ready, and a StatefulSet that a user deletes. No pod runs
//! here.

use crate::desk::{Desk, PATIENCE, Room};
use crate::small::Small;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const OURS: &str = "quarks.cloudfoundry.org/v1alpha1";

/// A group of one instance; pods with the tier `broken` never become ready.
fn manifest(tier: &str) -> String {
    let small = Small {
        settings: &format!("labels: {{tier: {tier}}}"),
        ..Small::default()
    };
    small.manifest()
}

async fn write(room: &Room, tier: &str) {
    room.config_map("d-manifest", "manifest", &manifest(tier)).await;
}

/// StatefulSets with their pods' UIDs.
type Found = BTreeMap<String, Vec<String>>;

/// The objects in the cluster, after the work of kubelets.
async fn found(room: &Room) -> Found {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let mut found = Found::new();
    for set in room.list("apps/v1", "StatefulSet").await {
        found.insert(text(&set["metadata"]["name"]), Vec::new());
    }
    let ready = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
    for pod in room.list("v1", "Pod").await {
        let (metadata, labels) = (&pod["metadata"], &pod["metadata"]["labels"]);
        let set = text(&labels["quarks.cloudfoundry.org/quarks-statefulset-name"]);
        if let Some(pods) = found.get_mut(&set) {
            pods.push(text(&metadata["uid"]));
        }
        if labels["tier"] != "broken" {
            let name = text(&metadata["name"]);
            // It may be deleted by now.
            let _: Result<DynamicObject, _> = room
                .api("v1", "Pod")
                .patch_status(&name, &PatchParams::default(), &Patch::Merge(&ready))
                .await;
        }
    }
    found
}

async fn until(room: &Room, what: &str, holds: impl Fn(&Found, &Value) -> bool) -> Found {
    let began = Instant::now();
    loop {
        let found = found(room).await;
        let group = room.get(OURS, "QuarksStatefulSet", "d-web").await.unwrap_or_default();
        if holds(&found, &group["status"]) {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "{what} does not come: {found:#?} {group:#}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Waits until the group is ready, with only this StatefulSet.
async fn ready(room: &Room, set: &str) -> Vec<String> {
    let mut found = until(room, set, |found, status| {
        found.keys().eq([set]) && found[set].len() == 1 && status["ready"] == true
    })
    .await;
    found.remove(set).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_never_becomes_ready_is_removed_for_its_fix_within_the_quota() {
    let desk = Desk::set("rollout", false, &[]).await;
    let room = desk.room("quota");
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "two"}, "spec": {"hard": {"pods": "2"}}});
    room.apply(quota).await;
    write(&room, "one").await;
    room.deployment("d", &[]).await;
    let first = ready(&room, "d-web-v1").await;

    // Two broken ones in a row: one of them at a time, beside the one that serves.
    for version in 2..4 {
        write(&room, "broken").await;
        if version == 3 {
            let broken = manifest("broken").replace("domain: example.com", "domain: example.org");
            room.config_map("d-manifest", "manifest", &broken).await;
        }
        let set = format!("d-web-v{version}");
        let found = until(&room, &set, |found, _| {
            found.keys().eq(["d-web-v1", set.as_str()]) && found[&set].len() == 1
        })
        .await;
        assert_eq!(found["d-web-v1"], first, "the serving version is unchanged");
    }
    write(&room, "two").await;
    ready(&room, "d-web-v4").await;
}

/// A QuarksStatefulSet that a user writes.
async fn write_set(room: &Room, tier: &str) {
    let pods = json!({"metadata": {"labels": {"tier": tier}}, "spec": {"containers": [{"name": "c", "image": "example.com/c:1"}]}});
    let template = json!({"spec": {"replicas": 1, "template": pods}});
    room.apply(json!({"apiVersion": OURS, "kind": "QuarksStatefulSet", "metadata": {"name": "d-web"}, "spec": {"template": template}}))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reverted_change_starts_no_pod() {
    let desk = Desk::set("rollback", false, &[]).await;
    let room = desk.room("back");
    write_set(&room, "one").await;
    let first = ready(&room, "d-web-v1").await;
    write_set(&room, "broken").await;
    until(&room, "the broken version", |found, _| {
        found.keys().eq(["d-web-v1", "d-web-v2"])
    })
    .await;
    write_set(&room, "one").await;
    assert_eq!(ready(&room, "d-web-v1").await, first);
    // The number of the broken one is not used for another template.
    write_set(&room, "two").await;
    ready(&room, "d-web-v3").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_stateful_set_is_recreated_with_its_number() {
    let desk = Desk::set("returns", false, &[]).await;
    let room = desk.room("number");
    write(&room, "one").await;
    room.deployment("d", &[]).await;
    ready(&room, "d-web-v1").await;
    for version in 2..4 {
        write(&room, &format!("t{version}")).await;
        ready(&room, &format!("d-web-v{version}")).await;
    }
    let before = ready(&room, "d-web-v3").await;
    room.delete("apps/v1", "StatefulSet", "d-web-v3").await;
    let back = until(&room, "its return", |found, status| {
        found.keys().eq(["d-web-v3"])
            && found["d-web-v3"].len() == 1
            && found["d-web-v3"] != before
            && status["ready"] == true
    })
    .await;
    assert_ne!(back["d-web-v3"], before);
    write(&room, "last").await;
    ready(&room, "d-web-v4").await;
}
