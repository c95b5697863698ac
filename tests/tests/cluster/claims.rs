//! Persistent disks of an instance group: its pods keep their claims through all changes. No pod runs here; the volumes
//! exist beforehand.

use crate::operator_process::{OperatorProcess, Tenant};
use crate::small_deployment::Small;
use anyhow::ensure;
use boson_tests::cluster::shared;
use boson_tests::wait_for_value;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const CLASS: &str = "claims-of-this-test";
const OURS: &str = "quarks.cloudfoundry.org/v1alpha1";
/// One more disk for every container.
const MORE: &str = "disks: [{pvc: {metadata: {name: more}, spec: {storageClassName: claims-of-this-test, accessModes: [ReadWriteOnce], \
                    resources: {requests: {storage: 1Gi}}}}, volumeMount: {name: more, mountPath: /more}}]";

/// `disk`: the group's keys for a disk.
fn manifest(disk: &str, settings: &str) -> String {
    let small = Small {
        instances: 2,
        group: disk,
        settings,
        ..Small::default()
    };
    small.manifest()
}

fn disk(mebibytes: u32) -> String {
    format!("persistent_disk: {mebibytes}\n  persistent_disk_type: {CLASS}")
}

/// A class whose claims may grow, and volumes for them.
fn volumes() {
    let volume = |nth: u32| {
        json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": format!("{CLASS}-{nth}")}, "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": CLASS,
            "hostPath": {"path": "/nowhere"}}})
    };
    shared().unwrap().apply("", &[0, 1, 2, 3].map(volume)).unwrap();
    class(true);
}

fn class(may_grow: bool) {
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": CLASS},
        "provisioner": "example.com/none", "allowVolumeExpansion": may_grow});
    shared().unwrap().apply("", &[class]).unwrap();
}

/// The group's objects in the cluster.
#[derive(Debug, Default)]
struct Found {
    sets: BTreeMap<String, Value>,
    pods: BTreeMap<String, Value>,
    claims: BTreeMap<String, Value>,
    status: Value,
}

impl Found {
    async fn of(tenant: &Tenant) -> Self {
        let named = |objects: Vec<Value>| {
            let name = |object: &Value| object["metadata"]["name"].as_str().unwrap().to_string();
            objects.into_iter().map(|object| (name(&object), object)).collect()
        };
        let group = tenant.get(OURS, "QuarksStatefulSet", "d-web").await.unwrap_or_default();
        Self {
            sets: named(tenant.list("apps/v1", "StatefulSet").await),
            pods: named(tenant.list("v1", "Pod").await),
            claims: named(tenant.list("v1", "PersistentVolumeClaim").await),
            status: group["status"].clone(),
        }
    }

    fn names(objects: &BTreeMap<String, Value>) -> Vec<&str> {
        objects.keys().map(String::as_str).collect()
    }

    fn uids(objects: &BTreeMap<String, Value>) -> Vec<&Value> {
        objects.values().map(|object| &object["metadata"]["uid"]).collect()
    }

