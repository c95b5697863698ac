//! Changes of an instance group: versions that never become ready, a StatefulSet that a user deletes, canaries, and
//! zones that change one after the other. No pod runs here.

use crate::kubelet::report;
use crate::objects::OURS;
use crate::operator_process::{OperatorProcess, Tenant};
use crate::small_deployment::Small;
use anyhow::ensure;
use boson_tests::{wait_for_value, wait_until};
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A group of one instance, whose pods tolerate this tier of nodes.
fn manifest(tier: &str) -> String {
    let small = Small {
        settings: &format!("tolerations: [{{key: {tier}, operator: Exists}}]"),
        ..Small::default()
    };
    small.manifest()
}

async fn write(tenant: &Tenant, tier: &str) {
    tenant.apply_manifest("d", &manifest(tier)).await;
}

/// StatefulSets with their pods' UIDs.
pub type Found = BTreeMap<String, Vec<String>>;

/// Pods of the tier `broken` never become ready.
fn is_broken(pod: &Value) -> bool {
    let mut tolerations = pod["spec"]["tolerations"].as_array().into_iter().flatten();
    pod["metadata"]["labels"]["tier"] == "broken" || tolerations.any(|one| one["key"] == "broken")
}

/// The objects in the cluster, after the work of kubelets.
pub async fn found(tenant: &Tenant) -> Found {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let mut found = Found::new();
    for set in tenant.list("apps/v1", "StatefulSet").await {
        found.insert(text(&set["metadata"]["name"]), Vec::new());
    }
    let pods = tenant.list("v1", "Pod").await;
    for pod in &pods {
        let (metadata, labels) = (&pod["metadata"], &pod["metadata"]["labels"]);
        let set = text(&labels["quarks.cloudfoundry.org/quarks-statefulset-name"]);
        if let Some(pods) = found.get_mut(&set) {
            pods.push(text(&metadata["uid"]));
        }
    }
    work_as_kubelets(tenant, &pods).await;
    found
}

/// Reports pods as ready, and broken ones as running only.
pub async fn work_as_kubelets(tenant: &Tenant, pods: &[Value]) {
    let ready = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
    for pod in pods {
        let container = json!({"name": "c", "image": "i", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"running": {"startedAt": pod["metadata"]["creationTimestamp"]}}});
        let unready = json!({"phase": "Running", "containerStatuses": [container]});
        let status = if is_broken(pod) { &unready } else { &ready }.clone();
        let metadata = serde_json::from_value(pod["metadata"].clone()).unwrap();
        // It may be deleted or replaced by now.
        let _ = report(&tenant.pods(), &metadata, status).await;
    }
}

async fn wait_for_group(tenant: &Tenant, what: &str, holds: impl FnMut(&Found, &Value) -> bool) -> Found {
    let holds = RefCell::new(holds);
    wait_for_value(what, async || {
        // The pods of this status or a later one.
        let group = tenant.get(OURS, "QuarksStatefulSet", "d-web").await.unwrap_or_default();
        let found = found(tenant).await;
        let is_met = holds.borrow_mut()(&found, &group["status"]);
        ensure!(is_met, "{found:#?} {group:#}");
        Ok(found)
    })
    .await
}

