//! Plans the StatefulSets of a QuarksStatefulSet. Pure.
//!
//! A changed template creates a new version beside the old one. [`superseded`] decides what stays of older versions
//! until all pods of the new one are ready. If pods have claims, the version is kept and its pods roll in place,
//! because a claim belongs to the name of a pod; so they do with the strategy `delete-create`, and while an instance is
//! ignored or stopped, whose pod stays.
//! Immutable fields of a StatefulSet, such as its claim templates, are changed by creating it again: its pods and
//! claims stay, and are adopted by name.
//!
//! [`rollout`] decides which instances change now. A new version starts them by its number of replicas.
//! Other changes replace pods: the StatefulSets have the strategy `OnDelete`, so that nothing else replaces them. A
//! zone gets a new template when the first of its pods is to be replaced, so that until then a pod that is lost comes
//! back as it was; so does one while the rollout has stopped, see [`set_back`](super::set_back).
//!
//! Where the cluster can resize pods, other CPU and memory replace none: see [`resize`](super::resize).

use super::digest::Digest;
use super::inspect::{
    INCOMPLETE, Live, REVISION, TEMPLATE, first_ordinal, has_claims, has_old_pods, is_going, is_named, is_of,
    is_of_template,
};
use super::resize::{RESIZING, Resizes, may_differ};
use super::rollout::instances::{LiveZone, Wanted};
use super::rollout::reasons::Begun;
use super::rollout::{self, Count, Decision, Instance, Rollout, Rule, State, Update, Updated, Waiver};
use super::set_back::{SetBack, set_back_from};
use super::states::States;
use super::superseded::{self, Generations, GivenBack, Pace, Resized, Returning, Superseded, TakenOver};
use super::versions::Versions;
use super::{INVALID, Problem, disks};
use boson_api::QuarksStatefulSet;
use boson_api::instances::STOPPED;
use boson_cluster::client::{AnyObject, Error};
use boson_cluster::objects;
use boson_cluster::objects::drift::{Drifted, Excess};
use boson_document::Tree;
use boson_manifest::labels;
use boson_pipeline::plain::stateful_set::{is_delete_create, stateful_sets};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use k8s_openapi::jiff::Timestamp;
use kube::{Resource, ResourceExt};
use serde::Deserialize;
use serde_json::{Value, json};

/// Annotation: digest of the immutable fields of the StatefulSet, as written: the server adds defaults.
const FIXED: &str = "quarks.cloudfoundry.org/fixed-digest";

/// Annotation: digest of the pod template, as written.
const PODS: &str = "quarks.cloudfoundry.org/pods-digest";

/// What to do, and the observed readiness.
#[derive(Debug)]
pub(super) struct Plan {
    /// The desired StatefulSets.
    pub wanted: Vec<Value>,
    /// To apply now.
    pub apply: Vec<Value>,
    /// Those of them that others or admission have changed.
    pub drifted: Vec<Drifted>,
    /// Additions by others, to remove.
    pub excess: Vec<Excess>,
    /// Those of `apply` that do not exist yet.
    pub new_objects: Vec<Value>,
    /// StatefulSets to delete without their pods and claims, each with the one to create afterwards.
    pub renew: Vec<(StatefulSet, Value)>,
    /// To delete.
    pub delete: Vec<Value>,
    /// Those that hand instances over, or get them back.
    pub resize: Vec<Resized>,
    /// Pods to delete, which their StatefulSets create again.
    pub replace: Vec<Pod>,
    /// Instances whose update begins with this plan.
    pub begun: Vec<Begun>,
    /// Pods that get other resources.
    pub resizes: Resizes,
    /// Those whose rollout has stopped.
    pub set_back: Vec<SetBack>,
    /// How far the rollout is.
    pub rollout: Rollout,
    /// Instances of all zones.
    pub replicas: usize,
    /// Whether all pods of the wanted version are ready.
    pub ready: bool,
    /// To record in the status.
    pub versions: Versions,
}

/// What is in the cluster.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The StatefulSets that it owns.
    pub live: Live,
    /// The claims of the pods of such.
    pub claims: Vec<PersistentVolumeClaim>,
    /// Their pods, if they were listed.
    pub pods: Option<Vec<Pod>>,
    /// Names of QuarksStatefulSets that are to be updated before, and are not done; empty before pods were listed.
    pub before: Vec<String>,
    /// Whether the cluster can resize pods.
    pub resizes: bool,
}