    /// The message about disks.
    fn message(&self) -> &str {
        let conditions = self.status["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        let found = conditions.find(|condition| condition["type"] == "DisksAsAsked");
        found.and_then(|found| found["message"].as_str()).unwrap_or_default()
    }

    fn storage(&self, claim: &str) -> &str {
        let claim = &self.claims[claim];
        claim["spec"]["resources"]["requests"]["storage"].as_str().unwrap()
    }
}

/// Waits until it holds; meanwhile, pods become ready.
async fn until(tenant: &Tenant, what: &str, holds: impl Fn(&Found) -> bool) -> Found {
    wait_for_value(what, async || {
        tenant.pods_are_ready().await;
        let found = Found::of(tenant).await;
        ensure!(holds(&found), "{found:#?}");
        Ok(found)
    })
    .await
}

/// Whether both pods mount the claim of this template.
fn all_mount(found: &Found, template: &str) -> bool {
    let mounts = |pod: &Value| {
        let volumes = pod["spec"]["volumes"].as_array().unwrap();
        volumes.iter().any(|volume| volume["name"] == template)
    };
    found.pods.len() == 2 && found.pods.values().all(mounts)
}

#[tokio::test(flavor = "multi_thread")]
async fn disks_grow_and_are_added_and_pods_keep_their_claims() {
    volumes();
    let operator = OperatorProcess::set("claims", false, &[]).await;
    let tenant = operator.tenant("claims");
    let write = async |disk: &str, settings: &str| {
        tenant
            .config_map("d-manifest", "manifest", &manifest(disk, settings))
            .await;
    };
    write("", "").await;
    tenant.deployment("d", &[]).await;
    until(&tenant, "the group", |found| {
        Found::names(&found.sets) == ["d-web-v1"] && found.status["ready"] == true
    })
    .await;

    // The first disk is a new version, since pods of the old one have none.
    write(&disk(1024), "").await;
    let first = until(&tenant, "the disk", |found| {
        Found::names(&found.sets) == ["d-web-v2"]
            && found.status["ready"] == true
            && found.claims.len() == 2
            && found.claims.values().all(|claim| claim["status"]["phase"] == "Bound")
    })
    .await;
    let claims = ["web-pvc-d-web-v2-0", "web-pvc-d-web-v2-1"];
    assert_eq!(Found::names(&first.claims), claims);

    // A larger one: the StatefulSet is replaced under the same name, and its pods have the same claims.
    write(&disk(2048), "").await;
    let larger = until(&tenant, "a larger disk", |found| {
        claims.iter().all(|claim| found.storage(claim) == "2Gi")
            && found.sets.get("d-web-v2").is_some_and(|set| {
                set["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"] == "2Gi"
            })
            && found.status["ready"] == true
    })
    .await;
    assert_ne!(Found::uids(&first.sets), Found::uids(&larger.sets));
    assert_eq!(Found::uids(&first.claims), Found::uids(&larger.claims));

    // The labels are only on pods.
    write(&disk(2048), "labels: {tier: one}").await;
    let labelled = until(&tenant, "a label", |found| {
        found.pods.len() == 2
            && found
                .pods
                .values()
                .all(|pod| pod["metadata"]["labels"]["tier"] == "one")
            && found.status["ready"] == true
    })
    .await;
    assert_eq!(Found::uids(&larger.sets), Found::uids(&labelled.sets));

    // One more disk: pods are replaced one after the other, with their existing claims.
    write(&disk(2048), &format!("labels: {{tier: one}}, {MORE}")).await;
    let more = until(&tenant, "another disk", |found| {
        all_mount(found, "more") && found.status["ready"] == true
    })
    .await;
    assert_eq!(more.claims.len(), 4);
    for claim in claims {
        assert_eq!(
            more.claims[claim]["metadata"]["uid"],
            first.claims[claim]["metadata"]["uid"]
        );
    }

    // Neither smaller nor, if the class forbids it, larger: that is reported, and everything else proceeds.
    write(&disk(512), "labels: {tier: two}").await;
    let smaller = until(&tenant, "a smaller disk", |found| {
        found.message().contains("stays at 2Gi")
            && found
                .pods
                .values()
                .all(|pod| pod["metadata"]["labels"]["tier"] == "two")
            && found.status["ready"] == true
    })
    .await;
    assert_eq!(smaller.storage(claims[0]), "2Gi");
    class(false);
    write(&disk(4096), "labels: {tier: three}").await;
    let refused = until(&tenant, "a refusal", |found| {
        found
            .message()
            .contains("only dynamically provisioned pvc can be resized")
            && found
                .pods
                .values()
                .all(|pod| pod["metadata"]["labels"]["tier"] == "three")
            && found.status["ready"] == true
    })
    .await;
    assert_eq!(refused.storage(claims[0]), "2Gi");
    tenant
        .reported("the size", |reason, note| {
            reason == "Kept" && note.contains("stays at 2Gi")
        })
        .await;

    // The state after the operator died between deleting and recreating.
    let cluster = shared().unwrap();
    let delete = [
        "--namespace",
        &tenant.namespace,
        "delete",
        "statefulset/d-web-v2",
        "--cascade=orphan",
    ];
    cluster.kubectl(delete).unwrap();
    let back = until(&tenant, "the StatefulSet", |found| {
        !found.sets.is_empty() && found.status["ready"] == true
    })
    .await;
    assert_eq!(Found::names(&back.sets), ["d-web-v2"]);
    assert_eq!(Found::uids(&back.pods), Found::uids(&refused.pods));
}
