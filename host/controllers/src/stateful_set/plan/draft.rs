//! The steps from the desired StatefulSets to the plan. Pure.

use super::group::Group;
use super::handover::returning;
use super::in_place::{renewed, replaces_pods};
use super::{Changes, Plan, PlanError};
use crate::stateful_set::live::{has_old_pods, is_being_deleted, is_named, is_pod_of};
use crate::stateful_set::resize::Resizes;
use crate::stateful_set::rollout::Rollout;
use crate::stateful_set::versions::Versions;
use crate::stateful_set::versions::takeover::{Resized, Returning};
use boson_cluster::client::AnyObject;
use boson_cluster::objects;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::Value;

pub(super) struct Draft<'a> {
    group: &'a Group<'a>,
    wanted: Vec<Value>,
    /// Instances that are to run, of all zones.
    replicas: usize,
    /// Whether the wanted version takes over from another one.
    takes_over: bool,
    changes: Changes,
    resizes: Resizes,
    writes: objects::Plan,
    /// Whether a new version is not begun, because the group is paused.
    is_withheld: bool,
    /// The wanted StatefulSets that handed instances over before.
    returning: Vec<Returning<'a>>,
    resize: Vec<Resized>,
    renew: Vec<(StatefulSet, Value)>,
}

// === impl Draft ===

impl<'a> Draft<'a> {
    /// `wanted`: the desired StatefulSets. Those of a new version get the replicas of the instances that it has by now.
    pub fn new(group: &'a Group<'a>, mut wanted: Vec<Value>) -> Result<Self, PlanError> {
        let replicas = group.running_instances(&wanted);
        let takes_over = group.takes_over(&wanted);
        let mut changes = Changes::default();
        if takes_over {
            changes = group.hand_over(&mut wanted)?;
        } else if group.states.has_exceptions() {
            group.gate(&mut wanted)?;
        }
        let resizes = group.resizes(&mut wanted)?;
        let live = &group.seen.live;
        Ok(Self {
            group,
            replicas,
            takes_over,
            changes,
            resizes,
            writes: objects::plan(wanted.clone(), &live.objects),
            is_withheld: false,
            returning: returning(&wanted, &live.sets),
            resize: Vec::new(),
            renew: Vec::new(),
            wanted,
        })
    }

    /// Takes out what a paused group must not begin: a new version. What has served is created again even then.
    pub fn withhold(&mut self) {
        let Group { set, version, seen, .. } = *self.group;
        let is_new = Versions::recorded_ready(set) != Some(version) && !self.writes.new.is_empty();
        self.is_withheld = set.spec.paused && is_new;
        if !self.is_withheld {
            return;
        }
        self.writes.apply.retain(|one| seen.live.has(one));
        self.writes.delete.clear();
        if !self.takes_over {
            self.changes.rollout = Rollout::paused(self.replicas);
        }
    }

    /// Gives instances back to StatefulSets that handed them over before. These are written when they have their
    /// ordinals back.
    pub fn give_back(&mut self) -> Result<(), PlanError> {
        if self.returning.is_empty() {
            return Ok(());
        }
        let is_returning = |object: &Value| self.returning.iter().any(|one| is_named(one.set, object));
        self.writes.apply.retain(|one| !is_returning(one));
        self.writes.drifted.retain(|one| !is_returning(&one.wanted));
        self.writes.additions.retain(|one| !is_returning(&one.live));
        let is_other = |pod: &Pod| self.returning.iter().all(|one| !is_pod_of(pod, &one.set.name_any()));
        self.resizes.retain(is_other);
        let superseded = match self.changes.superseded.take() {
            Some(superseded) => superseded,
            None => self.group.superseded(&self.wanted, &[])?,
        };
        let given_back = self
            .group
            .give_back(&self.wanted, &self.returning, superseded.surplus)?;
        self.changes.superseded = Some(superseded);
        self.resize = given_back.resize;
        if !self.takes_over {
            self.changes.rollout = given_back.rollout;
        }
        Ok(())
    }

