//! The pods of a conversion job: our containers, without privileges, and containers that copy job sources from release
//! images. Pure.

use crate::conversion::ReleaseImage;
use crate::deployment::error::DeployError;
use boson_document::{Tree, json};
use boson_in_pod::USER_ID;
use boson_manifest::{container_run, copier, names, pod_contract};
use boson_pipeline::Stage;
use boson_pipeline::convert::pod_plugins::PodPlugin;
use boson_pipeline::stage::Deployment;
use k8s_openapi::api::core::v1::{
    Capabilities, Container, EmptyDirVolumeSource, EnvVar, KeyToPath, LocalObjectReference, PodSecurityContext,
    PodSpec, ResourceRequirements, SeccompProfile, SecretVolumeSource, SecurityContext, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// Writable volume that lives as long as the pod.
pub const SCRATCH: &str = "tmp";
/// Volume with the job sources of all releases.
pub const RELEASES: &str = "all-releases";
/// Mode of Secrets' files: the pod's group may read them.
pub const SECRET_FILE_MODE: i32 = 0o440;

/// What a container needs to run the plugins of the deployment that are not in its image.
#[derive(Clone, Debug, Default)]
pub struct PodPlugins {
    /// For the command.
    pub arguments: Vec<String>,
    pub volumes: Vec<Volume>,
    pub mounts: Vec<VolumeMount>,
}

/// A container that runs a command of the operator image.
pub struct Command {
    pub name: String,
    /// Subcommand of `host util`.
    pub command: &'static str,
    pub arguments: Vec<String>,
    pub mounts: Vec<VolumeMount>,
    /// The version of the pod contract that it needs.
    pub pod_contract: u32,
}

// === impl PodPlugins ===

impl PodPlugins {
    /// For pods that run this stage.
    ///
    /// # Errors
    /// A volume or mount is not one of Kubernetes.
    pub fn of(plugins: &[PodPlugin], stage: Stage) -> Result<Self, DeployError> {
        let mut all = Self::default();
        for plugin in plugins.iter().filter(|plugin| plugin.stage == stage) {
            all.arguments.extend(plugin.arguments());
            all.volumes.push(typed(&plugin.volume())?);
            all.mounts.push(typed(&plugin.mount())?);
        }
        Ok(all)
    }
}

fn typed<T: DeserializeOwned>(tree: &Tree) -> Result<T, DeployError> {
    serde_json::from_str(&json::to_text(tree)).map_err(|_| DeployError::defect("pods cannot mount a plugin"))
}

// === impl Command ===

impl Command {
    /// `report`: most bytes of its termination message.
    pub fn container(&self, deployment: &Deployment, report: usize, plugins: &PodPlugins) -> Container {
        let mut arguments = self.arguments.clone();
        arguments.push(format!("--report-limit={report}"));
        arguments.extend(plugins.arguments.iter().cloned());
        let mut mounts = self.mounts.clone();
        mounts.push(writable(SCRATCH, "/tmp"));
        mounts.extend(plugins.mounts.iter().cloned());
        Container {
            name: self.name.clone(),
            image: Some(deployment.operator_image.clone()),
            command: Some(["host", "util", self.command].map(String::from).into()),
            args: Some(arguments.iter().map(|text| literal(text)).collect()),
            env: Some(vec![
                // Nothing else of the file system can be written.
                variable("XDG_CACHE_HOME", "/tmp/cache".into()),
                variable("BOSH_DEPLOYMENT_NAME", literal(&deployment.name)),
                variable("POD_NAMESPACE", deployment.namespace.clone()),
                variable(pod_contract::VERSION_VARIABLE, self.pod_contract.to_string()),
            ]),
            resources: Some(resources(["50m", "64Mi"], ["2", "2Gi"])),
            security_context: Some(SecurityContext {
                read_only_root_filesystem: Some(true),
                ..within_restricted()
            }),
            volume_mounts: Some(mounts),
            ..Container::default()
        }
    }
}

/// Copies container-run from the operator's image to a volume, then the job sources of each release image.
pub fn copiers(image: &str, releases: &[ReleaseImage]) -> Vec<Container> {
    let install = Container {
        name: container_run::COPIER.into(),
        image: Some(image.into()),
        command: Some(
            [container_run::IN_IMAGE, "install", container_run::HOME]
                .map(String::from)
                .into(),
        ),
        resources: Some(resources_of_copier()),
        security_context: Some(within_restricted()),
        volume_mounts: Some(vec![writable(container_run::VOLUME, container_run::HOME)]),
        ..Container::default()
    };
    std::iter::once(install).chain(releases.iter().map(copier)).collect()
}

/// Volumes of [`copiers`].
pub fn volumes_of_copiers() -> [Volume; 2] {
    [scratch(RELEASES), scratch(container_run::VOLUME)]
}

fn resources_of_copier() -> ResourceRequirements {
    resources(["10m", "16Mi"], ["1", "256Mi"])
}

/// Requests and limits, each of cpu and memory.
fn resources(requests: [&str; 2], limits: [&str; 2]) -> ResourceRequirements {
    let amounts = |[cpu, memory]: [&str; 2]| -> BTreeMap<String, Quantity> {
        [("cpu", cpu), ("memory", memory)]
            .map(|(name, amount)| (name.to_string(), Quantity(amount.into())))
            .into()
    };
    ResourceRequirements {
        requests: Some(amounts(requests)),
        limits: Some(amounts(limits)),
        ..ResourceRequirements::default()
    }
}

fn within_restricted() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        run_as_non_root: Some(true),
        capabilities: Some(Capabilities {
            drop: Some(vec!["ALL".into()]),
            ..Capabilities::default()
        }),
        ..SecurityContext::default()
    }
}

