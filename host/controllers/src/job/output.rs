//! The container that keeps the output of the others, and what it shares with them. Pure.

use crate::api::job::Output;
use crate::output::{CONTAINER, DIRECTORY, ORDER, Order};
use boson_deployment::names;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::{Value, json};

/// Volume with the token that only this container gets.
const TOKEN: &str = "output-persist-token";
/// Where clients look for it.
const TOKEN_DIRECTORY: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// How long a token is good, in seconds; the kubelet renews it.
const TOKEN_SECONDS: u32 = 3600;
/// The user of the operator's image.
const USER: u32 = 1000;

/// Adds it to a pod. `owner`: of the Secrets.
///
/// # Errors
/// The output of a container that the pod does not have, or a name that is ours.
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
            "spec.template has a container '{CONTAINER}', which is the operator's name for its own"
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
            {"name": "POD_NAME", "valueFrom": field("metadata.name")}
        ],
        "volumeMounts": mounts,
        // A file has at most 32 MiB, and its parts are held a few times.
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "256Mi"}},
        "securityContext": {
            "runAsNonRoot": true, "runAsUser": USER, "runAsGroup": USER, "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
            "privileged": false, "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}
        }
    })
}

/// As the kubelet would mount it for all containers.
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