    /// The StatefulSets that stay.
    pub fn current(&self) -> Vec<&'a StatefulSet> {
        let is_current = |one: &&StatefulSet| self.writes.delete.iter().all(|old| !is_named(one, old));
        self.group.seen.live.sets.iter().filter(is_current).collect()
    }

    /// Creates those again whose immutable fields have changed.
    pub fn renew(&mut self, current: &[&StatefulSet]) {
        let in_place = self.group.in_place || self.group.states.has_exceptions();
        self.renew = renewed(&mut self.writes.apply, current, in_place);
    }

    /// Whether nothing is to be written, and all pods are ready.
    pub fn is_steady(&self, current: &[&StatefulSet]) -> bool {
        let Group { states, seen, .. } = *self.group;
        let is_written = self.writes.apply.is_empty() && self.renew.is_empty() && self.resizes.now.is_empty();
        let is_ready = |one: &&StatefulSet| states.is_ready(one, seen.pods.as_deref()) && !is_being_deleted(one);
        is_written && self.returning.is_empty() && !self.is_withheld && current.iter().all(is_ready)
    }

    /// Replaces pods of the wanted version. A zone whose pods wait for those of others keeps its template.
    pub fn replace_in_place(&mut self, current: &[&StatefulSet]) -> Result<(), PlanError> {
        let outdated = self.outdated(current);
        let status = self.group.set.status.as_ref();
        let is_rolled_out = status.is_some_and(|status| status.rollout().is_none());
        let is_replaced = !outdated.is_empty() || current.iter().any(|one| has_old_pods(one));
        let is_observed = is_replaced || (!is_rolled_out || self.group.states.replaces()) && !self.is_withheld;
        if !is_observed || self.takes_over || !self.returning.is_empty() {
            return Ok(());
        }
        self.changes = self.group.replace(&self.wanted, &outdated, is_rolled_out)?;
        let set_back = self.changes.set_back.iter().filter_map(|one| one.wanted.name());
        let held = self.changes.held.iter().map(String::as_str);
        let held: Vec<&str> = held.chain(set_back).collect();
        let is_held = |name: Option<&str>| name.is_some_and(|name| held.contains(&name));
        self.writes.apply.retain(|one| !is_held(one.name()));
        self.renew.retain(|(old, _)| !is_held(old.metadata.name.as_deref()));
        // Their StatefulSets are to say that there are such, before there are.
        self.resizes.retain(|pod| held.iter().all(|name| !is_pod_of(pod, name)));
        Ok(())
    }

    /// Names of the StatefulSets that have another pod template than the wanted one.
    fn outdated(&self, current: &[&StatefulSet]) -> Vec<String> {
        let is_outdated = |name: &String| {
            let is_drifted = self.writes.drifted.iter().any(|one| one.wanted.name() == Some(name));
            let mut changed = self.writes.apply.iter().filter(|one| one.name() == Some(name));
            self.renew.iter().any(|(old, _)| old.name_any() == *name)
                || changed.any(|one| is_drifted || replaces_pods(one, &self.group.seen.live.sets))
        };
        current.iter().map(|one| one.name_any()).filter(is_outdated).collect()
    }

    /// `is_steady`: see [`Draft::is_steady`], before pods are replaced.
    pub fn finish(mut self, is_steady: bool) -> Result<Plan, PlanError> {
        let group = self.group;
        let next_request = group
            .states
            .next_replacement()
            .map(|time| time.duration_since(group.now));
        let rollout = &mut self.changes.rollout;
        rollout.again = rollout.again.into_iter().chain(next_request).min();
        let replace = self.changes.pods;
        let is_gone = |pod: &Pod| replace.iter().any(|gone| gone.metadata.name == pod.metadata.name);
        self.resizes.retain(|pod| !is_gone(pod));
        let ready = is_steady && !self.changes.rollout.is_underway();
        if !ready && !self.writes.delete.is_empty() {
            let superseded = match self.changes.superseded {
                Some(superseded) => superseded,
                None => group.superseded(&self.wanted, &[])?,
            };
            let is_superseded = |one: &Value| superseded.delete.iter().any(|gone| one.name() == Some(gone));
            self.writes.delete.retain(is_superseded);
            // Those that lose instances first: pods need their quota.
            self.resize.splice(0..0, superseded.resize);
        }
        let last = if ready { Some(group.version) } else { group.last };
        let new_objects = self.writes.apply.iter().filter(|one| !group.seen.live.has(one));
        Ok(Plan {
            new_objects: new_objects.cloned().collect(),
            wanted: self.wanted,
            rollout: self.changes.rollout,
            replicas: self.replicas,
            replace,
            begun: self.changes.begun,
            resizes: self.resizes,
            set_back: self.changes.set_back,
            drifted: self.writes.drifted,
            additions: self.writes.additions,
            apply: self.writes.apply,
            renew: self.renew,
            delete: self.writes.delete,
            resize: self.resize,
            ready,
            versions: Versions::new_record(group.set, group.version, group.digest.text().into(), last),
        })
    }
}
