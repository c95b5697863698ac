//! Services of groups with active/passive probes lead to the pod that the operator labels as active. Without it, no pod
//! has the label, so they select all pods of their group.

use crate::object::remove;
use boson_document::Tree;
use boson_manifest::labels;

/// Removes the label from the selector of a Service.
pub fn select_all_pods(object: &mut Tree) {
    if object.str("kind") == Some("Service")
        && let Some(selector) = object.get_mut("spec").and_then(|spec| spec.get_mut("selector"))
    {
        remove(selector, labels::POD_ACTIVE);
    }
}
