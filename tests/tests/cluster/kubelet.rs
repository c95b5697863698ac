//! What kubelets would do, where no pod runs.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, ListParams, Patch, PatchParams};
use serde_json::{Value, json};

/// Reports the status of this pod. Another one may have its name by now: it has no status before a caller saw it.
pub async fn report(pods: &Api<Pod>, pod: &ObjectMeta, status: Value) -> kube::Result<Pod> {
    let name = pod.name.as_deref().unwrap_or_default();
    let patch = json!({"metadata": {"uid": pod.uid}, "status": status});
    pods.patch_status(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
}

/// Reports all pods as ready.
pub async fn report_ready(pods: &Api<Pod>) {
    let conditions = json!([{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    for pod in pods.list(&ListParams::default()).await.unwrap() {
        let status = json!({"phase": "Running", "conditions": conditions});
        // A pod that is terminating may be deleted by now.
        let _ = report(pods, &pod.metadata, status).await;
    }
}