/// Copies the job sources of a release image. As root, like in the pods of the deployment, because the image decides
/// who may read them; as vcap if all its jobs declare that they need no root.
fn copier(release: &ReleaseImage) -> Container {
    let target = literal(&copier::target(&release.release));
    let command = copier::command(&target).into_iter();
    let security = if release.as_root {
        SecurityContext {
            allow_privilege_escalation: Some(false),
            run_as_user: Some(0),
            run_as_group: Some(0),
            ..SecurityContext::default()
        }
    } else {
        within_restricted()
    };
    Container {
        name: names::container(&["spec-copier", &release.release]),
        image: Some(release.image.clone()),
        command: Some(command.map(str::to_string).collect()),
        resources: Some(resources_of_copier()),
        security_context: Some(security),
        // It has no access to secrets, so its output may be reported.
        termination_message_policy: Some("FallbackToLogsOnError".into()),
        volume_mounts: Some(vec![
            mount(container_run::VOLUME, container_run::HOME),
            writable(RELEASES, copier::RELEASES),
        ]),
        ..Container::default()
    }
}

/// The pods. `pull`: names of Secrets.
pub fn spec(init: Vec<Container>, containers: Vec<Container>, volumes: Vec<Volume>, pull: &[String]) -> PodSpec {
    let pull = pull.iter().map(|name| LocalObjectReference { name: name.clone() });
    PodSpec {
        restart_policy: Some("Never".into()),
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        image_pull_secrets: Some(pull.collect()),
        security_context: Some(PodSecurityContext {
            run_as_user: Some(USER_ID),
            run_as_group: Some(USER_ID),
            fs_group: Some(USER_ID),
            seccomp_profile: Some(SeccompProfile {
                type_: "RuntimeDefault".into(),
                ..SeccompProfile::default()
            }),
            ..PodSecurityContext::default()
        }),
        init_containers: Some(init),
        containers,
        volumes: Some(volumes),
        ..PodSpec::default()
    }
}

/// A read-only mount.
pub fn mount(volume: &str, path: &str) -> VolumeMount {
    VolumeMount {
        read_only: Some(true),
        ..writable(volume, path)
    }
}

fn writable(volume: &str, path: &str) -> VolumeMount {
    VolumeMount {
        name: volume.into(),
        mount_path: path.into(),
        ..VolumeMount::default()
    }
}

/// A volume with one key of a Secret.
pub fn secret(volume: &str, name: &str, key: &str) -> Volume {
    Volume {
        name: volume.into(),
        secret: Some(SecretVolumeSource {
            secret_name: Some(name.into()),
            default_mode: Some(SECRET_FILE_MODE),
            items: Some(vec![item(key, key.into())]),
            ..SecretVolumeSource::default()
        }),
        ..Volume::default()
    }
}

/// A key of a Secret, as the file `path`.
pub fn item(key: &str, path: String) -> KeyToPath {
    KeyToPath {
        key: key.into(),
        path,
        ..KeyToPath::default()
    }
}

/// An empty volume.
pub fn scratch(volume: &str) -> Volume {
    Volume {
        name: volume.into(),
        empty_dir: Some(EmptyDirVolumeSource::default()),
        ..Volume::default()
    }
}

fn variable(name: &str, value: String) -> EnvVar {
    EnvVar {
        name: name.into(),
        value: Some(value),
        ..EnvVar::default()
    }
}

/// Kubernetes replaces `$(NAME)` in commands.
fn literal(text: &str) -> String {
    text.replace('$', "$$")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_mount_the_plugins_of_their_stage() {
        let plugin = |stage| PodPlugin {
            name: "mine".into(),
            nth: 0,
            stage,
            config_maps: vec!["d.plugin-0".into()],
            component: true,
            groups: None,
        };
        let plugins = PodPlugins::of(&[plugin(Stage::Links), plugin(Stage::Render)], Stage::Links).unwrap();
        assert_eq!((plugins.volumes.len(), plugins.mounts.len()), (1, 1));
        assert_eq!(plugins.volumes[0].name, plugins.mounts[0].name);
        let sources = plugins.volumes[0].projected.as_ref().unwrap().sources.as_ref().unwrap();
        assert_eq!(sources[0].config_map.as_ref().unwrap().name, "d.plugin-0");
        assert_eq!(plugins.mounts[0].read_only, Some(true));
    }
}
