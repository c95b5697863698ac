//! Why instances are updated, for recorded events. Pure.

use super::Instance;
use super::instances::{LiveZone, Wanted};
use crate::instance_revisions;
use crate::stateful_set::live::is_pod_of;
use crate::stateful_set::live::states::is_gated;
use boson_cluster::objects::annotation;
use boson_manifest::labels;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

/// An instance whose update begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::stateful_set) struct Begun {
    pub zone_index: usize,
    pub ordinal: usize,
    /// A word of BOSH, such as `update`.
    pub action: &'static str,
    pub changes: Vec<&'static str>,
}

// === impl Begun ===

impl Begun {
    pub fn of(zone: &LiveZone<'_>, instance: &Instance<'_>, pods: &[Pod]) -> Self {
        let own = zone.pod(instance.ordinal, pods);
        let pod = own.or_else(|| of_other_version(zone, instance.ordinal, pods));
        let changes = pod.map(|pod| changes(zone, instance.ordinal, pod)).unwrap_or_default();
        let is_stopped = zone.is_stopped(instance.ordinal);
        let action = match pod {
            None => "create",
            Some(_) if is_stopped => "stop",
            Some(pod) if is_gated(pod) => "start",
            Some(_) if changes.is_empty() || changes == ["restart"] => "restart",
            Some(_) => "update",
        };
        Self {
            zone_index: instance.zone_index,
            ordinal: instance.ordinal,
            action,
            changes,
        }
    }
}

/// The pod that the instance has in another version of its group.
fn of_other_version<'p>(zone: &LiveZone<'_>, ordinal: usize, pods: &'p [Pod]) -> Option<&'p Pod> {
    let index = zone.index.to_string();
    let ending = format!("-{ordinal}");
    pods.iter().find(|pod| {
        let is_in_zone = pod.labels().get(labels::AZ_INDEX).is_none_or(|zone| *zone == index);
        is_in_zone && pod.name_any().ends_with(&ending) && !is_pod_of(pod, zone.set_name)
    })
}

/// What differs between a pod and what its instance should run, in BOSH's words where it has them.
fn changes(zone: &LiveZone<'_>, ordinal: usize, pod: &Pod) -> Vec<&'static str> {
    let of_wanted = |wanted: Wanted<'_>| {
        let shape = annotation(&pod.metadata, labels::SHAPE_DIGEST);
        let all = annotation(&pod.metadata, labels::INSTANCE_REVISIONS);
        let revision = all.and_then(|all| instance_revisions::of_instance(all, zone.name, ordinal));
        [
            (shape != Some(wanted.digest.text_in_zone(zone.index)), "pod template"),
            (
                revision != wanted.revisions.get(ordinal).map(String::as_str),
                "configuration",
            ),
            (zone.is_refused(pod), "resources"),
        ]
    };
    let of_states = [
        (zone.states.is_too_old(pod, zone.name, ordinal), "restart"),
        (zone.is_stopped(ordinal) || is_gated(pod), "state"),
    ];
    // Without revisions, only the template can tell.
    let of_pod = zone.wanted.map_or([(true, "pod template"); 3], of_wanted);
    let mut all: Vec<&'static str> = of_states
        .into_iter()
        .chain(of_pod)
        .filter_map(|(differs, what)| differs.then_some(what))
        .collect();
    all.dedup();
    all
}
