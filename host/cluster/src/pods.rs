//! What Kubernetes reports of a pod. Pure.

use k8s_openapi::api::core::v1::{Container, ContainerStatus, Pod, PodCondition};

/// Usual reasons of a waiting container.
pub const USUAL_REASONS: [&str; 2] = ["ContainerCreating", "PodInitializing"];

pub fn condition<'p>(pod: &'p Pod, kind: &str) -> Option<&'p PodCondition> {
    let mut conditions = pod.status.iter().flat_map(|status| &status.conditions).flatten();
    conditions.find(|one| one.type_ == kind)
}

pub fn is_ready(pod: &Pod) -> bool {
    condition(pod, "Ready").is_some_and(|one| one.status == "True")
}

/// All containers, init containers first.
pub fn containers(pod: &Pod) -> impl Iterator<Item = &Container> {
    let spec = pod.spec.iter();
    spec.flat_map(|spec| spec.init_containers.iter().flatten().chain(&spec.containers))
}

/// The statuses of all containers, init containers first.
pub fn statuses(pod: &Pod) -> impl Iterator<Item = &ContainerStatus> {
    init_statuses(pod).chain(main_statuses(pod))
}

pub fn init_statuses(pod: &Pod) -> impl Iterator<Item = &ContainerStatus> {
    let statuses = pod.status.iter().flat_map(|status| &status.init_container_statuses);
    statuses.flatten()
}

/// The statuses of the other containers.
pub fn main_statuses(pod: &Pod) -> impl Iterator<Item = &ContainerStatus> {
    let statuses = pod.status.iter().flat_map(|status| &status.container_statuses);
    statuses.flatten()
}

/// Names of the claims that a pod uses.
pub fn claims(pod: &Pod) -> impl Iterator<Item = &str> {
    let volumes = pod.spec.iter().flat_map(|spec| &spec.volumes).flatten();
    volumes.filter_map(|volume| Some(volume.persistent_volume_claim.as_ref()?.claim_name.as_str()))
}
