//! The container that stores the output of the others, and its volumes. Pure.

use crate::output::{CONTAINER, DIRECTORY, ORDER, Order};
use boson_api::job::Output;
use boson_manifest::names::{self, LABEL_LIMIT};
use boson_manifest::{contract, labels};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::{Value, json};

/// Volume with the token, which only this container mounts.
const TOKEN: &str = "output-persist-token";
/// Where clients look for it.
const TOKEN_DIRECTORY: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// Validity of the token in seconds; the kubelet renews it.
const TOKEN_SECONDS: u32 = 3600;
/// The user of the operator's image.
const USER: u32 = 1000;

/// Environment variable of a container that names the subject of its output.
const REMOTE_ID: &str = "REMOTE_ID";

/// Adds labels with the origin of each Secret.
pub(super) fn labelled(output: &Output, pod: &Value) -> Output {
    let mut output = output.clone();
    for (container, files) in &mut output.output_map {
        let about = remote_id(pod, container);
        for asked in files.values_mut() {
            asked
                .secret_labels
                .insert(labels::CONTAINER_NAME.into(), container.clone());
            let about = about.clone().map(|about| (labels::REMOTE_ID.to_string(), about));
            asked.secret_labels.extend(about);
        }
    }
    output
}

/// The subject as a valid label value: else the API server would refuse the Secret.
fn remote_id(pod: &Value, container: &str) -> Option<String> {
    let mut containers = pod["containers"].as_array()?.iter();
    let found = containers.find(|one| one["name"] == container)?;
    let mut variables = found["env"].as_array()?.iter();
    let value = variables.find(|one| one["name"] == REMOTE_ID)?["value"].as_str()?;
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let outer = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = value.as_bytes();
    if bytes.len() <= LABEL_LIMIT && bytes.iter().copied().all(inner) && outer(bytes.first()) && outer(bytes.last()) {
        return Some(value.to_string());
    }
    Some(names::cut(&names::label(value), "", LABEL_LIMIT)).filter(|label| !label.is_empty())
}

/// Adds the container to a pod. `owner`: the owner of the Secrets.
///
/// # Errors
/// The output names a missing container, or a container has the name of ours.
pub(super) fn add(pod: &mut Value, output: &Output, owner: &OwnerReference, image: &str) -> Result<(), String> {
    let restarts = pod["restartPolicy"] == "OnFailure";
    let mut mounts = Vec::new();
    let mut volumes = Vec::new();
    for container in output.output_map.keys() {
        let volume = names::container(&["output", container]);
        let found = named(&mut pod["containers"], container);
        let found = found.ok_or_else(|| {
            format!("spec.output.outputMap names the container '{container}', and spec.template has none of that name")
        })?;
        push(found, "volumeMounts", json!({"name": volume, "mountPath": DIRECTORY}));
        mounts.push(json!({"name": volume, "mountPath": format!("{DIRECTORY}/{container}"), "readOnly": true}));
        volumes.push(json!({"name": volume, "emptyDir": {}}));
    }
    if named(&mut pod["containers"], CONTAINER).is_some() {
        return Err(format!(
            "spec.template has a container '{CONTAINER}', a name that the operator reserves"
        ));
    }
    mounts.push(json!({"name": TOKEN, "mountPath": TOKEN_DIRECTORY, "readOnly": true}));
    volumes.push(token());
    let order = Order {
        owner: owner.clone(),
        output: output.clone(),
        restarts,
    };
    push(pod, "containers", container(&order, image, mounts));
    for volume in volumes {
        push(pod, "volumes", volume);
    }
    Ok(())
}

fn container(order: &Order, image: &str, mounts: Vec<Value>) -> Value {
    let field = |path: &str| json!({"fieldRef": {"fieldPath": path}});
    json!({
        "name": CONTAINER,
        "image": image,
        "command": ["host", "util", "persist-output"],
        "env": [
            {"name": ORDER, "value": serde_json::to_string(order).unwrap_or_default()},
            {"name": "NAMESPACE", "valueFrom": field("metadata.namespace")},
            {"name": "POD_NAME", "valueFrom": field("metadata.name")},
            {"name": contract::VARIABLE, "value": contract::COMMON.to_string()}
        ],
        "volumeMounts": mounts,
        // A file has at most 32 MiB, and its parts are held a few times.
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"cpu": "1", "memory": "256Mi"}},
        "securityContext": {
            "runAsNonRoot": true, "runAsUser": USER, "runAsGroup": USER, "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
            "privileged": false, "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}
        }
    })
}

/// The token volume, as the kubelet would mount it for all containers.
fn token() -> Value {
    json!({"name": TOKEN, "projected": {"sources": [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": TOKEN_SECONDS}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}}
    ]}})
}

fn named<'v>(list: &'v mut Value, name: &str) -> Option<&'v mut Value> {
    list.as_array_mut()?.iter_mut().find(|one| one["name"] == name)
}

fn push(value: &mut Value, member: &str, one: Value) {
    if !value[member].is_array() {
        value[member] = Value::Array(Vec::new());
    }
    if let Value::Array(list) = &mut value[member] {
        list.push(one);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_says_which_container_it_is_of_and_what_it_is_about() {
        let output: Output = serde_json::from_value(json!({"outputMap": {
            "a": {"f": {"name": "s", "secretLabels": {"mine": "x"}}, "g": {"name": "t"}}, "b": {"f": {"name": "u"}}}}))
        .unwrap();
        let of = |value: &str| {
            let pod =
                json!({"containers": [{"name": "b"}, {"name": "a", "env": [{"name": "REMOTE_ID", "value": value}]}]});
            let labelled = labelled(&output, &pod);
            assert_eq!(labelled.output_map["a"]["g"].secret_labels[labels::CONTAINER_NAME], "a");
            assert_eq!(
                labelled.output_map["b"]["f"].secret_labels,
                [(labels::CONTAINER_NAME.to_string(), "b".to_string())].into()
            );
            let found = &labelled.output_map["a"]["f"].secret_labels;
            assert_eq!(found["mine"], "x");
            found.get(labels::REMOTE_ID).cloned()
        };
        assert_eq!(of("Group_1.x").as_deref(), Some("Group_1.x"));
        assert_eq!(of("a group!").as_deref(), Some("agroup"));
        assert_eq!(of("//"), None);
        assert!(of(&"x".repeat(80)).is_some_and(|label| label.len() == LABEL_LIMIT));
    }
}