/// Waits until the group is ready, with only this StatefulSet.
async fn wait_until_ready(tenant: &Tenant, set: &str) -> Vec<String> {
    let mut found = wait_for_group(tenant, set, |found, status| {
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
    tenant.deploy("d", &manifest("one")).await;
    let first = wait_until_ready(&tenant, "d-web-v1").await;

    // Two broken ones in a row: one of them at a time, beside the one that serves.
    for version in 2..4 {
        write(&tenant, "broken").await;
        if version == 3 {
            let broken = manifest("broken").replace("domain: example.com", "domain: example.org");
            tenant.apply_manifest("d", &broken).await;
        }
        let set = format!("d-web-v{version}");
        let found = wait_for_group(&tenant, &set, |found, _| {
            found.keys().eq(["d-web-v1", set.as_str()]) && found[&set].len() == 1
        })
        .await;
        assert_eq!(found["d-web-v1"], first, "the serving version is unchanged");
    }
    write(&tenant, "two").await;
    wait_until_ready(&tenant, "d-web-v4").await;
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
    let first = wait_until_ready(&tenant, "d-web-v1").await;
    write_set(&tenant, "broken").await;
    wait_for_group(&tenant, "the broken version", |found, _| {
        found.keys().eq(["d-web-v1", "d-web-v2"])
    })
    .await;
    write_set(&tenant, "one").await;
    assert_eq!(wait_until_ready(&tenant, "d-web-v1").await, first);
    // The number of the broken one is not used for another template.
    write_set(&tenant, "two").await;
    wait_until_ready(&tenant, "d-web-v3").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_stateful_set_is_recreated_with_its_number() {
    let operator = OperatorProcess::set("returns", false, &[]).await;
    let tenant = operator.tenant("number");
    tenant.deploy("d", &manifest("one")).await;
    wait_until_ready(&tenant, "d-web-v1").await;
    for version in 2..4 {
        write(&tenant, &format!("t{version}")).await;
        wait_until_ready(&tenant, &format!("d-web-v{version}")).await;
    }
    let before = wait_until_ready(&tenant, "d-web-v3").await;
    tenant.delete("apps/v1", "StatefulSet", "d-web-v3").await;
    let back = wait_for_group(&tenant, "its return", |found, status| {
        found.keys().eq(["d-web-v3"])
            && found["d-web-v3"].len() == 1
            && found["d-web-v3"] != before
            && status["ready"] == true
    })
    .await;
    assert_ne!(back["d-web-v3"], before);
    write(&tenant, "last").await;
    wait_until_ready(&tenant, "d-web-v4").await;
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
    let one = wait_for_group(&tenant, "all zones", |found, status| {
        found.keys().eq(zones) && status["ready"] == true
    })
    .await;

    write_zones(&tenant, "broken").await;
    let waits = "2 instances are yet to be updated, after 'd-web-z0-v1-0'";
    let is_held = |found: &Found, status: &Value| {
        let message = status["conditions"][0]["message"].as_str().unwrap_or_default();
        message.ends_with(waits) && found[zones[0]].len() == 1 && found[zones[0]] != one[zones[0]]
    };
    let broken = wait_for_group(&tenant, "the first zone", is_held).await;
    operator.kill();
    operator.start();

    write_zones(&tenant, "two").await;
    let repaired = wait_for_group(&tenant, "its repair", |found, _| {
        let zone = &found[zones[0]];
        zone.len() == 1 && *zone != broken[zones[0]]
    })
    .await;
    assert_eq!(
        (&repaired[zones[1]], &one[zones[1]]),
        (&broken[zones[1]], &broken[zones[1]])
    );
    let two = wait_for_group(&tenant, "all zones", |found, status| {
        let is_new = |zone: &str| found[zone].len() == 1 && found[zone] != one[zone];
        // A later zone has a new pod only after the ones before it.
        let changed: Vec<bool> = zones.iter().map(|zone| found[*zone] != one[*zone]).collect();
        assert!(changed.is_sorted_by(|before, after| before >= after), "{found:#?}");
        zones.into_iter().all(is_new) && status["ready"] == true
    })
    .await;
    assert_eq!(two[zones[0]], repaired[zones[0]], "it is replaced only once");
}

/// Three instances, one of them a canary. With disks, they are replaced in place.
async fn write_instances(tenant: &Tenant, tier: &str, with_disks: bool) {
    let claim = json!({"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "none",
        "resources": {"requests": {"storage": "1Mi"}}}});
    let claims = if with_disks { vec![claim] } else { Vec::new() };
    let annotations = json!({
        "quarks.cloudfoundry.org/canaries": "1",
        "quarks.cloudfoundry.org/max-in-flight": "1",
        "quarks.cloudfoundry.org/canary-watch-time-ms": "0-1500",
    });
    let pods = json!({"metadata": {"labels": {"tier": tier}}, "spec": {"containers": [{"name": "c", "image": "example.com/c:1"}]}});
    let template = json!({"metadata": {"annotations": annotations},
        "spec": {"replicas": 3, "template": pods, "volumeClaimTemplates": claims}});
    tenant
        .apply(json!({"apiVersion": OURS, "kind": "QuarksStatefulSet", "metadata": {"name": "d-web"}, "spec": {"template": template}}))
        .await;
}

fn has_failed(status: &Value) -> bool {
    status["conditions"][0]["reason"] == "CanaryFailed"
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_canary_leaves_the_other_instances_as_they_are_until_the_manifest_changes() {
    let operator = OperatorProcess::set("canary", false, &[]).await;
    let tenant = operator.tenant("canary");
    let all = |set: &'static str| {
        move |found: &Found, status: &Value| found.keys().eq([set]) && found[set].len() == 3 && status["ready"] == true
    };
    write_instances(&tenant, "one", false).await;
    let one = wait_for_group(&tenant, "all instances", all("d-web-v1")).await;
    write_instances(&tenant, "broken", false).await;
    let broken = wait_for_group(&tenant, "the failed canary", |_, status| has_failed(status)).await;
    assert_eq!((broken["d-web-v2"].len(), &broken["d-web-v1"]), (1, &one["d-web-v1"]));
    // The manifest before it starts nothing, another one begins again.
    write_instances(&tenant, "one", false).await;
    let back = wait_for_group(&tenant, "the way back", all("d-web-v1")).await;
    assert_eq!(back, one);
    write_instances(&tenant, "two", false).await;
    let pods = |found: &Found, set: &str| found.get(set).map_or(0, Vec::len);
    let is_bounded = |found: &Found| (3..=4).contains(&(pods(found, "d-web-v1") + pods(found, "d-web-v3")));
    wait_for_group(&tenant, "some of the instances", |found, _| {
        assert!(
            is_bounded(found),
            "each instance once, and one more at most: {found:#?}"
        );
        pods(found, "d-web-v3") == 2 && pods(found, "d-web-v1") == 2
    })
    .await;
    // Those that the older version still has stay.
    write_instances(&tenant, "one", false).await;
    let back = wait_for_group(&tenant, "the way back", |found, status| {
        let all_pods: usize = found.values().map(Vec::len).sum();
        // One that the newer version has begun with ends while the older one begins with another.
        assert!((3..=5).contains(&all_pods), "{found:#?}");
        all("d-web-v1")(found, status)
    })
    .await;
    let stay = |uid: &&String| back["d-web-v1"].contains(uid);
    let stayed = one["d-web-v1"].iter().filter(stay).count();
    assert!((1..=2).contains(&stayed), "{back:#?} {one:#?}");
    let set = tenant.get("apps/v1", "StatefulSet", "d-web-v1").await.unwrap();
    assert!(set["spec"]["ordinals"].is_null(), "{set:#}");
    write_instances(&tenant, "two", false).await;
    wait_for_group(&tenant, "all instances", |found, status| {
        assert!(is_bounded(found), "{found:#?}");
        all("d-web-v3")(found, status)
    })
    .await;
}

/// The StatefulSet of instances with disks.
const DISKS_SET: &str = "d-web-v1";

fn is_whole(found: &Found, status: &Value) -> bool {
    found.keys().eq([DISKS_SET]) && found[DISKS_SET].len() == 3 && status["ready"] == true
}

/// The instances whose pods are the same.
fn kept(found: &Found, before: &Found) -> Vec<usize> {
    let is_there = |at: &usize| found[DISKS_SET].contains(&before[DISKS_SET][*at]);
    (0..3).filter(is_there).collect()
}

/// Waits until the instances are replaced, each once and in their order.
async fn replaced_in_order(tenant: &Tenant, what: &str, before: &Found) -> Found {
    let mut steps = vec![vec![0, 1, 2]];
    let after = wait_for_group(tenant, what, |found, status| {
        let now = kept(found, before);
        if steps.last() != Some(&now) {
            steps.push(now);
        }
        steps.last().is_some_and(Vec::is_empty) && is_whole(found, status)
    })
    .await;
    assert_eq!(steps, [vec![0, 1, 2], vec![1, 2], vec![2], Vec::new()]);
    after
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_with_disks_are_replaced_once_each_after_the_canary() {
    let mut operator = OperatorProcess::set("canary-disks", false, &[]).await;
    let tenant = operator.tenant("canary-disks");
    write_instances(&tenant, "one", true).await;
    let one = wait_for_group(&tenant, "all instances", is_whole).await;
    write_instances(&tenant, "broken", true).await;
    let broken = wait_for_group(&tenant, "the failed canary", |_, status| has_failed(status)).await;
    assert_eq!(kept(&broken, &one), [1, 2]);
    operator.kill();
    operator.start();

    // A pod that is lost meanwhile comes back as it was.
    let tier = async |object: &'static str| {
        let set = tenant.get("apps/v1", "StatefulSet", object).await.unwrap();
        set["spec"]["template"]["metadata"]["labels"]["tier"].clone()
    };
    wait_until("the template before it", async || tier(DISKS_SET).await == "one").await;
    tenant.delete("v1", "Pod", "d-web-v1-2").await;
    let broken = wait_for_group(&tenant, "the lost pod", |found, status| {
        found[DISKS_SET].len() == 3 && kept(found, &broken) == [0, 1] && has_failed(status)
    })
    .await;
    let lost = tenant.get("v1", "Pod", "d-web-v1-2").await.unwrap();
    assert_eq!(lost["metadata"]["labels"]["tier"], "one");

    write_instances(&tenant, "one", true).await;
    let back = wait_for_group(&tenant, "the way back", is_whole).await;
    assert_eq!(kept(&back, &broken), [1, 2], "only the canary is replaced");

    write_instances(&tenant, "two", true).await;
    let two = replaced_in_order(&tenant, "all instances", &back).await;

    // As `kubectl rollout restart` does it.
    let annotations = json!({"kubectl.kubernetes.io/restartedAt": "now"});
    let restart = json!({"spec": {"template": {"metadata": {"annotations": annotations}}}});
    let sets = tenant.api("apps/v1", "StatefulSet");
    let _: DynamicObject = sets
        .patch(DISKS_SET, &PatchParams::default(), &Patch::Merge(&restart))
        .await
        .unwrap();
    replaced_in_order(&tenant, "the restart", &two).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_is_named_and_does_not_apply_to_the_generation_for_which_it_is_waived() {
    let operator = OperatorProcess::set("waived", false, &[]).await;
    let tenant = operator.tenant("waived");
    let set = "d-web-v1";
    write_instances(&tenant, "one", true).await;
    let is_whole =
        |found: &Found, status: &Value| found.get(set).is_some_and(|pods| pods.len() == 3) && status["ready"] == true;
    let one = wait_for_group(&tenant, "all instances", is_whole).await;
    let kept = |found: &Found| one[set].iter().filter(|uid| found[set].contains(uid)).count();
    write_instances(&tenant, "broken", true).await;
    let failed = wait_for_group(&tenant, "the failed canary", |_, status| {
        has_failed(status) && status["heldBy"] == "FailedUpdate"
    })
    .await;
    assert_eq!(kept(&failed), 2);
    let group = tenant.get(OURS, "QuarksStatefulSet", "d-web").await.unwrap();
    let generation = group["metadata"]["generation"].as_i64().unwrap();
    let waive = async |rule: String| {
        let annotations = json!({"metadata": {"annotations": {"quarks.cloudfoundry.org/waived-rule": rule}}});
        let groups = tenant.api(OURS, "QuarksStatefulSet");
        let patched: Result<DynamicObject, _> = groups
            .patch("d-web", &PatchParams::default(), &Patch::Merge(&annotations))
            .await;
        patched.unwrap();
    };
    let message = |status: &Value| {
        status["conditions"][1]["message"]
            .as_str()
            .unwrap_or_default()
            .to_string()
    };
    waive("Failed".into()).await;
    let explained = |_: &Found, status: &Value| message(status).contains("must be '<rule>@<generation>'");
    wait_for_group(&tenant, "why this is no rule", explained).await;
    waive(format!("FailedUpdate/d-web-v1-0@{}", generation - 1)).await;
    wait_for_group(&tenant, "another generation", |found, status| {
        assert_eq!(kept(found), 2, "it applies");
        status["waivedRule"].is_null() && !explained(found, status)
    })
    .await;
    let waiver = format!("FailedUpdate/d-web-v1-0@{generation}");
    waive(waiver.clone()).await;
    wait_for_group(&tenant, "the next instance", |found, status| {
        kept(found) == 1 && status["waivedRule"] == waiver && status["heldBy"] == "MaxInFlight"
    })
    .await;
    tenant
        .wait_for_event("the rule", |reason, _| reason == "RuleWaived")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_that_kubernetes_does_not_know_is_reported_for_a_set_that_a_user_writes() {
    let operator = OperatorProcess::set("unknown-field", false, &[]).await;
    let tenant = operator.tenant("set");
    let container = json!({"name": "c", "image": "example.com/c:1", "securityContext": {"runAsNonroot": true}});
    let pods = json!({"metadata": {"labels": {}}, "spec": {"containers": [container]}});
    let template = json!({"spec": {"replicas": 1, "template": pods}});
    let set = json!({"apiVersion": OURS, "kind": "QuarksStatefulSet", "metadata": {"name": "d-web"}, "spec": {"template": template}});
    tenant.apply(set).await;
    let found = wait_for_group(&tenant, "the refusal", |_, status| {
        let conditions = status["conditions"].as_array().into_iter().flatten();
        let refused: Vec<&Value> = conditions.filter(|one| one["status"] == "False").collect();
        let is_named = |one: &&Value| {
            let message = one["message"].as_str().unwrap_or_default();
            one["reason"] == "Refused" && message.contains("runAsNonroot")
        };
        // Ready and Progressing.
        refused.len() == 2 && refused.iter().all(is_named)
    })
    .await;
    assert_eq!(found, Found::new());
}
