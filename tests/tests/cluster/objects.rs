//! Objects that tests apply, and what the status of a deployment says.

use serde_json::{Value, json};

/// The API version of our kinds.
pub const OURS: &str = "quarks.cloudfoundry.org/v1alpha1";
/// The label of the namespaces that an operator serves.
pub const MONITORED: &str = "quarks.cloudfoundry.org/monitored";

/// A BOSHDeployment of the ConfigMap `manifest`, and of ops files in ConfigMaps. `registry`: where its releases are.
pub fn deployment_of(name: &str, manifest: &str, ops: &[&str], registry: &str) -> Value {
    let of_map = |name: &&str| json!({"type": "configmap", "name": name});
    json!({
        "apiVersion": OURS, "kind": "BOSHDeployment", "metadata": {"name": name},
        "spec": {
            "manifest": of_map(&manifest), "ops": ops.iter().map(of_map).collect::<Vec<_>>(),
            "conversion": {"mode": "InProcess", "registry": registry}
        }
    })
}

pub fn config_map(name: &str, key: &str, text: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {key: text}})
}

pub fn condition<'v>(deployment: &'v Value, kind: &str) -> Option<&'v Value> {
    let conditions = deployment["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == kind)
}

pub fn is(deployment: &Value, kind: &str, status: &str) -> bool {
    let generation = &deployment["metadata"]["generation"];
    condition(deployment, kind)
        .is_some_and(|condition| condition["status"] == status && &condition["observedGeneration"] == generation)
}

/// Of any generation.
pub fn has_reason(object: &Value, kind: &str, reason: &str) -> bool {
    condition(object, kind).is_some_and(|condition| condition["reason"] == reason)
}