/// A QuarksStatefulSet, and what is there of it.
struct Group<'a> {
    set: &'a QuarksStatefulSet,
    digest: &'a Digest,
    seen: &'a Seen,
    /// The wanted one.
    version: u32,
    /// The last version that was ready.
    last: Option<u32>,
    /// A rule of the rollout that does not apply.
    waiver: Option<Waiver<'a>>,
    states: States<'a>,
    now: Timestamp,
}

/// What a new version takes over, or what is replaced in place.
#[derive(Default)]
struct Changes {
    rollout: Rollout,
    /// To delete.
    pods: Vec<Pod>,
    begun: Vec<Begun>,
    /// None: nothing is taken over.
    superseded: Option<Superseded>,
    /// The StatefulSets that keep their template for now.
    held: Vec<String>,
    set_back: Vec<SetBack>,
}

/// Why there is no plan.
pub(super) enum Unplanned {
    /// The decision needs the pods.
    NeedsPods,
    Api(Error),
    Problem(Problem),
}

impl From<Error> for Unplanned {
    fn from(error: Error) -> Self {
        Self::Api(error)
    }
}

// === impl Plan ===

impl Plan {
    /// Whether it begins or ends updates of instances.
    pub fn updates_instances(&self) -> bool {
        !self.replace.is_empty() || !self.resize.is_empty()
    }
}

