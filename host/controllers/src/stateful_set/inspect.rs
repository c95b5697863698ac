//! Reads a StatefulSet: its version, whether its pods have claims, and whether they are ready. Pure.

use super::disks;
use boson_manifest::labels;
use serde_json::Value;

/// Annotation: digest of the template of the StatefulSet, without the number of pods.
pub(super) const TEMPLATE: &str = "quarks.cloudfoundry.org/template-digest";

/// The version that a StatefulSet is of.
pub(super) fn version(stateful_set: &Value) -> Option<u32> {
    annotation(stateful_set, labels::VERSION).parse().ok()
}

/// An annotation; empty if there is none.
pub(super) fn annotation<'v>(object: &'v Value, name: &str) -> &'v str {
    object["metadata"]["annotations"][name].as_str().unwrap_or_default()
}

/// Whether pods of this StatefulSet have claims.
pub(super) fn has_claims(stateful_set: &Value) -> bool {
    !disks::list(&stateful_set["spec"]["volumeClaimTemplates"]).is_empty()
}

/// All of its pods are ready and made from its present template.
pub(super) fn is_ready(stateful_set: &Value) -> bool {
    let number = |path: [&str; 2]| stateful_set[path[0]][path[1]].as_i64();
    let wanted = number(["spec", "replicas"]).unwrap_or(1);
    let observed = number(["status", "observedGeneration"]).unwrap_or(0);
    let ready = number(["status", "readyReplicas"]).unwrap_or(0);
    let updated = number(["status", "updatedReplicas"]).unwrap_or(0);
    observed >= number(["metadata", "generation"]).unwrap_or(0) && ready == wanted && (updated == wanted || wanted == 0)
}
