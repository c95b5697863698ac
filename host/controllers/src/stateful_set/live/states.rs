//! The desired states of the instances of a group, beside what they run. Pure.
//!
//! A stopped group has no replicas. A StatefulSet has a pod for each ordinal, so the pod of a stopped instance has a
//! scheduling gate instead, with which it runs nowhere. Only a new pod can get one: the pod template has it until all
//! stopped instances have such a pod, and no longer, because other pods that are lost meanwhile get it, too.

use super::{is_observed, ordinal, ordinals, ready_ordinals, zone};
use crate::instance_revisions;
use boson_api::instances::STOPPED;
use boson_api::{PodState, QuarksStatefulSet};
use boson_pipeline::listing::first_of;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::Timestamp;
use serde_json::json;
use std::collections::BTreeSet;

const MAX_NAMED_INSTANCES: usize = 3;

/// The states at one time.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::stateful_set) struct States<'a> {
    pub all: &'a [PodState],
    /// Whether single instances can be stopped: where pods have no revisions, a template with a gate replaces all.
    pub stops_instances: bool,
    pub now: Timestamp,
}

/// Whether a pod was created for a stopped instance.
pub(in crate::stateful_set) fn is_gated(pod: &Pod) -> bool {
    let gates = pod.spec.iter().flat_map(|spec| &spec.scheduling_gates);
    gates.flatten().any(|gate| gate.name == STOPPED)
}

// === impl States ===

impl<'a> States<'a> {
    /// Those that a status tells of.
    pub fn for_status(set: &'a QuarksStatefulSet) -> Self {
        Self {
            all: &set.spec.instances,
            stops_instances: !set.spec.instances.is_empty() && instance_revisions::of_spec(&json!(set.spec)).is_some(),
            now: Timestamp::default(),
        }
    }

    /// Whether the group has no pods.
    pub fn is_stopped(self) -> bool {
        self.all.iter().any(|one| one.desired.stopped && one.ordinal.is_none())
    }

    pub fn has_exceptions(self) -> bool {
        self.ignored_instances().next().is_some() || self.stopped_instances().next().is_some()
    }

    /// Whether an instance is neither updated nor waited for. `zone`: empty without zones.
    pub fn is_ignored(self, zone: &str, ordinal: usize) -> bool {
        self.ignored_instances().any(|one| one == (zone, ordinal))
    }

    /// Whether an instance is stopped, if its group is not.
    pub fn is_instance_stopped(self, zone: &str, ordinal: usize) -> bool {
        self.stopped_instances().any(|one| one == (zone, ordinal))
    }

    fn ignored_instances(self) -> impl Iterator<Item = (&'a str, usize)> {
        self.instances(|one| one.desired.ignored)
    }

    fn stopped_instances(self) -> impl Iterator<Item = (&'a str, usize)> {
        self.instances(|one| one.desired.stopped)
            .filter(move |_| self.stops_instances)
    }

    fn instances(self, is_meant: fn(&PodState) -> bool) -> impl Iterator<Item = (&'a str, usize)> {
        let meant = self.all.iter().filter(move |one| is_meant(one));
        meant.filter_map(|one| Some((one.zone.as_str(), usize::try_from(one.ordinal?).ok()?)))
    }

    /// Whether pods were to be replaced at some time.
    pub fn replaces(self) -> bool {
        self.all
            .iter()
            .any(|one| one.desired.replace_pods_created_before.is_some())
    }

    /// Whether a pod is to be replaced because it was created too early.
    pub fn is_too_old(self, pod: &Pod, zone: &str, ordinal: usize) -> bool {
        let is_meant = |one: &&PodState| one.ordinal.is_none() || is_instance(one, zone, ordinal);
        self.is_older(pod, self.all.iter().filter(is_meant))
    }

    /// Whether it is because of a request for this instance, and not for its group.
    pub fn is_requested(self, pod: &Pod, zone: &str, ordinal: usize) -> bool {
        let is_meant = |one: &&PodState| is_instance(one, zone, ordinal);
        self.is_older(pod, self.all.iter().filter(is_meant))
    }

