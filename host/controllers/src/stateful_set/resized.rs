//! Whether a pod has the CPU and memory that it was last resized to. Pure.

use super::digest::Digest;
use boson_cluster::objects::{annotation, drift};
use boson_cluster::pods::condition;
use boson_manifest::labels;
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

/// Condition of a pod that does not have its resources yet.
pub(super) const RESIZE_PENDING: &str = "PodResizePending";
/// Its reason: the node can never have them.
pub(super) const INFEASIBLE: &str = "Infeasible";
/// Its reason: the node does not have them now.
pub(super) const DEFERRED: &str = "Deferred";

/// Whether a pod cannot get the wanted resources without being replaced.
pub(super) fn is_refused(pod: &Pod, wanted: &Digest) -> bool {
    let has = |key| wanted.of_resources().is_some() && annotation(&pod.metadata, key) == wanted.of_resources();
    // Others may have asked for something else since, which the node refuses.
    let has_amounts = || {
        let amounts = wanted.resources.as_ref().map(|resources| &resources.amounts);
        amounts.is_some_and(|amounts| drift::holds(&json!(pod.spec), amounts))
    };
    let is_infeasible = || pending_reason(pod) == Some(INFEASIBLE) && has_amounts();
    has(labels::RESIZE_REFUSED) || has(labels::RESOURCES_DIGEST) && is_infeasible()
}

/// Why a pod does not have its resources yet.
pub(super) fn pending_reason(pod: &Pod) -> Option<&str> {
    let pending = condition(pod, RESIZE_PENDING).filter(|one| one.status == "True")?;
    // Of the resources before, if the kubelet has not seen the present ones.
    let seen = pending.observed_generation.zip(pod.metadata.generation);
    let is_present = seen.is_none_or(|(seen, present)| seen >= present);
    pending.reason.as_deref().filter(|_| is_present)
}
