//! A QuarksStatefulSet and what there is of it: what the steps of the plan ask about it. Pure.

use super::{PlanError, Seen};
use crate::stateful_set::disks;
use crate::stateful_set::live::digest::Digest;
use crate::stateful_set::live::is_named;
use crate::stateful_set::live::states::States;
use crate::stateful_set::resize::{RESIZING, Resizes, may_differ};
use crate::stateful_set::rollout::instances::{LiveZone, Wanted};
use crate::stateful_set::rollout::{self, Count, Decision, Instance, Rollout, Rule, Update, Waiver};
use crate::stateful_set::versions::Versions;
use crate::stateful_set::versions::takeover::{Generations, Superseded, TakenOver};
use boson_api::QuarksStatefulSet;
use boson_cluster::client::AnyObject;
use boson_document::Tree;
use boson_pipeline::plain::stateful_set::is_delete_create;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

/// A QuarksStatefulSet, and what is there of it.
pub(super) struct Group<'a> {
    pub set: &'a QuarksStatefulSet,
    pub digest: &'a Digest,
    pub seen: &'a Seen,
    /// The wanted one.
    pub version: u32,
    /// The last version that was ready.
    pub last: Option<u32>,
    /// Whether pods are replaced in place even without claims.
    pub in_place: bool,
    /// A rule of the rollout that does not apply.
    waiver: Option<Waiver<'a>>,
    pub states: States<'a>,
    pub now: Timestamp,
}

// === impl Group ===

impl<'a> Group<'a> {
    /// `digest` and `tree`: of the QuarksStatefulSet.
    pub fn new(
        set: &'a QuarksStatefulSet,
        digest: &'a Digest,
        tree: &Tree,
        seen: &'a Seen,
        now: Timestamp,
    ) -> Result<Self, PlanError> {
        let states = States {
            all: &set.spec.instances,
            stops_instances: digest.revisions.is_some(),
            now,
        };
        if states.has_exceptions() && seen.pods.is_none() {
            return Err(PlanError::NeedsPods);
        }
        let live = &seen.live.sets;
        let claimed = live.is_empty().then(|| disks::version(tree, &seen.claims)).flatten();
        let in_place = is_delete_create(tree);
        Ok(Self {
            set,
            digest,
            seen,
            version: Versions::wanted_version(set, live, claimed, digest, in_place),
            last: Versions::last_ready(set, live),
            in_place,
            // The status reports an annotation that cannot be read.
            waiver: Waiver::of(set).unwrap_or_default(),
            states,
            now,
        })
    }

    pub fn pods(&self) -> Result<&[Pod], PlanError> {
        self.seen.pods.as_deref().ok_or(PlanError::NeedsPods)
    }

    /// Its zones, of the wanted StatefulSets.
    pub fn zones<'z>(&'z self, wanted: &'z [Value]) -> Vec<LiveZone<'z>> {
        let zone = |(index, object): (usize, &'z Value)| {
            let name = self.set.spec.zones.get(index).map_or("", String::as_str);
            LiveZone {
                name,
                index,
                set_name: object.name().unwrap_or_default(),
                live: self.seen.live.sets.iter().find(|one| is_named(one, object)),
                replicas: replicas(object),
                wanted: self.digest.revisions.as_ref().map(|revisions| Wanted {
                    digest: self.digest,
                    revisions: revisions.get(name).map_or(&[], Vec::as_slice),
                }),
                states: self.states,
            }
        };
        wanted.iter().enumerate().map(zone).collect()
    }

    /// How many instances are to run.
    pub fn running_instances(&self, wanted: &[Value]) -> usize {
        let all: usize = wanted.iter().map(replicas).sum();
        let stopped: usize = self.zones(wanted).iter().map(LiveZone::stopped).sum();
        all.saturating_sub(stopped)
    }

    pub fn waived_rule(&self) -> Option<Rule> {
        self.waiver.map(|waiver| waiver.rule)
    }

    /// `limit`: instances at a time if the update block has no limit.
    pub fn decide(&self, wanted: &[Value], instances: &[Instance<'_>], limit: Count) -> Decision {
        let pod = self.waiver.and_then(|waiver| waiver.pod);
        let is_accepted = |one: &Instance<'_>| {
            let set = wanted.get(one.zone_index).and_then(|object| object.name());
            set.is_some_and(|set| pod == Some(format!("{set}-{}", one.ordinal).as_str()))
        };
        let update = Update {
            accepted: instances.iter().position(is_accepted),
            ..Update::of(wanted, limit).without(self.waived_rule())
        };
        let mut decision = rollout::decide(instances, &update, self.now);
        let has_others = !self.seen.before.is_empty() && self.waived_rule() != Some(Rule::GroupOrder);
        if self.set.spec.paused {
            decision.hold(Rule::Paused);
        } else if has_others && !instances.iter().any(Instance::is_begun) {
            decision.hold(Rule::GroupOrder);
        }
        decision
    }

    pub fn rollout(&self, decision: &Decision, instances: &[Instance<'_>], zones: &[LiveZone<'_>]) -> Rollout {
        let mut rollout = Rollout::of(decision, instances, zones);
        if decision.held_by == Some(Rule::GroupOrder) {
            rollout.awaited.clone_from(&self.seen.before);
        }
        rollout
    }

    /// What happens to the other versions. `taken_over`: the zones of the wanted one, if it takes over.
    pub fn superseded(&self, wanted: &[Value], taken_over: &[TakenOver]) -> Result<Superseded, PlanError> {
        let generations = Generations {
            live: &self.seen.live.sets,
            pods: self.pods()?,
            wanted: self.version,
            last: self.last,
            taken_over,
        };
        Ok(generations.superseded(|set| wanted.iter().any(|object| is_named(set, object))))
    }

    /// The pods that get other resources; their StatefulSets say that there are such.
    pub fn resizes(&self, wanted: &mut [Value]) -> Result<Resizes, PlanError> {
        let is_wanted = |set: &&StatefulSet| wanted.iter().any(|object| is_named(set, object));
        let mut sets = self.seen.live.sets.iter().filter(is_wanted);
        let is_needed = self.digest.resizes && sets.any(|set| may_differ(set, self.digest));
        if !is_needed && self.seen.pods.is_none() {
            return Ok(Resizes::default());
        }
        let mut resizes = Resizes::of(&self.zones(wanted), self.pods()?);
        resizes.retain(|_| !self.set.spec.paused);
        for object in wanted {
            if object.name().is_some_and(|name| resizes.has_pods_of(name)) {
                object.set_annotation(RESIZING, Some("true"));
            }
        }
        Ok(resizes)
    }
}

/// The number of pods of a StatefulSet that the conversion made.
pub(super) fn replicas(object: &Value) -> usize {
    let replicas = object.pointer("/spec/replicas").and_then(Value::as_u64);
    replicas
        .and_then(|replicas| usize::try_from(replicas).ok())
        .unwrap_or(1)
}

pub(super) fn set_replicas(object: &mut Value, count: usize) {
    if let Some(spec) = object.get_mut("spec") {
        spec["replicas"] = count.into();
    }
}
