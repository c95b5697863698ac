//! What kubelets would do, where no pod runs.

use boson_cluster::pods::is_ready;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::task::AbortHandle;

/// Reports the status of this pod. Another one may have its name by now: it has no status before a caller saw it.
pub async fn report(pods: &Api<Pod>, pod: &ObjectMeta, status: Value) -> kube::Result<Pod> {
    let name = pod.name.as_deref().unwrap_or_default();
    let patch = json!({"metadata": {"uid": pod.uid}, "status": status});
    pods.patch_status(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
}

/// Reports all pods as ready that a scheduler would give to a node, once each: the API server spends most of its time
/// on writes.
pub async fn report_ready(pods: &Api<Pod>) {
    let conditions = json!([{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    let is_gated = |pod: &Pod| pod.spec.as_ref().is_some_and(|spec| spec.scheduling_gates.is_some());
    let pods_on_nodes = pods.list(&ListParams::default()).await.unwrap().into_iter();
    for pod in pods_on_nodes.filter(|pod| !is_gated(pod) && !is_ready(pod)) {
        let status = json!({"phase": "Running", "conditions": conditions});
        // A pod that is terminating may be deleted by now.
        let _ = report(pods, &pod.metadata, status).await;
    }
}

/// Reports all pods as ready, until it is dropped.
pub struct Kubelet(AbortHandle);

impl Kubelet {
    pub fn of(pods: Api<Pod>) -> Self {
        let work = async move {
            loop {
                report_ready(&pods).await;
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        };
        Self(tokio::spawn(work).abort_handle())
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.0.abort();
    }
}
