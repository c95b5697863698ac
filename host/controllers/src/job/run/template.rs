//! The template of a Job, as its user wrote it: what this controller reads and changes, and everything else unchanged.
//! The API server reports the fields that it does not know; a type of Kubernetes would drop them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The template in a QuarksJob.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Template {
    pub spec: JobSpec,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// The spec of the Job.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct JobSpec {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    pub template: PodTemplate,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// The template of its pods.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PodTemplate {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    pub spec: Pod,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Metadata {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Map<String, Value>>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// The spec of its pods.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Pod {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,
    /// The earlier name of the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub automount_service_account_token: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart_policy: Option<String>,
    #[serde(default)]
    pub containers: Vec<Container>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volumes: Option<Vec<Value>>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Container {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<Vec<Variable>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_mounts: Option<Vec<Value>>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Variable {
    pub name: String,
    /// Usually a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

// === impl Pod ===

impl Pod {
    pub fn container(&mut self, name: &str) -> Option<&mut Container> {
        self.containers.iter_mut().find(|container| container.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_the_controller_does_not_know_stays() {
        let template = json!({"metadata": {"labels": {"a": "b"}}, "new": 1, "spec": {"suspend": false, "backoffLimit": 2,
            "template": {"metadata": {"labels": {"c": "d"}, "annotations": {"e": "f"}}, "spec": {
                "restartPolicy": "Never", "new": [1.5], "volumes": [{"name": "v", "new": {}}],
                "containers": [{"name": "c", "new": null, "env": [{"name": "E", "value": 1, "new": true}],
                    "volumeMounts": [{"new": 1}]}]}}}});
        let typed: Template = serde_json::from_value(template.clone()).unwrap();
        assert_eq!(serde_json::to_value(typed).unwrap(), template);
    }
}
