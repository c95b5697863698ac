//! Reads the instances of a group from its StatefulSets and pods. Pure.

use super::earlier_template::set_back_from;
use super::{Instance, State, Updated};
use crate::instance_revisions;
use crate::stateful_set::disks::claim_templates;
use crate::stateful_set::live::digest::Digest;
use crate::stateful_set::live::states::{States, is_gated};
use crate::stateful_set::live::{
    RESTARTED_AT, REVISION, is_being_deleted, is_observed, is_refused, is_updated_in_place, ordinals,
};
use boson_cluster::client::AnyObject;
use boson_cluster::objects::annotation;
use boson_cluster::pods::{is_ready, main_statuses};
use boson_manifest::{container_run, labels};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use serde_json::Value;

/// A zone of the wanted version.
pub(in crate::stateful_set) struct LiveZone<'a> {
    /// Its name; empty without zones.
    pub name: &'a str,
    pub index: usize,
    pub set_name: &'a str,
    /// Its StatefulSet, if it exists.
    pub live: Option<&'a StatefulSet>,
    /// The number of its instances.
    pub replicas: usize,
    /// What its pods should run, if that can be told from their annotations.
    pub wanted: Option<Wanted<'a>>,
    pub states: States<'a>,
}

/// What the pods of a zone should run.
#[derive(Clone, Copy)]
pub(in crate::stateful_set) struct Wanted<'a> {
    pub digest: &'a Digest,
    pub revisions: &'a [String],
}

// === impl LiveZone ===

