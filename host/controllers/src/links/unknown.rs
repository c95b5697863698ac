//! Reports workloads whose pods consume links of a deployment that does not exist any more.

use super::plan::{Workload, workload};
use super::stores::{PodMeta, Stores};
use super::{Context, DeploymentMeta};
use crate::orphans::{Namers, Naming, report};
use boson_cluster::client::{Error, Kind, Notice};
use boson_cluster::objects::annotation;
use boson_manifest::labels::DEPLOYMENT;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ObjectMeta;
use kube::core::{PartialObjectMeta, PartialObjectMetaExt};
use kube::runtime::reflector::Store;
use std::collections::BTreeSet;

/// Workloads whose pods consume links.
struct Consumers<'c> {
    context: &'c Context,
    stores: &'c Stores,
}

/// Checks from time to time, for ever.
pub(super) async fn report_orphans(context: &Context, stores: &Stores, deployments: &Store<DeploymentMeta>) {
    report(&context.cluster, deployments, &Consumers { context, stores }).await;
}

// === impl Consumers ===

impl Namers for Consumers<'_> {
    type What = Workload;
    const KEY: &'static str = DEPLOYMENT;
    const EFFECT: &'static str = "its pods keep the last values of their links, and new pods are refused";

    fn all(&self) -> BTreeSet<Naming<Workload>> {
        let pods = self.stores.pods.state();
        let all = pods.iter().filter_map(|pod| naming(pod));
        all.filter(|one| self.context.scope.holds(&one.namespace)).collect()
    }

    async fn emit(&self, one: &Naming<Workload>, notice: &Notice) -> Result<(), Error> {
        let (context, namespace, workload) = (self.context, one.namespace.as_str(), &one.what);
        match workload.kind.as_str() {
            "ReplicaSet" => {
                let set: Option<PartialObjectMeta<ReplicaSet>> = context.cluster.get(namespace, &workload.name).await?;
                match set.and_then(|set| workload.deployment(&set.metadata)) {
                    Some(deployment) => emit_about::<Deployment>(context, namespace, &deployment, notice).await,
                    None => emit_about::<ReplicaSet>(context, namespace, workload, notice).await,
                }
            }
            "StatefulSet" => emit_about::<StatefulSet>(context, namespace, workload, notice).await,
            "DaemonSet" => emit_about::<DaemonSet>(context, namespace, workload, notice).await,
            "Job" => emit_about::<Job>(context, namespace, workload, notice).await,
            "Pod" => emit_about::<Pod>(context, namespace, workload, notice).await,
            // An object of another kind may be in a group that the operator does not know.
            _ => Ok(()),
        }
    }
}

/// The workload of a pod, and the deployment that the pod names.
fn naming(pod: &PodMeta) -> Option<Naming<Workload>> {
    let meta = &pod.metadata;
    Some(Naming {
        namespace: meta.namespace.clone()?,
        deployment: annotation(meta, DEPLOYMENT)?.to_string(),
        what: workload(meta)?,
    })
}

/// Emits an event about an object that is known by name and UID.
#[expect(clippy::disallowed_methods, reason = "the search runs beside the controller")]
async fn emit_about<K: Kind + Send + Sync>(
    context: &Context,
    namespace: &str,
    workload: &Workload,
    notice: &Notice,
) -> Result<(), Error> {
    let metadata = ObjectMeta {
        name: Some(workload.name.clone()),
        namespace: Some(namespace.into()),
        uid: Some(workload.uid.clone()),
        ..ObjectMeta::default()
    };
    let object: PartialObjectMeta<K> = metadata.into_response_partial();
    // It says what has no effect, and is repeated.
    context.events.unrecorded().emit(&object, notice).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_pods_of_a_workload_are_one_object() {
        let pod = |name: &str, owners: serde_json::Value| -> PodMeta {
            let value = json!({"metadata": {"name": name, "namespace": "n", "uid": name,
                "annotations": {DEPLOYMENT: "cf"}, "ownerReferences": owners}});
            serde_json::from_value(value).unwrap()
        };
        let owners =
            json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": true}]);
        let pods = [pod("a", owners.clone()), pod("b", owners), pod("bare", json!([]))];
        let all: BTreeSet<_> = pods.iter().filter_map(naming).collect();
        let kinds: Vec<&str> = all.iter().map(|one| one.what.kind.as_str()).collect();
        assert_eq!(kinds, ["Pod", "ReplicaSet"]);
    }
}
