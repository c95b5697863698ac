//! Pods that are replaced in place, and StatefulSets that are created again. Pure.

use super::desired::{FIXED_DIGEST, PODS_DIGEST, annotate_template};
use super::group::Group;
use super::{Changes, PlanError};
use crate::stateful_set::live::{REVISION, has_claims, is_being_deleted, is_named};
use crate::stateful_set::rollout::earlier_template::{EarlierTemplate, set_back_from};
use crate::stateful_set::rollout::instances::LiveZone;
use crate::stateful_set::rollout::reasons::Begun;
use crate::stateful_set::rollout::{Count, Instance, Rule, State, Updated};
use boson_api::instances::STOPPED;
use boson_cluster::client::AnyObject;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::{Value, json};

/// The instances of a zone whose pods are replaced.
struct ZoneUpdate<'u> {
    zone: &'u LiveZone<'u>,
    /// Those that are updated now.
    next: Vec<&'u Instance<'u>>,
    /// Those that are not updated, with `next`.
    outdated: Vec<&'u Instance<'u>>,
    /// How many are updated and ready.
    served: usize,
}

// === impl Group ===

impl Group<'_> {
    /// Gives the templates of zones a gate in which instances are yet to be stopped.
    pub fn gate(&self, wanted: &mut [Value]) -> Result<(), PlanError> {
        let pods = self.pods()?;
        let zones = self.zones(wanted);
        let is_stopping: Vec<bool> = zones.iter().map(|zone| zone.is_stopping(pods)).collect();
        for (object, is_stopping) in wanted.iter_mut().zip(is_stopping) {
            if !is_stopping {
                continue;
            }
            if let Some(pod) = object.pointer_mut("/spec/template/spec") {
                pod["schedulingGates"] = json!([{"name": STOPPED}]);
            }
            annotate_template(object);
        }
        Ok(())
    }

    /// Replaces pods. `outdated`: the StatefulSets that have another template than the wanted one; `is_rolled_out`:
    /// whether the last change was complete.
    pub fn replace(&self, wanted: &[Value], outdated: &[String], is_rolled_out: bool) -> Result<Changes, PlanError> {
        let pods = self.pods()?;
        let is_outdated = |name: &str| outdated.iter().any(|one| one == name);
        let zones = self.zones(wanted);
        let of_zones = zones.iter().map(|zone| zone.in_place(is_outdated(zone.set_name), pods));
        let instances: Vec<Instance<'_>> = of_zones.flatten().collect();
        let mut decision = self.decide(wanted, &instances, Count::Number(1));
        let is_kept = |(zone, object): (&LiveZone<'_>, &Value)| zone.keeps_pod_without_disk(object, pods);
        let are_kept: Vec<bool> = zones.iter().zip(wanted).map(is_kept).collect();
        decision.limit_by(Rule::IgnoredInstance, |at| {
            let one = instances.get(at);
            one.is_some_and(|one| are_kept.get(one.zone_index) == Some(&false))
        });
        if is_rolled_out && decision.left + decision.next.len() == 0 {
            decision.end();
        }
        let mut changes = Changes {
            rollout: self.rollout(&decision, &instances, &zones),
            ..Changes::default()
        };
        for (zone, object) in zones.iter().zip(wanted) {
            let update = ZoneUpdate::new(zone, &instances, &decision.next);
            if is_outdated(zone.set_name) || zone.live.and_then(set_back_from).is_some() {
                changes.held.extend(update.is_held().then(|| zone.set_name.to_string()));
                continue;
            }
            let replaced = update.next.iter().filter_map(|one| zone.pod(one.ordinal, pods));
            changes.pods.extend(replaced.cloned());
            let begun = update.next.iter().map(|one| Begun::of(zone, one, pods));
            changes.begun.extend(begun.filter(|one| one.action != "create"));
            if decision.has_stopped() {
                changes.set_back.extend(update.set_back(object, pods));
            }
        }
        Ok(changes)
    }
}

// === impl ZoneUpdate ===

impl<'u> ZoneUpdate<'u> {
    /// `instances`: of all zones. `next`: positions of those that are updated now.
    fn new(zone: &'u LiveZone<'u>, instances: &'u [Instance<'u>], next: &[usize]) -> Self {
        let of_zone = |one: &&Instance<'_>| one.zone_index == zone.index;
        let is_served = |one: &&Instance<'_>| matches!(one.state, State::Updated(Updated { is_ready: true, .. }));
        let all = instances.iter().filter(of_zone);
        Self {
            zone,
            next: next
                .iter()
                .filter_map(|at| instances.get(*at))
                .filter(of_zone)
                .collect(),
            outdated: all.clone().filter(|one| one.is_outdated()).collect(),
            served: all.filter(is_served).count(),
        }
    }

    /// Whether instances are yet to be updated, and none is now.
    fn is_held(&self) -> bool {
        self.next.is_empty() && !self.outdated.is_empty()
    }

    /// The template that most of the pods are made from. `wanted`: the StatefulSet.
    fn set_back(&self, wanted: &Value, pods: &[Pod]) -> Option<EarlierTemplate> {
        if !self.is_held() || self.outdated.len() < self.served {
            return None;
        }
        let pods = self.outdated.iter().filter_map(|one| self.zone.pod(one.ordinal, pods));
        let newest = pods.max_by_key(|pod| pod.metadata.creation_timestamp.clone())?;
        // Of the present one if these are only to be created again.
        EarlierTemplate::new(self.zone.live?, wanted, newest.labels().get(REVISION)?)
    }
}

/// Takes StatefulSets out of `apply` that must be created again. One that is being deleted is waited for. `in_place`:
/// whether pods are replaced in place even without claims.
pub(super) fn renewed(apply: &mut Vec<Value>, current: &[&StatefulSet], in_place: bool) -> Vec<(StatefulSet, Value)> {
    let mut renew = Vec::new();
    apply.retain(|wanted| {
        let Some(found) = current.iter().find(|one| is_named(one, wanted)) else {
            return true;
        };
        if is_being_deleted(found) {
            return false;
        }
        let fixed = found.annotations().get(FIXED_DIGEST).map(String::as_str);
        // Where pods are not replaced in place, such a change is another version.
        let fits = !(in_place || has_claims(found)) || fixed == wanted.annotation(FIXED_DIGEST);
        if !fits {
            renew.push(((*found).clone(), wanted.clone()));
        }
        fits
    });
    renew
}

/// Whether this change of a StatefulSet that exists replaces its pods. A different number of pods replaces none.
pub(super) fn replaces_pods(wanted: &Value, live: &[StatefulSet]) -> bool {
    let mut found = live.iter().filter(|one| is_named(one, wanted));
    found.any(|one| one.annotations().get(PODS_DIGEST).map(String::as_str) != wanted.annotation(PODS_DIGEST))
}