    fn is_older<'s>(self, pod: &Pod, states: impl Iterator<Item = &'s PodState>) -> bool {
        let created = pod.metadata.creation_timestamp.as_ref();
        // In the future, it would replace each pod that follows, too.
        let before = states
            .filter_map(replacement_time)
            .filter(|time| *time <= self.now)
            .max();
        before.is_some_and(|before| created.is_some_and(|created| created.0 < before))
    }

    /// The next time at which pods are to be replaced.
    pub fn next_replacement(self) -> Option<Timestamp> {
        self.all
            .iter()
            .filter_map(replacement_time)
            .filter(|time| *time > self.now)
            .min()
    }

    /// Whether the pods of a StatefulSet are ready that are neither ignored nor stopped. `pods`: needed if some are.
    pub fn is_ready(self, set: &StatefulSet, pods: Option<&[Pod]>) -> bool {
        let counts = |ordinal: &usize| self.counts(set, *ordinal);
        if ordinals(set).all(|ordinal| counts(&ordinal)) {
            return super::is_ready(set);
        }
        let ready: BTreeSet<usize> = ready_ordinals(set, pods.unwrap_or_default()).collect();
        is_observed(set) && ordinals(set).filter(counts).all(|ordinal| ready.contains(&ordinal))
    }

    /// The pods of a StatefulSet that are neither ignored nor stopped.
    pub fn counted_pods(self, set: &StatefulSet, pods: &[Pod]) -> Vec<Pod> {
        let counts = |pod: &&Pod| ordinal(set, pod).is_some_and(|ordinal| self.counts(set, ordinal));
        pods.iter().filter(counts).cloned().collect()
    }

    fn counts(self, set: &StatefulSet, ordinal: usize) -> bool {
        let zone = zone(set);
        !self.is_ignored(zone, ordinal) && !self.is_instance_stopped(zone, ordinal)
    }

    /// What does not follow from the template, for a message.
    pub fn text(self) -> Option<String> {
        if self.is_stopped() {
            return Some("the group is stopped".into());
        }
        let name = |(zone, ordinal): (&str, usize)| match zone {
            "" => format!("number {ordinal}"),
            zone => format!("number {ordinal} of zone '{zone}'"),
        };
        let list = |what: &str, instances: Vec<(&str, usize)>| {
            let names: Vec<String> = instances.into_iter().map(name).collect();
            (!names.is_empty()).then(|| format!("{what} instances: {}", first_of(&names, MAX_NAMED_INSTANCES, " and ")))
        };
        let both = [
            list("stopped", self.stopped_instances().collect()),
            list("ignored", self.ignored_instances().collect()),
        ];
        let both: Vec<String> = both.into_iter().flatten().collect();
        (!both.is_empty()).then(|| both.join("; "))
    }
}

fn is_instance(state: &PodState, zone: &str, ordinal: usize) -> bool {
    let own = state.ordinal.and_then(|own| usize::try_from(own).ok());
    state.zone == zone && own == Some(ordinal)
}

fn replacement_time(state: &PodState) -> Option<Timestamp> {
    Some(state.desired.replace_pods_created_before.as_ref()?.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_manifest::labels;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use serde_json::{Value, from_value};

    fn all(states: &Value) -> Vec<PodState> {
        from_value(states.clone()).unwrap()
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_pod_is_too_old_for_its_group_or_itself_once_the_time_has_passed() {
        let all = all(&json!([
            {"replacePodsCreatedBefore": at(10).to_string()},
            {"zone": "a", "ordinal": 1, "replacePodsCreatedBefore": at(20).to_string()}
        ]));
        let is_too_old = |now: i64, created: i64, zone: &str, ordinal: usize| {
            let mut pod = Pod::default();
            pod.metadata.creation_timestamp = Some(Time(at(created)));
            let states = States {
                all: &all,
                now: at(now),
                ..States::default()
            };
            states.is_too_old(&pod, zone, ordinal)
        };
        assert!(is_too_old(30, 9, "a", 0) && !is_too_old(30, 10, "a", 0));
        assert!(is_too_old(30, 19, "a", 1) && !is_too_old(30, 20, "a", 1));
        assert!(!is_too_old(30, 19, "b", 1), "another zone");
        assert!(!is_too_old(15, 14, "a", 1), "in the future");
        let is_requested = |created: i64, ordinal: usize| {
            let mut pod = Pod::default();
            pod.metadata.creation_timestamp = Some(Time(at(created)));
            let states = States {
                all: &all,
                now: at(30),
                ..States::default()
            };
            states.is_requested(&pod, "a", ordinal)
        };
        assert!(is_requested(19, 1) && !is_requested(20, 1) && !is_requested(9, 0));
        let next = |now: i64| {
            let states = States {
                all: &all,
                now: at(now),
                ..States::default()
            };
            states.next_replacement()
        };
        assert_eq!((next(5), next(15), next(20)), (Some(at(10)), Some(at(20)), None));
    }

    #[test]
    fn ignored_and_stopped_pods_need_not_be_ready() {
        let ignored = all(&json!([{"zone": "a", "ordinal": 1, "ignored": true}]));
        let stopped = all(&json!([{"zone": "a", "ordinal": 1, "stopped": true}]));
        let set = |zone: &str| -> StatefulSet {
            let status = json!({"replicas": 2, "readyReplicas": 1});
            let labels = json!({labels::AZ_NAME: zone});
            let set = json!({"metadata": {"name": "s", "labels": labels}, "spec": {"replicas": 2}, "status": status});
            from_value(set).unwrap()
        };
        let pod = |ordinal: usize| -> Pod {
            let status = json!({"conditions": [{"type": "Ready", "status": "True"}]});
            from_value(json!({"metadata": {"name": format!("s-{ordinal}")}, "status": status})).unwrap()
        };
        for all in [&ignored, &stopped] {
            let states = States {
                all,
                stops_instances: true,
                ..States::default()
            };
            assert!(states.is_ready(&set("a"), Some(&[pod(0)])));
            assert!(!states.is_ready(&set("a"), Some(&[pod(1)])), "the other one is not");
            assert!(!states.is_ready(&set("b"), Some(&[pod(0)])), "another zone");
            assert_eq!(states.counted_pods(&set("a"), &[pod(0), pod(1)]), [pod(0)]);
        }
        let states = States {
            all: &[ignored, stopped].concat(),
            ..States::default()
        };
        assert!(!states.is_instance_stopped("a", 1), "pods have no revisions");
        assert_eq!(states.text().unwrap(), "ignored instances: number 1 of zone 'a'");
    }
}