/// `owner`: the reference to the QuarksStatefulSet.
///
/// # Errors
/// The pods are needed, the template is missing or has ordinals, or the zones are invalid.
pub(super) fn plan(
    set: &QuarksStatefulSet,
    seen: &Seen,
    owner: &OwnerReference,
    now: Timestamp,
) -> Result<Plan, Unplanned> {
    let live = &seen.live;
    let mut object = json!(set);
    let tree = tree(&object)?;
    let digest = Digest::of(object["spec"].take()).resizing(seen.resizes);
    let states = States {
        all: &set.spec.instances,
        stops_instances: digest.revisions.is_some(),
        now,
    };
    if states.has_exceptions() && seen.pods.is_none() {
        return Err(Unplanned::NeedsPods);
    }
    refuse_ordinals(&tree)?;
    let claimed = live
        .sets
        .is_empty()
        .then(|| disks::version(&tree, &seen.claims))
        .flatten();
    let in_place = is_delete_create(&tree);
    let version = Versions::wanted(set, &live.sets, claimed, &digest, in_place);
    let wanted = stateful_sets(&tree, version).map_err(|error| invalid(error.message))?;
    let wanted = wanted.iter().enumerate();
    let wanted = wanted.map(|(zone, made)| finish(zone, made, set, &digest, &live.sets, owner));
    let mut wanted = wanted.collect::<Result<Vec<Value>, Error>>()?;
    if states.is_stopped() {
        wanted.iter_mut().for_each(|object| set_replicas(object, 0));
    }
    let all: usize = wanted.iter().map(replicas).sum();
    let last = Versions::last_ready(set, &live.sets);
    let group = Group {
        set,
        digest: &digest,
        seen,
        version,
        last,
        // The status reports an annotation that cannot be read.
        waiver: Waiver::of(set).unwrap_or_default(),
        states,
        now,
    };
    let stopped: usize = group.zones(&wanted).iter().map(LiveZone::stopped).sum();
    let all = all.saturating_sub(stopped);
    let takes_over = (has_limits(&wanted) || set.spec.paused) && last.is_some_and(|last| last != version);
    let mut changes = Changes::default();
    if takes_over {
        changes = group.hand_over(&mut wanted)?;
    } else if states.has_exceptions() {
        group.gate(&mut wanted)?;
    }
    let mut resizes = group.resizes(&mut wanted)?;
    let mut plan = objects::plan(wanted.clone(), &live.objects);
    let is_withheld = withhold(set, version, &mut plan, live);
    if is_withheld && !takes_over {
        changes.rollout = Rollout::paused(all);
    }
    let returning = returning(&wanted, &live.sets);
    let mut resize = Vec::new();
    if !returning.is_empty() {
        // They are written when they have their ordinals back.
        let is_returning = |object: &Value| returning.iter().any(|one| is_named(one.set, object));
        plan.apply.retain(|one| !is_returning(one));
        plan.drifted.retain(|one| !is_returning(&one.wanted));
        plan.excess.retain(|one| !is_returning(&one.live));
        resizes.only(|pod| returning.iter().all(|one| !is_of(pod, &one.set.name_any())));
        let others = changes.superseded.take();
        let others = others.map_or_else(|| group.superseded(&wanted, &[]), Ok)?;
        let given_back = group.give_back(&wanted, &returning, others.surplus)?;
        changes.superseded = Some(others);
        resize = given_back.resize;
        if !takes_over {
            changes.rollout = given_back.rollout;
        }
    }
    let new_objects: Vec<Value> = plan.apply.iter().filter(|one| !live.has(one)).cloned().collect();
    let is_current = |one: &&StatefulSet| plan.delete.iter().all(|old| !is_named(one, old));
    let current: Vec<&StatefulSet> = live.sets.iter().filter(is_current).collect();
    let mut renew = renewed(&mut plan.apply, &current, in_place || states.has_exceptions());
    let is_written = plan.apply.is_empty() && renew.is_empty() && resizes.now.is_empty();
    let settled = is_written && returning.is_empty() && !is_withheld;
    let is_steady = settled
        && current
            .iter()
            .all(|one| states.is_ready(one, seen.pods.as_deref()) && !is_going(one));
    let outdated = outdated(&plan, &renew, &current, &live.sets);
    let is_rolled_out = set.status.as_ref().is_some_and(|status| status.rollout().is_none());
    let is_replaced = !outdated.is_empty() || current.iter().any(|one| has_old_pods(one));
    let is_observed = is_replaced || (!is_rolled_out || states.replaces()) && !is_withheld;
    if is_observed && !takes_over && returning.is_empty() {
        changes = group.replace(&wanted, &outdated, is_rolled_out)?;
        let set_back_names = changes.set_back.iter().filter_map(|one| one.wanted.name());
        let held: Vec<&str> = changes.held.iter().map(String::as_str).chain(set_back_names).collect();
        let is_held = |name: Option<&str>| name.is_some_and(|name| held.contains(&name));
        plan.apply.retain(|one| !is_held(one.name()));
        renew.retain(|(old, _)| !is_held(old.metadata.name.as_deref()));
        // Their StatefulSets are to say that there are such, before there are.
        resizes.only(|pod| held.iter().all(|name| !is_of(pod, name)));
    }
    let mut rollout = changes.rollout;
    let next_request = states.next().map(|time| time.duration_since(now));
    rollout.again = rollout.again.into_iter().chain(next_request).min();
    let replace = changes.pods;
    let is_gone = |pod: &Pod| replace.iter().any(|gone| gone.metadata.name == pod.metadata.name);
    resizes.only(|pod| !is_gone(pod));
    let ready = is_steady && !rollout.is_underway();
    let mut delete = plan.delete;
    if !ready && !delete.is_empty() {
        let superseded = changes.superseded.map_or_else(|| group.superseded(&wanted, &[]), Ok)?;
        delete.retain(|one| superseded.delete.iter().any(|gone| one.name() == Some(gone)));
        // Those that lose instances first: pods need their quota.
        resize.splice(0..0, superseded.resize);
    }
    let last = if ready { Some(version) } else { last };
    Ok(Plan {
        wanted,
        rollout,
        replicas: all,
        replace,
        begun: changes.begun,
        resizes,
        set_back: changes.set_back,
        drifted: plan.drifted,
        excess: plan.excess,
        new_objects,
        apply: plan.apply,
        renew,
        delete,
        resize,
        ready,
        versions: Versions::after(set, version, digest.text().into(), last),
    })
}

// === impl Group ===