impl<'a> LiveZone<'a> {
    /// The instances of a zone whose pods are replaced. `is_outdated`: its StatefulSet still has another pod template.
    pub fn in_place(&self, is_outdated: bool, pods: &[Pod]) -> Vec<Instance<'a>> {
        let live = self.live.filter(|live| !is_being_deleted(live));
        let revision = |live: &StatefulSet| live.status.as_ref()?.update_revision.clone();
        let observed = || live.filter(|live| is_observed(live)).and_then(revision);
        let before = live.and_then(set_back_from).cloned();
        let is_set_back = before.is_some();
        let newest = before.or_else(observed);
        // Others are created with the new template, or deleted.
        let count = live.map_or(self.replicas, |live| self.replicas.min(ordinals(live).end));
        let is_newest = |pod: &Pod| newest.is_some() && pod.labels().get(REVISION) == newest.as_ref();
        let template = live.and_then(|live| live.spec.as_ref()?.template.metadata.as_ref());
        let is_wanted = |metadata: &ObjectMeta, ordinal| {
            let wanted = |wanted: Wanted<'_>| wanted.is_in(metadata, self, ordinal);
            let restarted = template.and_then(|template| annotation(template, RESTARTED_AT));
            self.wanted.is_some_and(wanted) && annotation(metadata, RESTARTED_AT) == restarted
        };
        let is_stopping = self.is_stopping(pods);
        let own: Vec<Option<&Pod>> = (0..count).map(|ordinal| self.pod(ordinal, pods)).collect();
        let state = |(ordinal, pod): (usize, &Option<&Pod>)| {
            let outdated = State::Outdated {
                is_ready: pod.is_some_and(is_ready),
            };
            match pod {
                _ if self.is_ignored(ordinal) => State::Ignored,
                // It is stopped, or will be, whatever it runs until then.
                Some(pod) if self.is_stopped(ordinal) && (is_gated(pod) || !is_stopping) => State::Ignored,
                // Nothing is known before the change of the template was observed: pods may still come from the old
                // one.
                _ if newest.is_none() && !is_outdated => State::Missing,
                Some(pod) if self.states.is_too_old(pod, self.name, ordinal) => outdated,
                Some(_) if self.is_stopped(ordinal) => outdated,
                // It was stopped before, or was lost while the template had the gate for others.
                Some(pod) if is_gated(pod) => outdated,
                Some(pod) if is_wanted(&pod.metadata, ordinal) && !self.is_refused(pod) => {
                    State::Updated(updated(pod, is_newest(pod) && (!is_outdated || is_set_back)))
                }
                Some(pod) if self.wanted.is_none() && !is_outdated && is_newest(pod) => {
                    State::Updated(updated(pod, true))
                }
                // It is about to be created from the present template.
                None if !is_outdated && !is_set_back => State::Missing,
                None if template.is_some_and(|template| is_wanted(template, ordinal)) => State::Missing,
                _ => outdated,
            }
        };
        let mut states: Vec<State> = own.iter().enumerate().map(state).collect();
        if let Some(at) = live.and_then(|live| first_blocking(live, &own, &states))
            && !self.is_ignored(at)
            && let Some(state) = states.get_mut(at)
        {
            *state = State::Outdated { is_ready: false };
        }
        self.instances(states, pods)
    }

    /// The instances of a zone that another version hands over. Those without a pod of this version are outdated, and
    /// so is a pod that is not ready and of an earlier template, where pods are replaced in place, or cannot get the
    /// resources of the present one.
    pub fn handed_over(&self, pods: &[Pod]) -> Vec<Instance<'a>> {
        let started = self.live.map_or(0..0, ordinals);
        let newest = self.live.filter(|live| is_updated_in_place(live) && is_observed(live));
        let newest = newest.and_then(|live| live.status.as_ref()?.update_revision.as_ref());
        let is_old = |pod: &Pod| newest.is_some() && pod.labels().get(REVISION) != newest;
        let state = |ordinal| match self.pod(ordinal, pods) {
            _ if !started.contains(&ordinal) => State::Outdated { is_ready: true },
            _ if self.is_ignored(ordinal) => State::Ignored,
            Some(pod) if (is_old(pod) || self.is_refused(pod)) && !is_ready(pod) => State::Outdated { is_ready: false },
            Some(pod) => State::Updated(updated(pod, true)),
            None => State::Missing,
        };
        self.instances((0..self.replicas).map(state).collect(), pods)
    }

    fn instances(&self, states: Vec<State>, pods: &[Pod]) -> Vec<Instance<'a>> {
        let instance = |(ordinal, state)| Instance {
            zone: self.name,
            zone_index: self.index,
            ordinal,
            is_requested: self
                .pod(ordinal, pods)
                .is_some_and(|pod| self.states.is_requested(pod, self.name, ordinal)),
            state,
        };
        states.into_iter().enumerate().map(instance).collect()
    }

    /// Whether an instance is neither updated nor waited for.
    pub fn is_ignored(&self, ordinal: usize) -> bool {
        self.states.is_ignored(self.name, ordinal)
    }

    /// Whether an ignored pod lacks a disk of the wanted StatefulSet, which then could create no pod after it.
    pub fn keeps_pod_without_disk(&self, wanted: &Value, pods: &[Pod]) -> bool {
        let names: Vec<&str> = claim_templates(wanted).iter().filter_map(AnyObject::name).collect();
        let ignored = (0..self.replicas).filter(|ordinal| self.is_ignored(*ordinal));
        let mut kept = ignored.filter_map(|ordinal| self.pod(ordinal, pods));
        kept.any(|pod| lacks_disk(names.iter().copied(), pod))
    }

    pub(super) fn is_stopped(&self, ordinal: usize) -> bool {
        self.states.is_instance_stopped(self.name, ordinal)
    }

    pub fn stopped(&self) -> usize {
        (0..self.replicas).filter(|ordinal| self.is_stopped(*ordinal)).count()
    }

    /// Whether stopped instances are to get pods with a gate now. Before that, all others must have the pods that they
    /// should have: one that is created meanwhile gets the gate, too.
    pub fn is_stopping(&self, pods: &[Pod]) -> bool {
        let has_gate = |ordinal: usize| self.pod(ordinal, pods).is_some_and(is_gated);
        let is_up_to_date = |ordinal: usize| {
            let is_wanted = |pod: &Pod| {
                let is_too_old = self.states.is_too_old(pod, self.name, ordinal);
                let mut wanted = self.wanted.iter();
                wanted.any(|wanted| wanted.is_in(&pod.metadata, self, ordinal))
                    && !(is_too_old || self.is_refused(pod) || is_gated(pod))
            };
            self.pod(ordinal, pods).is_some_and(is_wanted)
        };
        let counted = (0..self.replicas).filter(|ordinal| !self.is_ignored(*ordinal));
        let (stopped, others): (Vec<usize>, Vec<usize>) = counted.partition(|ordinal| self.is_stopped(*ordinal));
        !stopped.into_iter().all(has_gate) && others.into_iter().all(is_up_to_date)
    }

    /// Whether a pod cannot get the wanted resources without being replaced.
    pub(super) fn is_refused(&self, pod: &Pod) -> bool {
        self.wanted.is_some_and(|wanted| is_refused(pod, wanted.digest))
    }

    /// The pod of an instance, unless it is being deleted.
    pub fn pod<'p>(&self, ordinal: usize, pods: &'p [Pod]) -> Option<&'p Pod> {
        let name = format!("{}-{ordinal}", self.set_name);
        let mut named = pods.iter().filter(|pod| pod.metadata.name.as_ref() == Some(&name));
        named.find(|pod| pod.metadata.deletion_timestamp.is_none())
    }
}

