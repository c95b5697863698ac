//! Versions of an instance group: one that never becomes ready, a StatefulSet that a user deletes, and zones that
//! change one after the other. No pod runs here.

use crate::operator_process::{OperatorProcess, PATIENCE, Tenant};
use crate::small_deployment::Small;
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

async fn write(tenant: &Tenant, tier: &str) {
    tenant.config_map("d-manifest", "manifest", &manifest(tier)).await;
}

/// StatefulSets with their pods' UIDs.
type Found = BTreeMap<String, Vec<String>>;

/// The objects in the cluster, after the work of kubelets.
async fn found(tenant: &Tenant) -> Found {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let mut found = Found::new();
    for set in tenant.list("apps/v1", "StatefulSet").await {
        found.insert(text(&set["metadata"]["name"]), Vec::new());
    }
    let ready = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
    for pod in tenant.list("v1", "Pod").await {
        let (metadata, labels) = (&pod["metadata"], &pod["metadata"]["labels"]);
        let set = text(&labels["quarks.cloudfoundry.org/quarks-statefulset-name"]);
        if let Some(pods) = found.get_mut(&set) {
            pods.push(text(&metadata["uid"]));
        }
        if labels["tier"] != "broken" {
            let name = text(&metadata["name"]);
            // It may be deleted by now.
            let _: Result<DynamicObject, _> = tenant
                .api("v1", "Pod")
                .patch_status(&name, &PatchParams::default(), &Patch::Merge(&ready))
                .await;
        }
    }
    found
}