impl Group<'_> {
    fn pods(&self) -> Result<&[Pod], Unplanned> {
        self.seen.pods.as_deref().ok_or(Unplanned::NeedsPods)
    }

    /// Its zones, of the wanted StatefulSets.
    fn zones<'a>(&'a self, wanted: &'a [Value]) -> Vec<LiveZone<'a>> {
        let zone = |(index, object): (usize, &'a Value)| {
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

    fn waived(&self) -> Option<Rule> {
        self.waiver.map(|waiver| waiver.rule)
    }

    /// `limit`: instances at a time if the update block has no limit.
    fn decide(&self, wanted: &[Value], instances: &[Instance<'_>], limit: Count) -> Decision {
        let pod = self.waiver.and_then(|waiver| waiver.pod);
        let is_accepted = |one: &Instance<'_>| {
            let set = wanted.get(one.zone_index).and_then(|object| object.name());
            set.is_some_and(|set| pod == Some(format!("{set}-{}", one.ordinal).as_str()))
        };
        let update = Update {
            accepted: instances.iter().position(is_accepted),
            ..Update::of(wanted, limit).without(self.waived())
        };
        let mut decision = rollout::decide(instances, &update, self.now);
        let has_others = !self.seen.before.is_empty() && self.waived() != Some(Rule::GroupOrder);
        if self.set.spec.paused {
            decision.hold(Rule::Paused);
        } else if has_others && !instances.iter().any(Instance::is_begun) {
            decision.hold(Rule::GroupOrder);
        }
        decision
    }

    /// How far the rollout is.
    fn rollout(&self, decision: &Decision, instances: &[Instance<'_>], zones: &[LiveZone<'_>]) -> Rollout {
        let mut rollout = Rollout::of(decision, instances, zones);
        if decision.held_by == Some(Rule::GroupOrder) {
            rollout.awaited.clone_from(&self.seen.before);
        }
        rollout
    }

    /// What happens to the other versions. `taken_over`: the zones of the wanted one, if it takes over.
    fn superseded(&self, wanted: &[Value], taken_over: &[TakenOver]) -> Result<Superseded, Unplanned> {
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
    fn resizes(&self, wanted: &mut [Value]) -> Result<Resizes, Unplanned> {
        let is_wanted = |set: &&StatefulSet| wanted.iter().any(|object| is_named(set, object));
        let mut sets = self.seen.live.sets.iter().filter(is_wanted);
        let is_needed = self.digest.resizes && sets.any(|set| may_differ(set, self.digest));
        if !is_needed && self.seen.pods.is_none() {
            return Ok(Resizes::default());
        }
        let mut resizes = Resizes::of(&self.zones(wanted), self.pods()?);
        resizes.only(|_| !self.set.spec.paused);
        for object in wanted {
            if object.name().is_some_and(|name| resizes.has_pods_of(name)) {
                object.set_annotation(RESIZING, Some("true"));
            }
        }
        Ok(resizes)
    }

    /// Starts the next instances of a new version, by the replicas of its StatefulSets.
    fn hand_over(&self, wanted: &mut [Value]) -> Result<Changes, Unplanned> {
        let pods = self.pods()?;
        let zones = self.zones(wanted);
        let of_zones = zones.iter().map(|zone| zone.handed_over(pods));
        let instances: Vec<Instance<'_>> = of_zones.flatten().collect();
        let mut decision = self.decide(wanted, &instances, Count::Percent(100));
        // The older version loses its first instances, so it cannot keep an ignored one and hand over those after it.
        let is_kept = |one: &&Instance<'_>| {
            let zone = zones.get(one.zone_index);
            one.is_outdated() && zone.is_some_and(|zone| zone.is_ignored(one.ordinal))
        };
        let is_before_kept = |at: usize| {
            instances.get(at).is_some_and(|one| {
                let mut kept = instances.iter().filter(is_kept);
                kept.all(|kept| kept.zone_index != one.zone_index || one.ordinal < kept.ordinal)
            })
        };
        if !decision.next.iter().all(|at| is_before_kept(*at)) {
            decision.limit(is_before_kept);
            decision.held_by = Some(Rule::IgnoredInstance);
        }
        let done = |zone: &LiveZone<'_>| {
            let mut members = (0..).zip(&instances).filter(|(_, one)| one.zone_index == zone.index);
            // The older version loses its first instances, so one that is done after another one does not count yet.
            members
                .position(|(at, _)| !decision.done.contains(&at))
                .unwrap_or(zone.replicas)
        };
        let done: Vec<usize> = zones.iter().map(done).collect();
        let taken_over = zones.iter().zip(&done).map(|(zone, done)| TakenOver {
            zone: zone.name.into(),
            done: *done,
            replicas: zone.replicas,
        });
        let superseded = self.superseded(wanted, &taken_over.collect::<Vec<_>>())?;
        let free = |at: usize, at_a_time: usize| {
            let of_zone = |one: &Instance<'_>| Some(one.ordinal < done.get(one.zone_index)? + at_a_time);
            instances.get(at).and_then(of_zone).unwrap_or(false)
        };
        let at_a_time = decision.at_a_time;
        decision.limit(|at| free(at, at_a_time));
        // The next instances are the same before and after the others have lost their pods, and so is the status.
        let rollout = self.rollout(&decision, &instances, &zones);
        let adds_no_pod = |at: usize| {
            instances
                .get(at)
                .is_some_and(|one| one.state == State::Outdated { is_ready: false })
        };
        let left = at_a_time.saturating_sub(superseded.surplus);
        decision.limit(|at| adds_no_pod(at) || free(at, left));
        let mut started = vec![0_usize; zones.len()];
        for (at, one) in instances.iter().enumerate() {
            let is_started = one.state != State::Outdated { is_ready: true } || decision.next.contains(&at);
            if let Some(count) = started.get_mut(one.zone_index).filter(|_| is_started) {
                *count = one.ordinal + 1;
            }
        }
        let next = || decision.next.iter().filter_map(|at| instances.get(*at));
        let begins = |one: &Instance<'_>| Some(Begun::of(zones.get(one.zone_index)?, one, pods));
        let begun = next().filter_map(begins).collect();
        // Of an earlier template, and not ready.
        let old = next().filter_map(|one| zones.get(one.zone_index)?.pod(one.ordinal, pods));
        let changes = Changes {
            pods: old.cloned().collect(),
            begun,
            superseded: Some(superseded),
            rollout,
            ..Changes::default()
        };
        for (object, count) in wanted.iter_mut().zip(started) {
            if count < replicas(object) {
                object.set_annotation(INCOMPLETE, Some("true"));
                set_replicas(object, count);
            }
        }
        Ok(changes)
    }

    /// Gives the templates of zones a gate in which instances are yet to be stopped.
    fn gate(&self, wanted: &mut [Value]) -> Result<(), Unplanned> {
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
            note_template(object);
        }
        Ok(())
    }

    /// Gives instances back to a version that is wanted again. `surplus`: pods that the other versions are to lose.
    fn give_back(&self, wanted: &[Value], returning: &[Returning<'_>], surplus: usize) -> Result<GivenBack, Unplanned> {
        let update = Update::of(wanted, Count::Percent(100)).without(self.waived());
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
        Ok(superseded::give_back(returning, all, self.pods()?, &pace))
    }

    /// Replaces pods. `outdated`: the StatefulSets that have another template than the wanted one; `is_rolled_out`:
    /// whether the last change was complete.
    fn replace(&self, wanted: &[Value], outdated: &[String], is_rolled_out: bool) -> Result<Changes, Unplanned> {
        let all_pods = self.pods()?;
        let is_outdated = |name: &str| outdated.iter().any(|one| one == name);
        let zones = self.zones(wanted);
        let of_zones = zones
            .iter()
            .map(|zone| zone.in_place(is_outdated(zone.set_name), all_pods));
        let instances: Vec<Instance<'_>> = of_zones.flatten().collect();
        let mut decision = self.decide(wanted, &instances, Count::Number(1));
        let is_kept = |(zone, object): (&LiveZone<'_>, &Value)| zone.keeps_pod_without_disk(object, all_pods);
        let are_kept: Vec<bool> = zones.iter().zip(wanted).map(is_kept).collect();
        let is_free = |at: usize| {
            let one = instances.get(at);
            one.is_some_and(|one| are_kept.get(one.zone_index) == Some(&false))
        };
        if !decision.next.iter().all(|at| is_free(*at)) {
            decision.limit(is_free);
            decision.held_by = Some(Rule::IgnoredInstance);
        }
        if is_rolled_out && decision.left + decision.next.len() == 0 {
            decision.end();
        }
        let mut changes = Changes {
            rollout: self.rollout(&decision, &instances, &zones),
            ..Changes::default()
        };
        for (zone, object) in zones.iter().zip(wanted) {
            let is_of_zone = |one: &&Instance<'_>| one.zone_index == zone.index;
            let next = decision.next.iter().filter_map(|at| instances.get(*at));
            let next: Vec<&Instance<'_>> = next.filter(is_of_zone).collect();
            let left = instances.iter().filter(|one| is_of_zone(one) && one.is_outdated());
            let stays = next.is_empty() && left.clone().next().is_some();
            if is_outdated(zone.set_name) || zone.live.and_then(set_back_from).is_some() {
                changes.held.extend(stays.then(|| zone.set_name.to_string()));
                continue;
            }
            let pods = next.iter().filter_map(|one| zone.pod(one.ordinal, all_pods));
            changes.pods.extend(pods.cloned());
            let begins = |one: &&Instance<'_>| Begun::of(zone, one, all_pods);
            let begun = next.iter().map(begins).filter(|one| one.action != "create");
            changes.begun.extend(begun);
            let is_served = |one: &&Instance<'_>| matches!(one.state, State::Updated(Updated { is_ready: true, .. }));
            let served = instances.iter().filter(|one| is_of_zone(one) && is_served(one)).count();
            // The template is the one that most of its pods are made from.
            if stays && decision.has_stopped() && left.clone().count() >= served {
                let pods = left.filter_map(|one| zone.pod(one.ordinal, all_pods));
                let newest = pods.max_by_key(|pod| pod.metadata.creation_timestamp.clone());
                let revision = newest.and_then(|pod| pod.labels().get(REVISION));
                // Of the present one if these are only to be created again.
                let set_back = revision.zip(zone.live);
                let set_back = set_back.and_then(|(revision, live)| SetBack::new(live, object, revision));
                changes.set_back.extend(set_back);
            }
        }
        Ok(changes)
    }
}

/// Versions hand instances over by the ordinals of their StatefulSets.
fn refuse_ordinals(set: &Tree) -> Result<(), Unplanned> {
    let inner = set.get("spec").and_then(|spec| spec.get("template")?.get("spec"));
    let ordinals = inner.and_then(|inner| inner.get("ordinals"));
    if ordinals.is_none_or(Tree::is_null) {
        return Ok(());
    }
    let message = "spec.template.spec.ordinals cannot be set: instances have numbers from 0, and versions hand them \
                   over by this member";
    Err(invalid(message.into()))
}

fn invalid(message: String) -> Unplanned {
    Unplanned::Problem(Problem(INVALID, message))
}

/// Whether the update block has limits. Without any, all instances start at once.
fn has_limits(wanted: &[Value]) -> bool {
    let limits = [labels::CANARIES, labels::MAX_IN_FLIGHT];
    let has_limit = |one: &Value| limits.iter().any(|key| one.annotation(key).is_some());
    wanted.iter().any(has_limit)
}

/// The number of pods of a StatefulSet that the conversion made.
fn replicas(object: &Value) -> usize {
    let replicas = object.pointer("/spec/replicas").and_then(Value::as_u64);
    replicas
        .and_then(|replicas| usize::try_from(replicas).ok())
        .unwrap_or(1)
}

fn set_replicas(object: &mut Value, count: usize) {
    if let Some(spec) = object.get_mut("spec") {
        spec["replicas"] = count.into();
    }
}

/// The QuarksStatefulSet in the form that the conversion to StatefulSets reads.
fn tree(set: &Value) -> Result<Tree, Error> {
    let flawed = |_| Error::flawed(&QuarksStatefulSet::kind(&()), set.name(), "is not JSON");
    Tree::deserialize(set).map_err(flawed)
}

/// Takes out what a paused group must not begin: a new version. What has served is created again even then. Whether
/// there was such.
fn withhold(set: &QuarksStatefulSet, version: u32, plan: &mut objects::Plan, live: &Live) -> bool {
    let is_withheld = set.spec.paused && Versions::recorded_ready(set) != Some(version) && !plan.new.is_empty();
    if is_withheld {
        plan.apply.retain(|one| live.has(one));
        plan.delete.clear();
    }
    is_withheld
}

/// The wanted StatefulSets that handed instances over before.
fn returning<'a>(wanted: &[Value], live: &'a [StatefulSet]) -> Vec<Returning<'a>> {
    let one = |object: &Value| {
        let set = live.iter().find(|one| is_named(one, object) && !is_going(one))?;
        let is_complete = object.annotation(INCOMPLETE).is_none();
        let first = first_ordinal(set)?;
        (first > 0 || is_complete).then_some(Returning {
            set,
            all: is_complete.then(|| replicas(object)),
        })
    };
    wanted.iter().filter_map(one).collect()
}

