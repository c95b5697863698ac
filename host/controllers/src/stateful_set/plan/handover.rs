//! Versions that hand instances over to each other. Pure.

use super::group::{Group, replicas, set_replicas};
use super::{Changes, PlanError};
use crate::stateful_set::live::{INCOMPLETE, first_ordinal, is_being_deleted, is_named};
use crate::stateful_set::rollout::instances::LiveZone;
use crate::stateful_set::rollout::reasons::Begun;
use crate::stateful_set::rollout::{Count, Decision, Instance, Rule, State, Update};
use crate::stateful_set::versions::takeover::{self, GivenBack, Pace, Returning, TakenOver};
use boson_cluster::client::AnyObject;
use boson_manifest::labels;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;

/// The instances of a new version, and its zones.
struct Handover<'h> {
    zones: &'h [LiveZone<'h>],
    instances: Vec<Instance<'h>>,
}

// === impl Group ===

impl Group<'_> {
    /// Whether the wanted version takes the instances over from another one, some at a time.
    pub fn takes_over(&self, wanted: &[Value]) -> bool {
        (has_limits(wanted) || self.set.spec.paused) && self.last.is_some_and(|last| last != self.version)
    }

    /// Starts the next instances of a new version, by the replicas of its StatefulSets.
    pub fn hand_over(&self, wanted: &mut [Value]) -> Result<Changes, PlanError> {
        let (zones, pods) = (self.zones(wanted), self.pods()?);
        let handover = Handover::new(&zones, pods);
        let mut decision = self.decide(wanted, &handover.instances, Count::Percent(100));
        // The older version loses its first instances, so it cannot keep an ignored one and hand over those after it.
        decision.limit_by(Rule::IgnoredInstance, |at| handover.is_before_ignored(at));
        let taken_over = handover.taken_over(&decision);
        let superseded = self.superseded(wanted, &taken_over)?;
        let at_a_time = decision.at_a_time;
        decision.limit(|at| handover.is_free(at, &taken_over, at_a_time));
        // The next instances are the same before and after the others have lost their pods, and so is the status.
        let rollout = self.rollout(&decision, &handover.instances, &zones);
        let left = at_a_time.saturating_sub(superseded.surplus);
        decision.limit(|at| handover.adds_no_pod(at) || handover.is_free(at, &taken_over, left));
        let next = || handover.next(&decision);
        // Of an earlier template, and not ready.
        let outdated = next().filter_map(|(zone, one)| zone.pod(one.ordinal, pods));
        let changes = Changes {
            pods: outdated.cloned().collect(),
            begun: next().map(|(zone, one)| Begun::of(zone, one, pods)).collect(),
            superseded: Some(superseded),
            rollout,
            ..Changes::default()
        };
        let started = handover.started(&decision);
        for (object, count) in wanted.iter_mut().zip(started) {
            if count < replicas(object) {
                object.set_annotation(INCOMPLETE, Some("true"));
                set_replicas(object, count);
            }
        }
        Ok(changes)
    }

    /// Gives instances back to a version that is wanted again. `surplus`: pods that the other versions are to lose.
    pub fn give_back(
        &self,
        wanted: &[Value],
        returning: &[Returning<'_>],
        surplus: usize,
    ) -> Result<GivenBack, PlanError> {
        let update = Update::of(wanted, Count::Percent(100)).without(self.waived_rule());
        let instances = wanted.iter().map(replicas).sum();
        let pace = Pace {
            at_a_time: if self.set.spec.paused {
                0
            } else {
                update.max_in_flight.among(instances).max(1)
            },
            surplus,
            limit: update.update_watch_time.start_limit(),
            now: self.now,
        };
        let is_wanted = |one: &&StatefulSet| wanted.iter().any(|wanted| is_named(one, wanted));
        let all = self.seen.live.sets.iter().filter(is_wanted);
        Ok(takeover::give_back(returning, all, self.pods()?, &pace))
    }
}

