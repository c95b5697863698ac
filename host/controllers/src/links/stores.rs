//! The metadata of the pods that consume links, and of the Secrets of links, so that a reconcile costs no request. The
//! watches of the controller update both stores before they requeue a deployment.

use boson_cluster::objects;
use boson_manifest::labels::{CONSUMER, CONSUMES, DEPLOYMENT, ENTANGLEMENT, LINK, LINKS_DIGEST};
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::api::ObjectMeta;
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::{ObjectRef, Store};
use std::sync::Arc;

pub(super) type PodMeta = PartialObjectMeta<Pod>;

/// Pods that have not ended. Metadata does not contain the phase, so the API server selects them.
pub(crate) const NOT_ENDED: &str = "status.phase!=Succeeded,status.phase!=Failed";

/// The stores that the watches fill.
#[derive(Clone)]
pub(super) struct Stores {
    pub pods: Store<PodMeta>,
    pub secrets: Store<PartialObjectMeta<Secret>>,
}

// === impl Stores ===

impl Stores {
    /// The pods that consume links of a deployment. `label`: the value of the label [`CONSUMER`].
    pub fn pods(&self, namespace: &str, label: &str) -> Vec<Arc<PodMeta>> {
        self.pods.state_filter(|pod| {
            let meta = &pod.metadata;
            meta.namespace.as_deref() == Some(namespace) && objects::label(meta, CONSUMER) == Some(label)
        })
    }

    pub fn secret(&self, namespace: &str, name: &str) -> Option<Arc<PartialObjectMeta<Secret>>> {
        self.secrets.get(&ObjectRef::new(name).within(namespace))
    }
}

/// Removes from the metadata of a pod what the controller does not read: most of it, because `managedFields` is larger
/// than all the rest.
pub(super) fn trim_pod(meta: &mut ObjectMeta) {
    trim(meta, &[CONSUMER], &[CONSUMES, DEPLOYMENT, LINKS_DIGEST]);
    if let Some(owners) = &mut meta.owner_references {
        owners.retain(|owner| owner.controller == Some(true));
    }
}

/// Removes from the metadata of the Secret of a link what the controller does not read.
pub(super) fn trim_secret(meta: &mut ObjectMeta) {
    trim(meta, &[ENTANGLEMENT], &[LINK]);
}

fn trim(meta: &mut ObjectMeta, labels: &[&str], annotations: &[&str]) {
    meta.managed_fields = None;
    meta.finalizers = None;
    meta.generate_name = None;
    for (map, keep) in [(&mut meta.labels, labels), (&mut meta.annotations, annotations)] {
        if let Some(map) = map {
            map.retain(|key, _| keep.contains(&key.as_str()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_the_controller_reads_stays() {
        let owner = |controller: bool| json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": controller});
        let mut meta: ObjectMeta = serde_json::from_value(json!({
            "name": "p", "namespace": "n", "uid": "u", "resourceVersion": "7", "generateName": "p-",
            "labels": {CONSUMER: "cf", "app": "a"},
            "annotations": {CONSUMES: "[]", DEPLOYMENT: "cf", LINKS_DIGEST: "d", "other": "large"},
            "ownerReferences": [owner(false), owner(true)],
            "managedFields": [{"manager": "m"}], "finalizers": ["f"],
        }))
        .unwrap();
        trim_pod(&mut meta);
        let wanted = json!({
            "name": "p", "namespace": "n", "uid": "u", "resourceVersion": "7", "labels": {CONSUMER: "cf"},
            "annotations": {CONSUMES: "[]", DEPLOYMENT: "cf", LINKS_DIGEST: "d"}, "ownerReferences": [owner(true)],
        });
        assert_eq!(serde_json::to_value(&meta).unwrap(), wanted);
    }
}
