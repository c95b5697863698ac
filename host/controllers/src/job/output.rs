//! The container that stores the output of the others, and its volumes. Pure.

use super::error::JobError;
use super::template::Pod;
use boson_api::job::Output;
use boson_cluster::client::Error;
use boson_manifest::names::{self, MAX_LABEL_LENGTH};
use boson_manifest::{contract, labels};
use boson_output::{CONTAINER, DIRECTORY, ORDER, Order};
use k8s_openapi::api::core::v1::{
    Capabilities, ConfigMapProjection, Container, DownwardAPIProjection, DownwardAPIVolumeFile, EmptyDirVolumeSource,
    EnvVar, EnvVarSource, KeyToPath, ObjectFieldSelector, ProjectedVolumeSource, ResourceRequirements, SeccompProfile,
    SecurityContext, ServiceAccountTokenProjection, Volume, VolumeMount, VolumeProjection,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// Volume with the token, which only this container mounts.
const TOKEN: &str = "output-persist-token";
/// Where clients look for it.
const TOKEN_DIRECTORY: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// Validity of the token in seconds; the kubelet renews it.
const TOKEN_SECONDS: i64 = 3600;
/// The user of the operator's image.
const USER_ID: i64 = 1000;

/// Environment variable of a container that names the subject of its output.
const REMOTE_ID: &str = "REMOTE_ID";

/// Adds labels with the origin of each Secret.
pub(super) fn labelled(output: &Output, pod: &Pod) -> Output {
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
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let outer = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = value.as_bytes();
    if bytes.len() <= MAX_LABEL_LENGTH
        && bytes.iter().copied().all(inner)
        && outer(bytes.first())
        && outer(bytes.last())
    {
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
            JobError::Template(format!(
                "spec.output.outputMap names the container '{container}', which spec.template does not have"
            ))
        })?;
        let own = found.volume_mounts.get_or_insert_default();
        own.push(payload(&mount(&volume, DIRECTORY, None))?);
        mounts.push(mount(&volume, &format!("{DIRECTORY}/{container}"), Some(true)));
        volumes.push(Volume {
            name: volume,
            empty_dir: Some(EmptyDirVolumeSource::default()),
            ..Volume::default()
        });
    }
    if pod.container(CONTAINER).is_some() {
        return Err(JobError::Template(format!(
            "spec.template has a container '{CONTAINER}', a name that the operator reserves"
        )));
    }
    mounts.push(mount(TOKEN, TOKEN_DIRECTORY, Some(true)));
    volumes.push(token());
    let order = Order {
        owner: owner.clone(),
        output: output.clone(),
        restarts,
    };
    pod.containers.push(payload(&container(&order, image, mounts)?)?);
    for volume in &volumes {
        pod.volumes.get_or_insert_default().push(payload(volume)?);
    }
    Ok(())
}

/// A part of a pod in the form of the template.
fn payload<T: DeserializeOwned>(part: &impl Serialize) -> Result<T, Error> {
    let part = serde_json::to_value(part).and_then(serde_json::from_value);
    part.map_err(|_| Error::flawed("Job", None, "is not JSON"))
}

fn container(order: &Order, image: &str, mounts: Vec<VolumeMount>) -> Result<Container, Error> {
    let order = serde_json::to_string(order).map_err(|_| Error::flawed("Job", None, "has no order for its output"))?;
    let variable = |name: &str, value: String| EnvVar {
        name: name.into(),
        value: Some(value),
        ..EnvVar::default()
    };
    let from = |name: &str, path: &str| EnvVar {
        name: name.into(),
        value_from: Some(EnvVarSource {
            field_ref: Some(field(path)),
            ..EnvVarSource::default()
        }),
        ..EnvVar::default()
    };
    Ok(Container {
        name: CONTAINER.into(),
        image: Some(image.into()),
        command: Some(["host", "util", "persist-output"].map(String::from).into()),
        env: Some(vec![
            variable(ORDER, order),
            from("NAMESPACE", "metadata.namespace"),
            from("POD_NAME", "metadata.name"),
            variable(contract::VARIABLE, contract::COMMON.to_string()),
        ]),
        volume_mounts: Some(mounts),
        // A file has at most 32 MiB, and its parts are held a few times.
        resources: Some(ResourceRequirements {
            requests: Some(quantities("10m", "32Mi")),
            limits: Some(quantities("1", "256Mi")),
            ..ResourceRequirements::default()
        }),
        security_context: Some(confined()),
        ..Container::default()
    })
}