// === impl Handover ===

impl<'h> Handover<'h> {
    fn new(zones: &'h [LiveZone<'h>], pods: &[Pod]) -> Self {
        Self {
            zones,
            instances: zones.iter().flat_map(|zone| zone.handed_over(pods)).collect(),
        }
    }

    /// Whether no ignored instance of the older version is in the same zone before or at this position.
    fn is_before_ignored(&self, at: usize) -> bool {
        let is_kept = |one: &&Instance<'_>| {
            let zone = self.zones.get(one.zone_index);
            one.is_outdated() && zone.is_some_and(|zone| zone.is_ignored(one.ordinal))
        };
        self.instances.get(at).is_some_and(|one| {
            let mut kept = self.instances.iter().filter(is_kept);
            kept.all(|kept| kept.zone_index != one.zone_index || one.ordinal < kept.ordinal)
        })
    }

    fn taken_over(&self, decision: &Decision) -> Vec<TakenOver> {
        let taken_over = |zone: &LiveZone<'_>| {
            let mut members = (0..)
                .zip(&self.instances)
                .filter(|(_, one)| one.zone_index == zone.index);
            // The older version loses its first instances, so one that is done after another one does not count yet.
            let open = members.position(|(at, _)| !decision.done.contains(&at));
            TakenOver {
                zone: zone.name.into(),
                done: open.unwrap_or(zone.replicas),
                replicas: zone.replicas,
            }
        };
        self.zones.iter().map(taken_over).collect()
    }

    /// Whether an instance is one of the next `at_a_time` after those that are done.
    fn is_free(&self, at: usize, taken_over: &[TakenOver], at_a_time: usize) -> bool {
        let is_free = |one: &Instance<'_>| Some(one.ordinal < taken_over.get(one.zone_index)?.done + at_a_time);
        self.instances.get(at).and_then(is_free).unwrap_or(false)
    }

    /// Whether the update of an instance replaces a pod of the new version.
    fn adds_no_pod(&self, at: usize) -> bool {
        let instance = self.instances.get(at);
        instance.is_some_and(|one| one.state == State::Outdated { is_ready: false })
    }

    /// How many instances of each zone are started, with those that are updated now.
    fn started(&self, decision: &Decision) -> Vec<usize> {
        let mut started = vec![0_usize; self.zones.len()];
        for (at, one) in self.instances.iter().enumerate() {
            let is_started = one.state != State::Outdated { is_ready: true } || decision.next.contains(&at);
            if let Some(count) = started.get_mut(one.zone_index).filter(|_| is_started) {
                *count = one.ordinal + 1;
            }
        }
        started
    }

    /// The instances that are updated now.
    fn next<'n>(&'n self, decision: &'n Decision) -> impl Iterator<Item = (&'n LiveZone<'h>, &'n Instance<'h>)> {
        decision.next.iter().filter_map(|at| {
            let one = self.instances.get(*at)?;
            Some((self.zones.get(one.zone_index)?, one))
        })
    }
}

/// Whether the update block has limits. Without any, all instances start at once.
fn has_limits(wanted: &[Value]) -> bool {
    let limits = [labels::CANARIES, labels::MAX_IN_FLIGHT];
    let has_limit = |one: &Value| limits.iter().any(|key| one.annotation(key).is_some());
    wanted.iter().any(has_limit)
}

/// The wanted StatefulSets that handed instances over before.
pub(super) fn returning<'a>(wanted: &[Value], live: &'a [StatefulSet]) -> Vec<Returning<'a>> {
    let one = |object: &Value| {
        let set = live
            .iter()
            .find(|one| is_named(one, object) && !is_being_deleted(one))?;
        let is_complete = object.annotation(INCOMPLETE).is_none();
        let first = first_ordinal(set)?;
        (first > 0 || is_complete).then_some(Returning {
            set,
            all: is_complete.then(|| replicas(object)),
        })
    };
    wanted.iter().filter_map(one).collect()
}
