//! Persistent disks of an instance group: its pods keep their claims through all changes. No pod runs here; the volumes
//! exist beforehand.

use crate::objects::OURS;
use crate::operator_process::{OperatorProcess, Tenant};
use crate::small_deployment::Small;
use anyhow::ensure;
use boson_tests::cluster::shared;
use boson_tests::wait_for_value;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const CLASS: &str = "claims-of-this-test";
/// One more disk for every container.
const MORE: &str = "disks: [{pvc: {metadata: {name: more}, spec: {storageClassName: claims-of-this-test, accessModes: [ReadWriteOnce], \
                    resources: {requests: {storage: 1Gi}}}}, volumeMount: {name: more, mountPath: /more}}]";

/// Those of the first disk.
const CLAIMS: [&str; 2] = ["web-pvc-d-web-v2-0", "web-pvc-d-web-v2-1"];

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

    /// Whether both pods have this label.
    fn all_have(&self, tier: &str) -> bool {
        let has = |pod: &Value| pod["metadata"]["labels"]["tier"] == tier;
        self.pods.len() == 2 && self.pods.values().all(has)
    }

    /// Whether both pods mount the claim of this template.
    fn all_mount(&self, template: &str) -> bool {
        let mounts = |pod: &Value| {
            let volumes = pod["spec"]["volumes"].as_array().unwrap();
            volumes.iter().any(|volume| volume["name"] == template)
        };
        self.pods.len() == 2 && self.pods.values().all(mounts)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn disks_grow_and_are_added_and_pods_keep_their_claims() {
    volumes();
    let operator = OperatorProcess::set("claims", false, &[]).await;
    let group = Group {
        tenant: operator.tenant("claims"),
    };
    group.write("", "").await;
    group.tenant.deployment("d", &[]).await;
    group
        .wait_for_objects("the group", |found| Found::names(&found.sets) == ["d-web-v1"])
        .await;
    let first = group.gets_its_first_disk_in_a_new_version().await;
    let larger = group.gets_larger_disks_in_another_set(&first).await;
    group.keeps_its_set_when_pods_get_a_label(&larger).await;
    group.gets_one_more_disk_beside_those_of(&first).await;
    let refused = group.keeps_disks_that_cannot_be_as_asked().await;
    group.gets_a_deleted_set_back(&refused).await;
}

/// The instances of the deployment `d`.
struct Group {
    tenant: Tenant,
}

// === impl Group ===

impl Group {
    async fn write(&self, disk: &str, settings: &str) {
        let manifest = manifest(disk, settings);
        self.tenant.apply_manifest("d", &manifest).await;
    }

    /// Waits until the group is ready and it holds; meanwhile, pods become ready.
    async fn wait_for_objects(&self, what: &str, holds: impl Fn(&Found) -> bool) -> Found {
        wait_for_value(what, async || {
            self.tenant.pods_are_ready().await;
            let found = Found::of(&self.tenant).await;
            ensure!(found.status["ready"] == true && holds(&found), "{found:#?}");
            Ok(found)
        })
        .await
    }

    /// Pods of the old version have none.
    async fn gets_its_first_disk_in_a_new_version(&self) -> Found {
        self.write(&disk(1024), "").await;
        let first = self
            .wait_for_objects("the disk", |found| {
                Found::names(&found.sets) == ["d-web-v2"]
                    && found.claims.len() == 2
                    && found.claims.values().all(|claim| claim["status"]["phase"] == "Bound")
            })
            .await;
        assert_eq!(Found::names(&first.claims), CLAIMS);
        first
    }

    /// The StatefulSet is replaced under the same name, and its pods have the same claims.
    async fn gets_larger_disks_in_another_set(&self, first: &Found) -> Found {
        self.write(&disk(2048), "").await;
        let storage = "/spec/volumeClaimTemplates/0/spec/resources/requests/storage";
        let larger = self
            .wait_for_objects("a larger disk", |found| {
                let asks = |set: &Value| set.pointer(storage).is_some_and(|storage| storage == "2Gi");
                CLAIMS.iter().all(|claim| found.storage(claim) == "2Gi") && found.sets.get("d-web-v2").is_some_and(asks)
            })
            .await;
        assert_ne!(Found::uids(&first.sets), Found::uids(&larger.sets));
        assert_eq!(Found::uids(&first.claims), Found::uids(&larger.claims));
        larger
    }

    async fn keeps_its_set_when_pods_get_a_label(&self, before: &Found) {
        self.write(&disk(2048), "labels: {tier: one}").await;
        let labelled = self.wait_for_objects("a label", |found| found.all_have("one")).await;
        assert_eq!(Found::uids(&before.sets), Found::uids(&labelled.sets));
    }

    /// Pods are replaced one after the other, with their existing claims.
    async fn gets_one_more_disk_beside_those_of(&self, first: &Found) {
        self.write(&disk(2048), &format!("labels: {{tier: one}}, {MORE}")).await;
        let more = self
            .wait_for_objects("another disk", |found| found.all_mount("more"))
            .await;
        assert_eq!(more.claims.len(), 4);
        let uid = |found: &Found, claim: &str| found.claims[claim]["metadata"]["uid"].clone();
        for claim in CLAIMS {
            assert_eq!(uid(&more, claim), uid(first, claim));
        }
    }

    /// Neither smaller nor, if the class forbids it, larger: that is reported, and everything else proceeds.
    async fn keeps_disks_that_cannot_be_as_asked(&self) -> Found {
        self.write(&disk(512), "labels: {tier: two}").await;
        let smaller = self
            .wait_for_objects("a smaller disk", |found| {
                found.message().contains("stays at 2Gi") && found.all_have("two")
            })
            .await;
        assert_eq!(smaller.storage(CLAIMS[0]), "2Gi");
        class(false);
        self.write(&disk(4096), "labels: {tier: three}").await;
        let words = "only dynamically provisioned pvc can be resized";
        let refused = self
            .wait_for_objects("a refusal", |found| {
                found.message().contains(words) && found.all_have("three")
            })
            .await;
        assert_eq!(refused.storage(CLAIMS[0]), "2Gi");
        self.tenant
            .wait_for_event("the size", |reason, note| {
                reason == "Kept" && note.contains("stays at 2Gi")
            })
            .await;
        refused
    }

    /// The state after the operator died between deleting and recreating.
    async fn gets_a_deleted_set_back(&self, before: &Found) {
        let namespace = ["--namespace", &self.tenant.namespace];
        let delete = ["delete", "statefulset/d-web-v2", "--cascade=orphan"];
        shared().unwrap().kubectl(namespace.into_iter().chain(delete)).unwrap();
        let back = self
            .wait_for_objects("the StatefulSet", |found| !found.sets.is_empty())
            .await;
        assert_eq!(Found::names(&back.sets), ["d-web-v2"]);
        assert_eq!(Found::uids(&back.pods), Found::uids(&before.pods));
    }
}
