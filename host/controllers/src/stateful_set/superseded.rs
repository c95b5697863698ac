//! What stays of the older versions of a group while a newer one takes over. Pure.
//!
//! The last version that was ready hands its instances over from the first one on: its StatefulSet gets a higher first
//! ordinal when the newer version has the instance. So at most `max_in_flight` pods more than instances exist. A
//! version that never was ready keeps only the instances that no other version has ready. An older version that is
//! wanted again gets its instances back from the last one on, with the same limit.

use super::inspect::{ordinals, ready_ordinals, version, zone};
use super::plan::is_named;
use super::rollout::Rollout;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ops::Range;

/// A StatefulSet that gets other ordinals.
#[derive(Debug)]
pub(super) struct Resized {
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
pub(super) struct TakenOver {
    /// Its name; empty without zones.
    pub zone: String,
    /// How many of its first instances the version has.
    pub done: usize,
    /// The number of its instances.
    pub replicas: usize,
}

/// The versions of a group.
pub(super) struct Generations<'a> {
    pub live: &'a [StatefulSet],
    pub pods: &'a [Pod],
    pub wanted: u32,
    /// The last version that was ready.
    pub last: Option<u32>,
    pub taken_over: &'a [TakenOver],
}

/// What happens to StatefulSets of older versions.
#[derive(Debug, Default)]
pub(super) struct Superseded {
    pub delete: Vec<Value>,
    pub resize: Vec<Resized>,
}

/// A StatefulSet that is wanted again after it has handed instances over.
pub(super) struct Returning<'a> {
    pub set: &'a StatefulSet,
    /// The number of its instances; none: not all of them are started yet.
    pub all: Option<usize>,
}

/// What StatefulSets get back now.
#[derive(Debug, Default)]
pub(super) struct GivenBack {
    pub resize: Vec<Resized>,
    pub rollout: Rollout,
}

/// Gives instances back, from the last one on. `all`: the StatefulSets of the version.
pub(super) fn give_back<'a>(
    returning: &[Returning<'_>],
    all: impl Iterator<Item = &'a StatefulSet>,
    at_a_time: usize,
    pods: &[Pod],
) -> GivenBack {
    let unready = |set: &StatefulSet| {
        let ready: BTreeSet<usize> = ready_ordinals(set, pods).collect();
        let unready = ordinals(set).filter(move |ordinal| !ready.contains(ordinal));
        let name = set.name_any();
        unready.map(move |ordinal| format!("{name}-{ordinal}"))
    };
    let mut given_back = GivenBack::default();
    given_back.rollout.awaited = all.flat_map(unready).collect();
    let mut free = at_a_time.saturating_sub(given_back.rollout.awaited.len());
    for one in returning {
        let present = ordinals(one.set);
        let all = one.all.unwrap_or(present.end);
        let missing = all.saturating_sub(present.end);
        given_back.rollout.left += missing + present.start;
        if at_a_time == 0 {
            continue;
        }
        let added = missing.min(free);
        let end = present.end.min(all) + added;
        free -= added;
        let before = present.start.min(free);
        free -= before;
        let start = present.start - before;
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
        json!({ "spec": spec })
    }
}

// === impl Generations ===

impl Generations<'_> {
    /// `others`: the StatefulSets that are not wanted. The last ready version, and removed zones of the wanted version,
    /// stay until the wanted version is ready.
    pub fn superseded(&self, others: Vec<Value>) -> Superseded {
        let mut superseded = Superseded::default();
        for object in others {
            let Some(set) = self.live.iter().find(|one| is_named(one, &object)) else {
                continue;
            };
            let number = version(set);
            if number == Some(self.wanted) || number.is_none() {
                continue;
            }
            let present = ordinals(set);
            let kept = if number == self.last {
                self.not_taken_over(set)
            } else {
                self.needed(set)
            };
            if kept.is_empty() && number != self.last {
                superseded.delete.push(object);
            } else if kept != present {
                let ordinals = Ordinals::Only(kept);
                let set = set.clone();
                superseded.resize.push(Resized { set, ordinals });
            }
        }
        superseded
    }

    /// The instances of the last ready version that the wanted one does not have yet.
    fn not_taken_over(&self, set: &StatefulSet) -> Range<usize> {
        let present = ordinals(set);
        let taken = self.taken_over.iter().find(|taken| taken.zone == zone(set));
        taken.map_or(present.clone(), |taken| {
            let end = present.end.min(taken.replicas);
            present.start.max(taken.done).min(end)..end
        })
    }

    /// The instances of a version that never was ready that no other version has ready. Of several such versions, the
    /// oldest one keeps an instance.
    fn needed(&self, set: &StatefulSet) -> Range<usize> {
        let number = version(set);
        let is_preferred =
            |other: Option<u32>| [self.last, Some(self.wanted)].contains(&other) || other.is_some() && other < number;
        let is_other = |one: &&StatefulSet| zone(one) == zone(set) && is_preferred(version(one));
        let others = self.live.iter().filter(is_other);
        let elsewhere: BTreeSet<usize> = others.flat_map(|one| ready_ordinals(one, self.pods)).collect();
        let present = ordinals(set);
        let needed = ready_ordinals(set, self.pods).filter(|at| present.contains(at) && !elsewhere.contains(at));
        let needed: BTreeSet<usize> = needed.collect();
        match (needed.first(), needed.last()) {
            (Some(first), Some(last)) => *first..last + 1,
            _ => present.start..present.start,
        }
    }
}