async fn until(tenant: &Tenant, what: &str, holds: impl Fn(&Found, &Value) -> bool) -> Found {
    let began = Instant::now();
    loop {
        let found = found(tenant).await;
        let group = tenant.get(OURS, "QuarksStatefulSet", "d-web").await.unwrap_or_default();
        if holds(&found, &group["status"]) {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "{what} does not come: {found:#?} {group:#}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Waits until the group is ready, with only this StatefulSet.
async fn ready(tenant: &Tenant, set: &str) -> Vec<String> {
    let mut found = until(tenant, set, |found, status| {
        found.keys().eq([set]) && found[set].len() == 1 && status["ready"] == true
    })
    .await;
    found.remove(set).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_never_becomes_ready_is_removed_for_its_fix_within_the_quota() {
    let operator = OperatorProcess::set("rollout", false, &[]).await;
    let tenant = operator.tenant("quota");
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "two"}, "spec": {"hard": {"pods": "2"}}});
    tenant.apply(quota).await;
    write(&tenant, "one").await;
    tenant.deployment("d", &[]).await;
    let first = ready(&tenant, "d-web-v1").await;

    // Two broken ones in a row: one of them at a time, beside the one that serves.
    for version in 2..4 {
        write(&tenant, "broken").await;
        if version == 3 {
            let broken = manifest("broken").replace("domain: example.com", "domain: example.org");
            tenant.config_map("d-manifest", "manifest", &broken).await;
        }
        let set = format!("d-web-v{version}");
        let found = until(&tenant, &set, |found, _| {
            found.keys().eq(["d-web-v1", set.as_str()]) && found[&set].len() == 1
        })
        .await;
        assert_eq!(found["d-web-v1"], first, "the serving version is unchanged");
    }
    write(&tenant, "two").await;
    ready(&tenant, "d-web-v4").await;
}

/// A QuarksStatefulSet that a user writes.
async fn write_set(tenant: &Tenant, tier: &str) {
    let pods = json!({"metadata": {"labels": {"tier": tier}}, "spec": {"containers": [{"name": "c", "image": "example.com/c:1"}]}});
    let template = json!({"spec": {"replicas": 1, "template": pods}});
    tenant.apply(json!({"apiVersion": OURS, "kind": "QuarksStatefulSet", "metadata": {"name": "d-web"}, "spec": {"template": template}}))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reverted_change_starts_no_pod() {
    let operator = OperatorProcess::set("rollback", false, &[]).await;
    let tenant = operator.tenant("back");
    write_set(&tenant, "one").await;
    let first = ready(&tenant, "d-web-v1").await;
    write_set(&tenant, "broken").await;
    until(&tenant, "the broken version", |found, _| {
        found.keys().eq(["d-web-v1", "d-web-v2"])
    })
    .await;
    write_set(&tenant, "one").await;
    assert_eq!(ready(&tenant, "d-web-v1").await, first);
    // The number of the broken one is not used for another template.
    write_set(&tenant, "two").await;
    ready(&tenant, "d-web-v3").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_stateful_set_is_recreated_with_its_number() {
    let operator = OperatorProcess::set("returns", false, &[]).await;
    let tenant = operator.tenant("number");
    write(&tenant, "one").await;
    tenant.deployment("d", &[]).await;
    ready(&tenant, "d-web-v1").await;
    for version in 2..4 {
        write(&tenant, &format!("t{version}")).await;
        ready(&tenant, &format!("d-web-v{version}")).await;
    }
    let before = ready(&tenant, "d-web-v3").await;
    tenant.delete("apps/v1", "StatefulSet", "d-web-v3").await;
    let back = until(&tenant, "its return", |found, status| {
        found.keys().eq(["d-web-v3"])
            && found["d-web-v3"].len() == 1
            && found["d-web-v3"] != before
            && status["ready"] == true
    })
    .await;
    assert_ne!(back["d-web-v3"], before);
    write(&tenant, "last").await;
    ready(&tenant, "d-web-v4").await;
}

/// Three zones with disks, whose names stay through a change.
async fn write_zones(tenant: &Tenant, tier: &str) {
    let container =
        json!({"name": "c", "image": "example.com/c:1", "volumeMounts": [{"name": "data", "mountPath": "/data"}]});
    let claim = json!({"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "none",
        "resources": {"requests": {"storage": "1Mi"}}}});
    let pods = json!({"metadata": {"labels": {"tier": tier}}, "spec": {"containers": [container]}});
    let template = json!({"spec": {"replicas": 1, "template": pods, "volumeClaimTemplates": [claim]}});
    let spec = json!({"zones": ["a", "b", "c"], "template": template});
    tenant
        .apply(json!({"apiVersion": OURS, "kind": "QuarksStatefulSet", "metadata": {"name": "d-web"}, "spec": spec}))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn zones_with_disks_change_one_after_the_other_and_a_broken_one_holds_the_others_back() {
    let mut operator = OperatorProcess::set("zones", false, &[]).await;
    let tenant = operator.tenant("disks");
    let zones = ["d-web-z0-v1", "d-web-z1-v1", "d-web-z2-v1"];
    write_zones(&tenant, "one").await;
    let one = until(&tenant, "all zones", |found, status| {
        found.keys().eq(zones) && status["ready"] == true
    })
    .await;

    write_zones(&tenant, "broken").await;
    let waits = "'d-web-z1-v1', 'd-web-z2-v1' will change when the pods of 'd-web-z0-v1' are ready";
    let is_held = |found: &Found, status: &Value| {
        let message = status["conditions"][0]["message"].as_str().unwrap_or_default();
        message.ends_with(waits) && found[zones[0]].len() == 1 && found[zones[0]] != one[zones[0]]
    };
    let broken = until(&tenant, "the first zone", is_held).await;
    operator.kill();
    operator.start();

    write_zones(&tenant, "two").await;
    let repaired = until(&tenant, "its repair", |found, _| {
        let zone = &found[zones[0]];
        zone.len() == 1 && *zone != broken[zones[0]]
    })
    .await;
    assert_eq!(
        (&repaired[zones[1]], &one[zones[1]]),
        (&broken[zones[1]], &broken[zones[1]])
    );
    let two = until(&tenant, "all zones", |found, status| {
        let is_new = |zone: &str| found[zone].len() == 1 && found[zone] != one[zone];
        // A later zone has a new pod only after the ones before it.
        let changed: Vec<bool> = zones.iter().map(|zone| found[*zone] != one[*zone]).collect();
        assert!(changed.is_sorted_by(|before, after| before >= after), "{found:#?}");
        zones.into_iter().all(is_new) && status["ready"] == true
    })
    .await;
    assert_eq!(two[zones[0]], repaired[zones[0]], "it is replaced only once");
}