fn mount(volume: &str, path: &str, read_only: Option<bool>) -> VolumeMount {
    VolumeMount {
        name: volume.into(),
        mount_path: path.into(),
        read_only,
        ..VolumeMount::default()
    }
}

fn field(path: &str) -> ObjectFieldSelector {
    ObjectFieldSelector {
        field_path: path.into(),
        ..ObjectFieldSelector::default()
    }
}

fn quantities(cpu: &str, memory: &str) -> BTreeMap<String, Quantity> {
    [("cpu", cpu), ("memory", memory)]
        .map(|(name, quantity)| (name.to_string(), Quantity(quantity.into())))
        .into()
}

fn confined() -> SecurityContext {
    SecurityContext {
        run_as_non_root: Some(true),
        run_as_user: Some(USER_ID),
        run_as_group: Some(USER_ID),
        allow_privilege_escalation: Some(false),
        read_only_root_filesystem: Some(true),
        privileged: Some(false),
        capabilities: Some(Capabilities {
            drop: Some(vec!["ALL".into()]),
            ..Capabilities::default()
        }),
        seccomp_profile: Some(SeccompProfile {
            type_: "RuntimeDefault".into(),
            ..SeccompProfile::default()
        }),
        ..SecurityContext::default()
    }
}

/// The token volume, as the kubelet would mount it for all containers.
fn token() -> Volume {
    let token = VolumeProjection {
        service_account_token: Some(ServiceAccountTokenProjection {
            path: "token".into(),
            expiration_seconds: Some(TOKEN_SECONDS),
            ..ServiceAccountTokenProjection::default()
        }),
        ..VolumeProjection::default()
    };
    let authority = VolumeProjection {
        config_map: Some(ConfigMapProjection {
            name: "kube-root-ca.crt".into(),
            items: Some(vec![KeyToPath {
                key: "ca.crt".into(),
                path: "ca.crt".into(),
                ..KeyToPath::default()
            }]),
            ..ConfigMapProjection::default()
        }),
        ..VolumeProjection::default()
    };
    let namespace = VolumeProjection {
        downward_api: Some(DownwardAPIProjection {
            items: Some(vec![DownwardAPIVolumeFile {
                path: "namespace".into(),
                field_ref: Some(field("metadata.namespace")),
                ..DownwardAPIVolumeFile::default()
            }]),
        }),
        ..VolumeProjection::default()
    };
    Volume {
        name: TOKEN.into(),
        projected: Some(ProjectedVolumeSource {
            sources: Some(vec![token, authority, namespace]),
            ..ProjectedVolumeSource::default()
        }),
        ..Volume::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn output_says_which_container_it_is_of_and_what_it_is_about() {
        let output: Output = serde_json::from_value(json!({"outputMap": {
            "a": {"f": {"name": "s", "secretLabels": {"mine": "x"}}, "g": {"name": "t"}}, "b": {"f": {"name": "u"}}}}))
        .unwrap();
        let of = |value: &str| {
            let pod =
                json!({"containers": [{"name": "b"}, {"name": "a", "env": [{"name": "REMOTE_ID", "value": value}]}]});
            let pod: Pod = serde_json::from_value(pod).unwrap();
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
        assert!(of(&"x".repeat(80)).is_some_and(|label| label.len() == MAX_LABEL_LENGTH));
    }
}
