//! The pods of a conversion job: our containers, without privileges, and containers that copy job sources from release images. Pure.

use crate::conversion::ReleaseImage;
use boson_manifest::{contract, copier, names, wrapper};
use serde_json::{Value, json};

/// Writable volume that lives as long as the pod.
pub(super) const SCRATCH: &str = "tmp";
/// Volume with the job sources of all releases.
pub(super) const RELEASES: &str = "all-releases";
/// Mode of Secrets' files: the pod's group may read them.
pub(super) const READABLE: i32 = 0o440;

/// What a container needs to run the plugins of the deployment.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct PodPlugins {
    /// For the command.
    pub arguments: Vec<String>,
    pub volumes: Vec<Value>,
    pub mounts: Vec<Value>,
}

/// A container of the operator image.
pub(super) struct Container {
    pub name: String,
    /// Subcommand of `host util`.
    pub command: &'static str,
    pub arguments: Vec<String>,
    pub mounts: Vec<Value>,
}

// === impl Container ===

impl Container {
    /// `report`: most bytes of its termination message.
    pub(super) fn object(&self, image: &str, report: usize, plugins: &PodPlugins) -> Value {
        let mut arguments = self.arguments.clone();
        arguments.push(format!("--report-limit={report}"));
        arguments.extend(plugins.arguments.iter().cloned());
        let mut mounts = self.mounts.clone();
        mounts.push(json!({ "name": SCRATCH, "mountPath": "/tmp" }));
        mounts.extend(plugins.mounts.iter().cloned());
        json!({
            "name": self.name,
            "image": image,
            "command": ["host", "util", self.command],
            "args": arguments.iter().map(|text| literal(text)).collect::<Vec<_>>(),
            "env": [
                // Nothing else of the file system can be written.
                { "name": "XDG_CACHE_HOME", "value": "/tmp/cache" },
                { "name": contract::VARIABLE, "value": contract::COMMON.to_string() },
            ],
            "resources": {
                "requests": { "cpu": "50m", "memory": "64Mi" },
                "limits": { "cpu": "2", "memory": "2Gi" },
            },
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "capabilities": { "drop": ["ALL"] },
                "readOnlyRootFilesystem": true,
                "runAsNonRoot": true,
            },
            "volumeMounts": mounts,
        })
    }
}

/// Copies the process wrapper from the operator's image to a volume, then the job sources of each release image.
pub(super) fn copiers(image: &str, releases: &[ReleaseImage]) -> Vec<Value> {
    let wrapper = json!({
        "name": wrapper::COPIER,
        "image": image,
        "command": [wrapper::IN_IMAGE, "install", wrapper::HOME],
        "resources": resources_of_copier(),
        "securityContext": within_restricted(),
        "volumeMounts": [{ "name": wrapper::VOLUME, "mountPath": wrapper::HOME }],
    });
    let mut all = vec![wrapper];
    all.extend(releases.iter().map(copier));
    all
}

/// Volumes of [`copiers`].
pub(super) fn volumes_of_copiers() -> [Value; 2] {
    [scratch(RELEASES), scratch(wrapper::VOLUME)]
}

fn resources_of_copier() -> Value {
    json!({
        "requests": { "cpu": "10m", "memory": "16Mi" },
        "limits": { "cpu": "1", "memory": "256Mi" },
    })
}

fn within_restricted() -> Value {
    json!({ "allowPrivilegeEscalation": false, "runAsNonRoot": true, "capabilities": { "drop": ["ALL"] } })
}

/// Copies the job sources of a release image. As root, like in the pods of the deployment, because the image decides who may read them; as vcap if
/// all its jobs declare that they need no root.
fn copier(release: &ReleaseImage) -> Value {
    let target = literal(&copier::target(&release.release));
    let security = match release.as_root {
        true => json!({ "allowPrivilegeEscalation": false, "runAsUser": 0, "runAsGroup": 0 }),
        false => within_restricted(),
    };
    json!({
        "name": names::container(&["spec-copier", &release.release]),
        "image": release.image,
        "command": copier::command(&target),
        "resources": resources_of_copier(),
        "securityContext": security,
        // It has no access to secrets, so its output may be reported.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            mount(wrapper::VOLUME, wrapper::HOME),
            { "name": RELEASES, "mountPath": copier::RELEASES },
        ],
    })
}

/// `spec` of the pods.
pub(super) fn spec(init: Vec<Value>, containers: Vec<Value>, volumes: &[Value], pull: &[Value]) -> Value {
    json!({
        "restartPolicy": "Never",
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "imagePullSecrets": pull,
        "securityContext": {
            "runAsUser": 1000,
            "runAsGroup": 1000,
            "fsGroup": 1000,
            "seccompProfile": { "type": "RuntimeDefault" },
        },
        "initContainers": init,
        "containers": containers,
        "volumes": volumes,
    })
}

/// A read-only mount.
pub(super) fn mount(volume: &str, path: &str) -> Value {
    json!({ "name": volume, "mountPath": path, "readOnly": true })
}

/// A volume with one key of a Secret.
pub(super) fn secret(volume: &str, name: &str, key: &str) -> Value {
    json!({ "name": volume, "secret": {
        "secretName": name, "defaultMode": READABLE, "items": [{ "key": key, "path": key }],
    } })
}

/// An empty volume.
pub(super) fn scratch(volume: &str) -> Value {
    json!({ "name": volume, "emptyDir": {} })
}

/// Kubernetes replaces `$(NAME)` in commands.
fn literal(text: &str) -> String {
    text.replace('$', "$$")
}
