//! What stays of the older versions of a group while a newer one takes over. Pure.
//!
//! The last version that was ready hands its instances over from the first one on: its StatefulSet gets a higher first
//! ordinal when the newer version has the instance. A version that never was ready keeps only the instances that no
//! other version has ready. An older version that is wanted again gets its instances back from the last one on.
//!
//! At most `max_in_flight` pods more than instances exist. Kubernetes changes each StatefulSet by itself, so what the
//! others lose counts until it has observed that. What it does not delete then, because it cannot create another pod of
//! that StatefulSet for example, must not keep the newer version from its repair.

use crate::stateful_set::live::{is_being_deleted, is_observed, ordinal, ordinals, ready_ordinals, version, zone};
use crate::stateful_set::rollout::{Rollout, Rule};
use boson_cluster::objects::DIGEST;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ops::Range;

/// A StatefulSet that gets other ordinals.
#[derive(Debug)]
pub(in crate::stateful_set) struct Resized {
    pub set: StatefulSet,
    ordinals: Ordinals,
}

#[derive(Debug)]
enum Ordinals {
    Only(Range<usize>),
    /// This many, from 0 on.
    First(usize),
}

/// A zone of the version that takes over.
pub(in crate::stateful_set) struct TakenOver {
    /// Its name; empty without zones.
    pub zone: String,
    /// How many of its first instances the version has.
    pub done: usize,
    /// The number of its instances.
    pub replicas: usize,
}

/// The versions of a group.
pub(in crate::stateful_set) struct Generations<'a> {
    pub live: &'a [StatefulSet],
    pub pods: &'a [Pod],
    pub wanted: u32,
    /// The last version that was ready.
    pub last: Option<u32>,
    pub taken_over: &'a [TakenOver],
}

/// What happens to StatefulSets of older versions.
#[derive(Debug, Default)]
pub(in crate::stateful_set) struct Superseded {
    pub delete: Vec<String>,
    pub resize: Vec<Resized>,
    /// Pods that their StatefulSets are about to lose.
    pub surplus: usize,
}

/// A StatefulSet that is wanted again after it has handed instances over.
pub(in crate::stateful_set) struct Returning<'a> {
    pub set: &'a StatefulSet,
    /// The number of its instances; none: not all of them are started yet.
    pub all: Option<usize>,
}

/// What StatefulSets get back now.
#[derive(Debug, Default)]
pub(in crate::stateful_set) struct GivenBack {
    pub resize: Vec<Resized>,
    pub rollout: Rollout,
}

/// How instances are given back.
pub(in crate::stateful_set) struct Pace {
    /// How many at a time.
    pub at_a_time: usize,
    pub surplus: usize,
    /// A pod that is not ready this long after its creation is waited for no longer: the version is a good one.
    pub limit: SignedDuration,
    pub now: Timestamp,
}

/// Gives instances back, from the last one on. `all`: the StatefulSets of the version.
pub(in crate::stateful_set) fn give_back<'a>(
    returning: &[Returning<'_>],
    all: impl Iterator<Item = &'a StatefulSet>,
    pods: &[Pod],
    pace: &Pace,
) -> GivenBack {
    let mut rollout = Rollout::default();
    for set in all {
        let ready: BTreeSet<usize> = ready_ordinals(set, pods).collect();
        for ordinal in ordinals(set).filter(|ordinal| !ready.contains(ordinal)) {
            let name = format!("{}-{ordinal}", set.name_any());
            let pod = pods.iter().find(|pod| pod.metadata.name.as_ref() == Some(&name));
            let created = pod.and_then(|pod| pod.metadata.creation_timestamp.as_ref());
            let left = created.map(|created| pace.limit - pace.now.duration_since(created.0));
            if left.is_none_or(|left| left.is_positive()) {
                rollout.awaited.push(name);
                rollout.again = rollout.again.into_iter().chain(left).min();
            }
        }
    }
    let mut free = pace.at_a_time.saturating_sub(rollout.awaited.len() + pace.surplus);
    let mut given_back = GivenBack {
        rollout,
        resize: Vec::new(),
    };
    for one in returning {
        let present = ordinals(one.set);
        let all = one.all.unwrap_or(present.end);
        let missing = all.saturating_sub(present.end);
        given_back.rollout.left += missing + present.start.min(all);
        if pace.at_a_time == 0 {
            given_back.rollout.held_by = Some(Rule::Paused);
            continue;
        }
        let added = missing.min(free);
        let end = present.end.min(all) + added;
        free -= added;
        let before = present.start.min(free);
        free -= before;
        let start = present.start - before;
        if added < missing || start > 0 {
            given_back.rollout.held_by = Some(Rule::MaxInFlight);
        }
        let ordinals = if one.all == Some(end) && start == 0 {
            Ordinals::First(end)
        } else if (start..end) == present {
            continue;
        } else {
            Ordinals::Only(start..end)
        };
        let set = one.set.clone();
        given_back.resize.push(Resized { set, ordinals });
    }
    given_back
}