/// Takes StatefulSets out of `apply` that must be created again. One that is being deleted is waited for. `in_place`:
/// whether pods are replaced in place even without claims.
fn renewed(apply: &mut Vec<Value>, current: &[&StatefulSet], in_place: bool) -> Vec<(StatefulSet, Value)> {
    let mut renew = Vec::new();
    apply.retain(|wanted| {
        let Some(found) = current.iter().find(|one| is_named(one, wanted)) else {
            return true;
        };
        if is_going(found) {
            return false;
        }
        let fixed = found.annotations().get(FIXED).map(String::as_str);
        // Where pods are not replaced in place, such a change is another version.
        let fits = !(in_place || has_claims(found)) || fixed == wanted.annotation(FIXED);
        if !fits {
            renew.push(((*found).clone(), wanted.clone()));
        }
        fits
    });
    renew
}

/// Names of the StatefulSets that have another pod template than the wanted one.
fn outdated(
    plan: &objects::Plan,
    renew: &[(StatefulSet, Value)],
    current: &[&StatefulSet],
    live: &[StatefulSet],
) -> Vec<String> {
    let is_outdated = |name: &String| {
        let is_drifted = plan.drifted.iter().any(|one| one.wanted.name() == Some(name));
        let mut changed = plan.apply.iter().filter(|one| one.name() == Some(name));
        renew.iter().any(|(old, _)| old.name_any() == *name)
            || changed.any(|one| is_drifted || replaces_pods(one, live))
    };
    current.iter().map(|one| one.name_any()).filter(is_outdated).collect()
}