/// The first pod that lacks a disk, if the StatefulSet controller has to create or replace a later one: it cannot add
/// the disk to that pod, and then does nothing for the pods after it. Pods before it must be ready, so that one is
/// replaced after the other.
fn first_blocking(set: &StatefulSet, pods: &[Option<&Pod>], states: &[State]) -> Option<usize> {
    let is_ready = |state: &State| match state {
        State::Updated(updated) => updated.is_ready,
        State::Outdated { is_ready } => *is_ready,
        State::Ignored => true,
        State::Missing => false,
    };
    let claims = || set.spec.iter().flat_map(|spec| &spec.volume_claim_templates).flatten();
    let names = || claims().filter_map(|claim| claim.metadata.name.as_deref());
    let first = pods
        .iter()
        .position(|pod| pod.is_some_and(|pod| lacks_disk(names(), pod)))?;
    let (before, rest) = states.split_at_checked(first)?;
    (before.iter().all(is_ready) && !rest.iter().all(is_ready)).then_some(first)
}

/// Whether a pod lacks one of these disks, which its StatefulSet got later. Volumes of a pod are immutable.
fn lacks_disk<'n>(mut claims: impl Iterator<Item = &'n str>, pod: &Pod) -> bool {
    let volumes: Vec<_> = pod.spec.iter().flat_map(|spec| &spec.volumes).flatten().collect();
    !claims.all(|claim| {
        let mut named = volumes.iter().filter(|volume| volume.name == claim);
        named.any(|volume| volume.persistent_volume_claim.is_some())
    })
}

// === impl Wanted ===

impl Wanted<'_> {
    /// Whether a pod or pod template with this metadata is of it, but for resources that a pod can get.
    pub fn is_in(&self, metadata: &ObjectMeta, zone: &LiveZone<'_>, ordinal: usize) -> bool {
        let resources = annotation(metadata, labels::RESOURCES_DIGEST);
        let shape = annotation(metadata, labels::SHAPE_DIGEST);
        let all = annotation(metadata, labels::INSTANCE_REVISIONS);
        let found = || instance_revisions::of_instance(all?, zone.name, ordinal);
        let is_of_shape = shape.is_some_and(|shape| self.digest.fits(zone.index, shape, resources));
        is_of_shape && found() == self.revisions.get(ordinal).map(String::as_str)
    }
}