// === impl Resized ===

impl Resized {
    /// The members of its merge patch.
    pub fn members(&self) -> Value {
        let spec = match &self.ordinals {
            Ordinals::Only(range) => json!({"ordinals": {"start": range.start}, "replicas": range.len()}),
            Ordinals::First(replicas) => json!({"ordinals": null, "replicas": replicas}),
        };
        // With the digest of the last apply, another number of pods would count as a change by others.
        json!({"metadata": {"annotations": {DIGEST: "resized"}}, "spec": spec})
    }
}

// === impl Generations ===

impl Generations<'_> {
    /// What happens to the StatefulSets that are not wanted. The last ready version, and removed zones of the wanted
    /// version, stay until the wanted version is ready.
    pub fn superseded(&self, is_wanted: impl Fn(&StatefulSet) -> bool) -> Superseded {
        let mut superseded = Superseded::default();
        for set in self.live.iter().filter(|set| !is_wanted(set) && !is_being_deleted(set)) {
            let number = version(set);
            let present = ordinals(set);
            let kept = if number == Some(self.wanted) || number.is_none() {
                present.clone()
            } else if number == self.last {
                self.ordinals_not_taken_over(set)
            } else {
                self.needed_ordinals(set)
            };
            let is_surplus = |pod: &&Pod| ordinal(set, pod).is_some_and(|ordinal| !kept.contains(&ordinal));
            let staying = self.pods.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none());
            if kept != present || !is_observed(set) {
                superseded.surplus += staying.filter(is_surplus).count();
            }
            if kept.is_empty() && ![self.last, Some(self.wanted), None].contains(&number) {
                superseded.delete.push(set.name_any());
            } else if kept != present {
                let ordinals = Ordinals::Only(kept);
                let set = set.clone();
                superseded.resize.push(Resized { set, ordinals });
            }
        }
        superseded
    }

    /// The instances of the last ready version that the wanted one does not have yet.
    fn ordinals_not_taken_over(&self, set: &StatefulSet) -> Range<usize> {
        let present = ordinals(set);
        let taken = self.taken_over.iter().find(|taken| taken.zone == zone(set));
        taken.map_or(present.clone(), |taken| {
            let end = present.end.min(taken.replicas);
            present.start.max(taken.done).min(end)..end
        })
    }

    /// The instances of a version that never was ready that no other version has ready, and those that the last ready
    /// version has handed over and no other version has at all. Of several such versions, the oldest one keeps an
    /// instance.
    fn needed_ordinals(&self, set: &StatefulSet) -> Range<usize> {
        let number = version(set);
        let is_preferred =
            |other: Option<u32>| [self.last, Some(self.wanted)].contains(&other) || other.is_some() && other < number;
        let is_other = |one: &&StatefulSet| zone(one) == zone(set) && is_preferred(version(one));
        let others: Vec<&StatefulSet> = self.live.iter().filter(is_other).collect();
        let last = others.iter().find(|one| version(one) == self.last);
        let first_of_last = last.map_or(0, |last| ordinals(last).start);
        let ready = |set: &StatefulSet| ready_ordinals(set, self.pods).collect::<BTreeSet<usize>>();
        let own = ready(set);
        let elsewhere: BTreeSet<usize> = others.iter().flat_map(|one| ready(one)).collect();
        let is_needed = |at: &usize| {
            if own.contains(at) {
                !elsewhere.contains(at)
            } else {
                *at < first_of_last && !others.iter().any(|one| ordinals(one).contains(at))
            }
        };
        let present = ordinals(set);
        let needed: BTreeSet<usize> = present.clone().filter(is_needed).collect();
        match (needed.first(), needed.last()) {
            (Some(first), Some(last)) => *first..last + 1,
            _ => present.start..present.start,
        }
    }
}
