//! The container that stores the output of the others, and its volumes. Pure.

use super::JobError;
use super::template::{Container, Pod};
use boson_api::job::Output;
use boson_cluster::client::Error;
use boson_in_pod::USER_ID;
use boson_manifest::names::{self, MAX_LABEL_LENGTH};
use boson_manifest::syntax::is_label_value;
use boson_manifest::{labels, pod_contract};
use boson_output::{CONTAINER, DIRECTORY, ORDER, Order};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::{Value, json};

/// Volume with the token, which only this container mounts.
const TOKEN_VOLUME: &str = "output-persist-token";
/// Where clients look for it.
const TOKEN_DIRECTORY: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// Validity of the token in seconds; the kubelet renews it.
const TOKEN_SECONDS: i64 = 3600;

/// Environment variable of a container that names the subject of its output.
const REMOTE_ID: &str = "REMOTE_ID";

/// Adds labels with the origin of each Secret.
pub(super) fn with_origin_labels(output: &Output, pod: &Pod) -> Output {
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
fn remote_id(pod: &Pod, container: &str) -> Option<String> {
    let found = pod.containers.iter().find(|one| one.name == container)?;
    let variable = found.env.as_ref()?.iter().find(|one| one.name == REMOTE_ID)?;
    let value = variable.value.as_ref()?.as_str()?;
    if !value.is_empty() && is_label_value(value) {
        return Some(value.to_string());
    }
    Some(names::cut(&names::label(value), "", MAX_LABEL_LENGTH)).filter(|label| !label.is_empty())
}

/// Adds the container to a pod. `owner`: the owner of the Secrets.
///
/// # Errors
/// The output names a missing container, or a container has the name of ours.
pub(super) fn add(pod: &mut Pod, output: &Output, owner: &OwnerReference, image: &str) -> Result<(), JobError> {
    let restarts = pod.restart_policy.as_deref() == Some("OnFailure");
    let mut mounts = Vec::new();
    let mut volumes = Vec::new();
    for container in output.output_map.keys() {
        let volume = names::container(&["output", container]);
        let found = pod.container(container).ok_or_else(|| {
            JobError::Refused(format!(
                "spec.output.outputMap names the container '{container}', which spec.template does not have"
            ))
        })?;
        let own = found.volume_mounts.get_or_insert_default();
        own.push(json!({"mountPath": DIRECTORY, "name": volume}));
        let directory = format!("{DIRECTORY}/{container}");
        mounts.push(json!({"mountPath": directory, "name": volume, "readOnly": true}));
        volumes.push(json!({"emptyDir": {}, "name": volume}));
    }
    if pod.container(CONTAINER).is_some() {
        return Err(JobError::Refused(format!(
            "spec.template has a container '{CONTAINER}', a name that the operator reserves"
        )));
    }
    mounts.push(json!({"mountPath": TOKEN_DIRECTORY, "name": TOKEN_VOLUME, "readOnly": true}));
    volumes.push(token());
    let order = Order {
        owner: owner.clone(),
        output: output.clone(),
        restarts,
    };
    pod.containers.push(container(&order, image, &mounts)?);
    pod.volumes.get_or_insert_default().extend(volumes);
    Ok(())
}

fn container(order: &Order, image: &str, mounts: &[Value]) -> Result<Container, Error> {
    let order = serde_json::to_string(order).map_err(|_| Error::flawed("Job", None, "has no order for its output"))?;
    let container = json!({
        "name": CONTAINER,
        "env": [
            {"name": ORDER, "value": order},
            {"name": "NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": pod_contract::VERSION_VARIABLE, "value": pod_contract::COMMON_VERSION.to_string()},
        ],
        "volumeMounts": mounts,
        "command": ["host", "util", "persist-output"],
        "image": image,
        // A file has at most 32 MiB, and its parts are held a few times.
        "resources": {
            "limits": {"cpu": "1", "memory": "256Mi"},
            "requests": {"cpu": "10m", "memory": "32Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
            "privileged": false,
            "readOnlyRootFilesystem": true,
            "runAsGroup": USER_ID,
            "runAsNonRoot": true,
            "runAsUser": USER_ID,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    });
    serde_json::from_value(container).map_err(|_| Error::flawed("Job", None, "is not JSON"))
}

/// The token volume, as the kubelet would mount it for all containers.
fn token() -> Value {
    json!({"name": TOKEN_VOLUME, "projected": {"sources": [
        {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
        {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}], "name": "kube-root-ca.crt"}},
        {"downwardAPI": {"items": [{"fieldRef": {"fieldPath": "metadata.namespace"}, "path": "namespace"}]}},
    ]}})
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
            let pod: Pod = serde_json::from_value(pod).unwrap();
            let labelled = with_origin_labels(&output, &pod);
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
        assert!(of(&"x".repeat(80)).is_some_and(|label| label.len() == MAX_LABEL_LENGTH));
    }
}