/// Whether this change of a StatefulSet that exists replaces its pods. A different number of pods replaces none.
fn replaces_pods(wanted: &Value, live: &[StatefulSet]) -> bool {
    let mut found = live.iter().filter(|one| is_named(one, wanted));
    found.any(|one| one.annotations().get(PODS).map(String::as_str) != wanted.annotation(PODS))
}

/// `zone`: position of the zone of `made`.
fn finish(
    zone: usize,
    made: &Tree,
    set: &QuarksStatefulSet,
    digest: &Digest,
    live: &[StatefulSet],
    owner: &OwnerReference,
) -> Result<Value, Error> {
    let flawed = |_| Error::flawed(&StatefulSet::kind(&()), set.meta().name.as_deref(), "is not JSON");
    let mut value: Value = serde_json::to_value(made).map_err(flawed)?;
    if let Some(spec) = value.get_mut("spec") {
        spec["updateStrategy"] = json!({"type": "OnDelete"});
    }
    let shape = digest.text_in_zone(zone);
    value.set_annotation(TEMPLATE, Some(shape));
    if digest.revisions.is_some()
        && let Some(pods) = value.pointer_mut("/spec/template")
    {
        pods.set_annotation(labels::SHAPE_DIGEST, Some(shape));
        pods.set_annotation(labels::RESOURCES_DIGEST, digest.of_resources());
    }
    keep_deployment_version(&mut value, digest, live);
    let fixed = fixed(&value);
    value.set_annotation(FIXED, Some(&fixed));
    note_template(&mut value);
    // A QuarksStatefulSet of a user belongs to no deployment.
    let deployment = set.labels().get(labels::DEPLOYMENT_NAME).map_or("", String::as_str);
    objects::own(&mut value, deployment, owner);
    Ok(value)
}

fn note_template(stateful_set: &mut Value) {
    let pods = objects::digest(stateful_set.pointer("/spec/template").unwrap_or(&Value::Null));
    stateful_set.set_annotation(PODS, Some(&pods));
}

/// The label names the manifest from which the present template was made: scaling changes neither.
fn keep_deployment_version(value: &mut Value, digest: &Digest, live: &[StatefulSet]) {
    let mut found = live.iter().filter(|one| is_named(one, value));
    if let Some(found) = found.find(|one| is_of_template(one, digest)) {
        let version = found.labels().get(labels::DEPLOYMENT_VERSION).map(String::as_str);
        value.set_label(labels::DEPLOYMENT_VERSION, version);
    }
}

/// Digest of the immutable fields of a StatefulSet.
fn fixed(stateful_set: &Value) -> String {
    let keys = ["podManagementPolicy", "selector", "serviceName", "volumeClaimTemplates"];
    let field = |key| stateful_set.spec().and_then(|spec| spec.get(key));
    objects::digest(&keys.iter().map(|key| json!([key, field(key)])).collect())
}

#[cfg(test)]
mod handover_tests;
#[cfg(test)]
mod states_tests;
#[cfg(test)]
mod tests;