/// `is_recent`: whether it was created after the last change of its template.
fn updated(pod: &Pod, is_recent: bool) -> Updated {
    // Of a pod of the operator, the container that shows log files says nothing about the instance.
    let is_own = annotation(&pod.metadata, labels::SHAPE_DIGEST).is_some();
    let says_something = |status: &&ContainerStatus| !is_own || status.name != container_run::LOGS_CONTAINER;
    let statuses = || main_statuses(pod).filter(says_something);
    let started = |status: &ContainerStatus| {
        let running = status.state.as_ref()?.running.as_ref()?;
        Some(running.started_at.as_ref()?.0)
    };
    let starts: Option<Vec<Timestamp>> = statuses().map(started).collect();
    Updated {
        is_ready: is_ready(pod),
        created: pod
            .metadata
            .creation_timestamp
            .as_ref()
            .map_or(Timestamp::UNIX_EPOCH, |time| time.0),
        started: starts.and_then(|starts| starts.into_iter().max()),
        restarted: statuses().any(|status| {
            let has_ended = status.state.as_ref().is_some_and(|state| state.terminated.is_some());
            status.restart_count > 0 || has_ended
        }),
        is_recent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_api::{DesiredState, PodState};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use serde_json::json;

    fn set(generation: i64) -> StatefulSet {
        let set = json!({
            "metadata": {"name": "s", "generation": generation},
            "spec": {"replicas": 3, "volumeClaimTemplates": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]},
            "status": {"replicas": 3, "observedGeneration": 1, "updateRevision": "new"}
        });
        serde_json::from_value(set).unwrap()
    }

    fn pod(ordinal: u32, claims: &[&str], revision: &str, ready: bool) -> Pod {
        let volume = |name: &&str| json!({"name": name, "persistentVolumeClaim": {"claimName": "x"}});
        let ready = if ready { "True" } else { "False" };
        let pod = json!({
            "metadata": {"name": format!("s-{ordinal}"), "labels": {REVISION: revision}},
            "spec": {"containers": [], "volumes": claims.iter().map(volume).collect::<Vec<_>>()},
            "status": {"conditions": [{"type": "Ready", "status": ready}], "containerStatuses": [
                {"restartCount": 1, "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}]}
        });
        serde_json::from_value(pod).unwrap()
    }

    /// `u` and `o` are updated and outdated instances, capital letters ready ones, `-` a missing one.
    fn text(instances: &[Instance<'_>]) -> String {
        let letter = |instance: &Instance<'_>| match instance.state {
            State::Updated(updated) if updated.is_ready => 'U',
            State::Updated(_) => 'u',
            State::Outdated { is_ready: true } => 'O',
            State::Outdated { is_ready: false } => 'o',
            State::Missing => '-',
            State::Ignored => 'i',
        };
        instances.iter().map(letter).collect()
    }

    fn zone(live: Option<&StatefulSet>, replicas: usize) -> LiveZone<'_> {
        LiveZone {
            name: "",
            index: 0,
            set_name: "s",
            live,
            replicas,
            wanted: None,
            states: States::default(),
        }
    }

    const BOTH: &[&str] = &["a", "b"];

    #[test]
    fn a_pod_of_an_older_revision_is_outdated_and_one_that_is_deleted_is_missing() {
        let set = set(1);
        let mut pods = [
            pod(0, BOTH, "new", true),
            pod(1, BOTH, "old", false),
            pod(2, BOTH, "old", true),
        ];
        assert_eq!(text(&zone(Some(&set), 3).in_place(false, &pods)), "UoO");
        assert_eq!(
            text(&zone(Some(&set), 3).in_place(true, &pods)),
            "OoO",
            "the template is not applied yet"
        );
        assert_eq!(
            text(&zone(Some(&set), 2).in_place(false, &pods)),
            "Uo",
            "the last one is surplus"
        );
        pods[0].metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        assert_eq!(text(&zone(Some(&set), 3).in_place(false, &pods)), "-oO");
        assert_eq!(text(&zone(None, 2).in_place(false, &[])), "--");
        let State::Updated(updated) = State::Updated(updated(&pods[0], true)) else {
            unreachable!()
        };
        assert!(updated.restarted && updated.started.is_some());
    }

    #[test]
    fn nothing_is_known_of_pods_before_kubernetes_has_observed_the_change() {
        let unseen = set(2);
        let pods = [pod(0, BOTH, "new", true), pod(1, BOTH, "old", true)];
        assert_eq!(text(&zone(Some(&unseen), 2).in_place(false, &pods)), "--");
    }

    #[test]
    fn a_pod_without_its_disk_goes_first_if_it_keeps_kubernetes_from_creating_a_later_one() {
        let set = set(1);
        let of = |pods: &[Pod]| text(&zone(Some(&set), 3).in_place(false, pods));
        let old = |ordinal, ready| pod(ordinal, &["a"], "old", ready);
        let new = |ordinal, ready| pod(ordinal, BOTH, "new", ready);
        assert_eq!(of(&[old(0, true), old(1, true), old(2, true)]), "OOO");
        assert_eq!(of(&[old(0, true), old(1, true)]), "oO-");
        assert_eq!(of(&[old(0, true), old(1, false), old(2, true)]), "ooO");
        assert_eq!(of(&[new(0, false), old(1, true)]), "uO-", "one after the other");
        assert_eq!(of(&[new(0, true), old(1, true)]), "Uo-");
        let ignored = [PodState {
            ordinal: Some(0),
            desired: DesiredState {
                ignored: true,
                ..DesiredState::default()
            },
            ..PodState::default()
        }];
        let zone = LiveZone {
            states: States {
                all: &ignored,
                ..States::default()
            },
            ..zone(Some(&set), 3)
        };
        assert_eq!(text(&zone.in_place(false, &[old(0, true), old(1, true)])), "iO-");
    }

    #[test]
    fn a_version_that_takes_over_has_the_instances_that_it_has_started() {
        let set = set(1);
        let pods = [pod(0, BOTH, "new", true), pod(1, BOTH, "new", false)];
        assert_eq!(text(&zone(Some(&set), 5).handed_over(&pods)), "Uu-OO");
        assert_eq!(text(&zone(None, 2).handed_over(&[])), "OO");
    }
}
