//! Plans the StatefulSets of a QuarksStatefulSet. Pure.
//!
//! A changed template creates a new version beside the old one, which is deleted when all pods of the new one are
//! ready. A version that was never ready is deleted as soon as another one is requested: it serves no requests, and its
//! pods could use up the quota that its fix needs. If pods have claims, the version is kept and its pods roll in place,
//! because a claim belongs to the name of a pod. Immutable fields of a StatefulSet, such as its claim templates, are
//! changed by creating it again: its pods and claims stay, and are adopted by name.
//!
//! [`rollout`](super::rollout) decides which instances change now. A new version starts them by its number of replicas.
//! Other changes replace pods: the StatefulSets have the strategy `OnDelete`, so that nothing else replaces them. A
//! zone gets a new template when the first of its pods is to be replaced, so that until then a pod that is lost comes
//! back as it was.

use super::digest::Digest;
use super::inspect::{INCOMPLETE, Live, TEMPLATE, has_claims, has_old_pods, is_going, is_of_template, is_ready};
use super::rollout::instances::LiveZone;
use super::rollout::{self, Count, Decision, Instance, Rollout, Update};
use super::versions::Versions;
use super::{Failure, disks};
use boson_api::QuarksStatefulSet;
use boson_cluster::client::{AnyObject, Error};
use boson_cluster::objects;
use boson_cluster::objects::drift::{Drifted, Excess};
use boson_document::{Tree, json};
use boson_manifest::labels;
use boson_pipeline::plain::stateful_set::stateful_sets;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use k8s_openapi::jiff::Timestamp;
use kube::{Resource, ResourceExt};
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
    /// Pods to delete, which their StatefulSets create again.
    pub replace: Vec<Pod>,
    /// How far the rollout is.
    pub rollout: Rollout,
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
}

/// A QuarksStatefulSet, and what is there of it.
struct Group<'a> {
    set: &'a QuarksStatefulSet,
    seen: &'a Seen,
    pods: &'a [Pod],
    now: Timestamp,
}

/// What is replaced in place.
#[derive(Default)]
struct InPlace {
    rollout: Rollout,
    /// The StatefulSets that keep their template for now.
    held: Vec<String>,
    /// To delete.
    pods: Vec<Pod>,
}

/// `owner`: the reference to the QuarksStatefulSet. None: the decision needs the pods.
///
/// # Errors
/// The template is missing, or the zones are invalid.
pub(super) fn plan(
    set: &QuarksStatefulSet,
    seen: &Seen,
    owner: &OwnerReference,
    now: Timestamp,
) -> Result<Option<Plan>, Failure> {
    let live = &seen.live;
    let (tree, digest) = (tree(set)?, Digest::of(&set.spec));
    let claimed = live
        .sets
        .is_empty()
        .then(|| disks::version(&tree, &seen.claims))
        .flatten();
    let version = Versions::wanted(set, &live.sets, claimed, &digest);
    let wanted = stateful_sets(&tree, version)?;
    let wanted = wanted
        .iter()
        .map(|made| finish(made, set, &digest, (&live.sets, owner)));
    let mut wanted = wanted.collect::<Result<Vec<Value>, Error>>()?;
    // Without limits all instances start at once.
    let is_limited = |one: &Value| {
        one.annotation(labels::CANARIES)
            .or(one.annotation(labels::MAX_IN_FLIGHT))
            .is_some()
    };
    let has_limits = wanted.iter().any(is_limited);
    let last = Versions::last_ready(set, &live.sets);
    let takes_over = has_limits && last.is_some_and(|last| last != version);
    let group = Group {
        set,
        seen,
        pods: seen.pods.as_deref().unwrap_or_default(),
        now,
    };
    let mut rollout = Rollout::default();
    if takes_over {
        if seen.pods.is_none() {
            return Ok(None);
        }
        rollout = group.hand_over(&mut wanted);
    }
    let mut plan = objects::plan(wanted.clone(), &live.objects);
    let new_objects = plan.new_objects().cloned().collect();
    let is_current = |one: &&StatefulSet| plan.delete.iter().all(|old| !is_named(one, old));
    let current: Vec<&StatefulSet> = live.sets.iter().filter(is_current).collect();
    let mut renew = renewed(&mut plan.apply, &current);
    let settled = plan.apply.is_empty() && renew.is_empty();
    let is_steady = settled && current.iter().all(|one| is_ready(one) && !is_going(one));
    let mut replace = Vec::new();
    let is_outdated = |name: &str| {
        let is_drifted = plan.drifted.iter().any(|one| one.wanted.name() == Some(name));
        let mut changed = plan.apply.iter().filter(|one| one.name() == Some(name));
        renew.iter().any(|(old, _)| old.name_any() == name)
            || changed.any(|one| is_drifted || replaces_pods(one, &live.sets))
    };
    let outdated: Vec<String> = current
        .iter()
        .map(|one| one.name_any())
        .filter(|name| is_outdated(name))
        .collect();
    if !takes_over && (!outdated.is_empty() || current.iter().any(|one| has_old_pods(one))) {
        if seen.pods.is_none() {
            return Ok(None);
        }
        let in_place = group.replace(&wanted, &outdated);
        let is_held = |name: Option<&str>| in_place.held.iter().any(|held| Some(held.as_str()) == name);
        plan.apply.retain(|one| !is_held(one.name()));
        renew.retain(|(old, _)| !is_held(old.metadata.name.as_deref()));
        (rollout, replace) = (in_place.rollout, in_place.pods);
    }
    let ready = is_steady && !rollout.is_underway();
    let last = if ready { Some(version) } else { last };
    Ok(Some(Plan {
        wanted,
        rollout,
        replace,
        drifted: plan.drifted,
        excess: plan.excess,
        new_objects,
        apply: plan.apply,
        renew,
        delete: superseded(plan.delete, version, last, ready),
        ready,
        versions: Versions::after(set, version, digest.text().into(), last),
    }))
}

// === impl Group ===

impl Group<'_> {
    /// Its zones, of the wanted StatefulSets.
    fn zones<'a>(&'a self, wanted: &'a [Value]) -> Vec<LiveZone<'a>> {
        let zone = |(index, object): (usize, &'a Value)| LiveZone {
            name: self.set.spec.zones.get(index).map_or("", String::as_str),
            index,
            set_name: object.name().unwrap_or_default(),
            live: self.seen.live.sets.iter().find(|one| is_named(one, object)),
            replicas: replicas(object),
        };
        wanted.iter().enumerate().map(zone).collect()
    }

    /// `limit`: instances at a time if the update block has no limit.
    fn decide(&self, wanted: &[Value], instances: &[Instance<'_>], limit: Count) -> Decision {
        let annotations = wanted.first().and_then(|one| one.pointer("/metadata/annotations"));
        let annotations = annotations.and_then(|all| serde_json::from_value(all.clone()).ok());
        let update = Update::of(&annotations.unwrap_or_default(), limit);
        rollout::decide(instances, &update, self.now)
    }

    /// Starts the next instances of a new version, by the replicas of its StatefulSets.
    fn hand_over(&self, wanted: &mut [Value]) -> Rollout {
        let (rollout, started) = {
            let zones = self.zones(wanted);
            let of_zones = zones.iter().map(|zone| zone.handed_over(self.pods));
            let instances: Vec<Instance<'_>> = of_zones.flatten().collect();
            let decision = self.decide(wanted, &instances, Count::Percent(100));
            let starts = |(at, one): &(usize, &Instance<'_>)| !one.is_outdated() || decision.next.contains(at);
            let mut started = vec![0_usize; zones.len()];
            for (_, one) in instances.iter().enumerate().filter(starts) {
                started
                    .get_mut(one.zone_index)
                    .into_iter()
                    .for_each(|count| *count += 1);
            }
            (Rollout::of(&decision, &instances, &zones), started)
        };
        for (object, count) in wanted.iter_mut().zip(started) {
            if count < replicas(object) {
                object.set_annotation(INCOMPLETE, Some("true"));
                if let Some(spec) = object.get_mut("spec") {
                    spec["replicas"] = count.into();
                }
            }
        }
        rollout
    }

    /// Replaces pods. `outdated`: the StatefulSets that have another template than the wanted one.
    fn replace(&self, wanted: &[Value], outdated: &[String]) -> InPlace {
        let is_outdated = |name: &str| outdated.iter().any(|one| one == name);
        let zones = self.zones(wanted);
        let of_zones = zones
            .iter()
            .map(|zone| zone.in_place(is_outdated(zone.set_name), self.pods));
        let instances: Vec<Instance<'_>> = of_zones.flatten().collect();
        let decision = self.decide(wanted, &instances, Count::Number(1));
        let mut in_place = InPlace {
            rollout: Rollout::of(&decision, &instances, &zones),
            ..InPlace::default()
        };
        for zone in &zones {
            let is_of_zone = |one: &Instance<'_>| one.zone_index == zone.index;
            let next = decision.next.iter().filter_map(|at| instances.get(*at));
            let next: Vec<&Instance<'_>> = next.filter(|one| is_of_zone(one)).collect();
            if !is_outdated(zone.set_name) {
                let pods = next.iter().filter_map(|one| zone.pod(one.ordinal, self.pods));
                in_place.pods.extend(pods.cloned());
            } else if next.is_empty() && instances.iter().any(is_of_zone) {
                in_place.held.push(zone.set_name.to_string());
            }
        }
        in_place
    }
}

/// The number of pods of a StatefulSet that the conversion made.
fn replicas(object: &Value) -> usize {
    let replicas = object.pointer("/spec/replicas").and_then(Value::as_u64);
    replicas
        .and_then(|replicas| usize::try_from(replicas).ok())
        .unwrap_or(1)
}

/// The QuarksStatefulSet in the form that the conversion to StatefulSets reads.
fn tree(set: &QuarksStatefulSet) -> Result<Tree, Error> {
    let tree = serde_json::to_string(set).ok().and_then(|text| json::parse(&text).ok());
    let flawed = || Error::flawed(&QuarksStatefulSet::kind(&()), set.meta().name.as_deref(), "is not JSON");
    tree.ok_or_else(flawed)
}

/// Whether both have the same name.
pub(super) fn is_named(set: &StatefulSet, object: &Value) -> bool {
    set.metadata.name.as_deref() == object.name()
}

/// The versions to delete. The last ready version stays until the wanted one is ready, and so do removed zones of the
/// wanted version.
fn superseded(mut others: Vec<Value>, wanted: u32, last: Option<u32>, ready: bool) -> Vec<Value> {
    let version = |one: &Value| one.annotation(labels::VERSION)?.parse::<u32>().ok();
    let never_served = |one: &Value| version(one).is_some_and(|other| other != wanted && Some(other) != last);
    others.retain(|one| ready || never_served(one));
    others
}

/// Takes StatefulSets out of `apply` that must be created again. One that is being deleted is waited for.
fn renewed(apply: &mut Vec<Value>, current: &[&StatefulSet]) -> Vec<(StatefulSet, Value)> {
    let mut renew = Vec::new();
    apply.retain(|wanted| {
        let Some(found) = current.iter().find(|one| is_named(one, wanted)) else {
            return true;
        };
        if is_going(found) {
            return false;
        }
        let fixed = found.annotations().get(FIXED).map(String::as_str);
        // Without claims, such a change is another version.
        let fits = !has_claims(found) || fixed == wanted.annotation(FIXED);
        if !fits {
            renew.push(((*found).clone(), wanted.clone()));
        }
        fits
    });
    renew
}

/// Whether this change of a StatefulSet that exists replaces its pods. A different number of pods replaces none.
fn replaces_pods(wanted: &Value, live: &[StatefulSet]) -> bool {
    let mut found = live.iter().filter(|one| is_named(one, wanted));
    found.any(|one| one.annotations().get(PODS).map(String::as_str) != wanted.annotation(PODS))
}

fn finish(
    made: &Tree,
    set: &QuarksStatefulSet,
    digest: &Digest,
    (live, owner): (&[StatefulSet], &OwnerReference),
) -> Result<Value, Error> {
    let flawed = |_| Error::flawed(&StatefulSet::kind(&()), set.meta().name.as_deref(), "is not JSON");
    let mut value: Value = serde_json::from_str(&json::to_text(made)).map_err(flawed)?;
    if let Some(spec) = value.get_mut("spec") {
        spec["updateStrategy"] = json!({"type": "OnDelete"});
    }
    value.set_annotation(TEMPLATE, Some(digest.text()));
    keep_deployment_version(&mut value, digest, live);
    let fixed = fixed(&value);
    value.set_annotation(FIXED, Some(&fixed));
    let pods = objects::digest(value.pointer("/spec/template").unwrap_or(&Value::Null));
    value.set_annotation(PODS, Some(&pods));
    // A QuarksStatefulSet of a user belongs to no deployment.
    let deployment = set.labels().get(labels::DEPLOYMENT_NAME).map_or("", String::as_str);
    objects::own(&mut value, deployment, owner);
    Ok(value)
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
mod tests {
    use super::*;
    use boson_cluster::client::Fault;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use std::collections::BTreeMap;

    fn set(image: &str, replicas: u32, claims: bool) -> QuarksStatefulSet {
        let claims = if claims {
            json!([{"metadata": {"name": "data"}}])
        } else {
            json!([])
        };
        let set = json!({
            "apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "QuarksStatefulSet",
            "metadata": {"name": "d-g", "namespace": "n", "labels": {labels::DEPLOYMENT_NAME: "d"}},
            "spec": {"zones": ["a", "b"], "template": {"metadata": {}, "spec": {
                "replicas": replicas, "volumeClaimTemplates": claims,
                "template": {"metadata": {}, "spec": {"containers": [{"name": "c", "image": image}]}}}}}
        });
        serde_json::from_value(set).unwrap()
    }

    fn owner() -> OwnerReference {
        OwnerReference {
            uid: "u".into(),
            ..OwnerReference::default()
        }
    }

    /// As the server has it, with this many ready pods.
    fn live(plan: &Plan, ready: i64) -> Vec<Value> {
        let one = |object: &Value| {
            let mut object = object.clone();
            object["metadata"]["generation"] = 1.into();
            object["status"] = json!({
                "replicas": ready, "observedGeneration": 1, "readyReplicas": ready, "updatedReplicas": ready,
                "updateRevision": "new"
            });
            object
        };
        plan.apply.iter().map(one).collect()
    }

    fn names(objects: &[Value]) -> Vec<&str> {
        objects
            .iter()
            .map(|object| object["metadata"]["name"].as_str().unwrap())
            .collect()
    }

    fn of(set: &QuarksStatefulSet, live: &[Value]) -> Plan {
        with(set, live, &[])
    }

    fn with(set: &QuarksStatefulSet, live: &[Value], claims: &[PersistentVolumeClaim]) -> Plan {
        let seen = Seen {
            live: Live::of(live.to_vec()).unwrap(),
            claims: claims.to_vec(),
            pods: Some(live.iter().flat_map(pods).collect()),
        };
        plan_at(set, &seen, Timestamp::UNIX_EPOCH)
    }

    fn plan_at(set: &QuarksStatefulSet, seen: &Seen, now: Timestamp) -> Plan {
        plan(set, seen, &owner(), now).ok().unwrap().unwrap()
    }

    /// The pods of a StatefulSet, according to its status: those of its newest revision first, and the ready ones.
    fn pods(set: &Value) -> Vec<Pod> {
        let number = |pointer| set.pointer(pointer).and_then(Value::as_i64).unwrap_or(0);
        let pod = |ordinal: i64| {
            let revision = if ordinal < number("/status/updatedReplicas") {
                "new"
            } else {
                "old"
            };
            let ready = if ordinal < number("/status/readyReplicas") {
                "True"
            } else {
                "False"
            };
            let name = format!("{}-{ordinal}", set.name().unwrap());
            let pod = json!({
                "metadata": {"name": name, "labels": {"controller-revision-hash": revision},
                    "creationTimestamp": Timestamp::UNIX_EPOCH.to_string()},
                "spec": {"containers": [], "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]},
                "status": {"conditions": [{"type": "Ready", "status": ready}]}
            });
            serde_json::from_value(pod).unwrap()
        };
        (0..number("/spec/replicas")).map(pod).collect()
    }

    #[test]
    fn each_is_owned_and_one_that_is_unreadable_is_a_defect() {
        let first = of(&set("i:1", 1, false), &[]);
        assert_eq!(first.apply[0]["metadata"]["ownerReferences"], json!([owner()]));
        let mut there = live(&first, 1);
        there[1]["spec"]["replicas"] = "many".into();
        let error = Live::of(there).unwrap_err();
        assert_eq!((error.fault, error.name.as_str()), (Fault::Unreadable, "d-g-z1-v1"));
    }

    #[test]
    fn each_zone_has_one_and_ready_pods_make_it_ready() {
        let first = of(&set("i:1", 2, false), &[]);
        assert_eq!(names(&first.apply), ["d-g-z0-v1", "d-g-z1-v1"]);
        assert!(!first.ready);
        let waiting = of(&set("i:1", 2, false), &live(&first, 1));
        assert!(waiting.apply.is_empty() && !waiting.ready);
        assert!(of(&set("i:1", 2, false), &live(&first, 2)).ready);
    }

    #[test]
    fn a_changed_template_makes_a_version_and_the_old_one_stays_until_it_is_ready() {
        let first = of(&set("i:1", 1, false), &[]);
        let mut there = live(&first, 1);
        let second = of(&set("i:2", 1, false), &there);
        assert_eq!(names(&second.apply), ["d-g-z0-v2", "d-g-z1-v2"]);
        assert!(second.delete.is_empty());
        there.extend(live(&second, 0));
        let waiting = of(&set("i:2", 1, false), &there);
        assert!(waiting.apply.is_empty() && waiting.delete.is_empty() && !waiting.ready);
        let mut there = live(&first, 1);
        there.extend(live(&second, 1));
        let done = of(&set("i:2", 1, false), &there);
        assert_eq!(names(&done.delete), ["d-g-z0-v1", "d-g-z1-v1"]);
        assert!(done.ready);
    }

    #[test]
    fn a_version_that_was_never_ready_is_deleted_for_its_fix() {
        let (good, broken, fixed) = (set("i:1", 1, false), set("i:2", 1, false), set("i:3", 1, false));
        let first = of(&good, &[]);
        let mut there = live(&first, 1);
        there.extend(live(&of(&broken, &there), 0));
        let fix = of(&fixed, &there);
        assert_eq!(names(&fix.apply), ["d-g-z0-v3", "d-g-z1-v3"]);
        assert_eq!(
            names(&fix.delete),
            ["d-g-z0-v2", "d-g-z1-v2"],
            "v1 serves, and v2 never did"
        );
        assert_eq!((fix.versions.newest, fix.versions.ready), (3, Some(1)));
        // Even if the serving version has lost a pod, because the status records it.
        let mut there = live(&first, 0);
        there.extend(live(&of(&broken, &live(&first, 1)), 0));
        let mut recorded = fixed.clone();
        let status = json!({"version": 2, "templateDigest": "", "readyVersion": 1});
        recorded.status = serde_json::from_value(status).unwrap();
        assert_eq!(names(&of(&recorded, &there).delete), ["d-g-z0-v2", "d-g-z1-v2"]);
        // After a revert, nothing has to start.
        let back = of(&good, &there);
        assert!(back.apply.is_empty(), "{back:?}");
        assert_eq!(names(&back.delete), ["d-g-z0-v2", "d-g-z1-v2"]);
    }

    #[test]
    fn scaling_keeps_the_version_and_so_do_pods_with_claims() {
        let first = of(&set("i:1", 1, false), &[]);
        let more = of(&set("i:1", 3, false), &live(&first, 1));
        assert_eq!(names(&more.apply), ["d-g-z0-v1"], "REPLICAS replaces pods");
        assert_eq!(more.rollout.left, 2);
        let plain = |replicas| {
            let mut set = set("i:1", replicas, false);
            set.spec.inject_replicas_env = false;
            set
        };
        let mut there = live(&of(&plain(1), &[]), 1);
        there[0]["status"]["readyReplicas"] = 0.into();
        assert_eq!(
            names(&of(&plain(3), &there).apply),
            ["d-g-z0-v1", "d-g-z1-v1"],
            "no pod is replaced"
        );
        let mut uneven = set("i:1", 1, false);
        uneven.spec.zone_replicas = vec![1, 0];
        let fewer = of(&uneven, &live(&first, 1)).apply;
        assert_eq!(names(&fewer), ["d-g-z1-v1"], "the other zone stays as it is");
        assert_eq!(fewer[0]["spec"]["replicas"], 0);
        let first = of(&set("i:1", 1, true), &[]);
        let second = of(&set("i:2", 1, true), &live(&first, 1));
        assert_eq!(names(&second.apply), ["d-g-z0-v1"]);
        assert!(second.renew.is_empty());
    }

    #[test]
    fn pods_with_claims_are_replaced_zone_by_zone_and_a_broken_zone_is_repaired() {
        let first = of(&set("i:1", 1, true), &[]);
        let mut there = live(&first, 1);
        // As the server has it after this zone was changed, with this many ready pods.
        let change = |there: &mut Vec<Value>, zone: usize, image: &str, ready: i64| {
            let plan = of(&set(image, 1, true), there);
            assert_eq!(names(&plan.apply), [format!("d-g-z{zone}-v1")]);
            there[zone] = live(&plan, ready).remove(0);
            of(&set(image, 1, true), there)
        };
        let waiting = change(&mut there, 0, "i:broken", 0);
        assert!(
            waiting.apply.is_empty() && !waiting.ready,
            "the broken template stays in one zone"
        );
        assert_eq!(waiting.rollout.awaited, ["d-g-z0-v1-0"]);
        let repaired = change(&mut there, 0, "i:2", 1);
        assert_eq!(names(&repaired.apply), ["d-g-z1-v1"]);
        assert!(change(&mut there, 1, "i:2", 1).ready);
        // Changed by hand in every zone.
        for one in &mut there {
            one["spec"]["template"]["spec"]["containers"][0]["image"] = "i:meddled".into();
        }
        assert_eq!(names(&of(&set("i:2", 1, true), &there).apply), ["d-g-z0-v1"]);
    }

    /// With an update block.
    fn updated(image: &str, replicas: u32, claims: bool) -> QuarksStatefulSet {
        let mut set = set(image, replicas, claims);
        let update = [
            (labels::CANARIES, "1"),
            (labels::MAX_IN_FLIGHT, "2"),
            (labels::CANARY_WATCH_TIME, "5000"),
        ];
        set.spec.template["metadata"] = json!({"annotations": BTreeMap::from(update)});
        set
    }

    /// Replicas of the StatefulSets of an image.
    fn sizes(there: &[Value], image: &str) -> Vec<i64> {
        let of_image = |one: &&Value| one.pointer("/spec/template/spec/containers/0/image").unwrap() == image;
        let mut all: Vec<(&str, i64)> = there
            .iter()
            .filter(of_image)
            .map(|one| (one.name().unwrap(), one["spec"]["replicas"].as_i64().unwrap()))
            .collect();
        all.sort_unstable();
        all.into_iter().map(|(_, size)| size).collect()
    }

    /// Carries the plan out. All pods of good images become ready.
    fn carry_out(there: &mut Vec<Value>, plan: &Plan) {
        for object in &plan.apply {
            let is_good = object.pointer("/spec/template/spec/containers/0/image").unwrap() != "i:broken";
            let size = if is_good {
                object["spec"]["replicas"].as_i64().unwrap()
            } else {
                0
            };
            let mut made = live(plan, size);
            made.retain(|one| one.name() == object.name());
            there.retain(|one| one.name() != object.name());
            there.append(&mut made);
        }
        let is_deleted = |one: &Value| plan.delete.iter().any(|gone| gone.name() == one.name());
        there.retain(|one| !is_deleted(one));
    }

    #[test]
    fn a_new_version_starts_with_its_canaries_and_goes_on_zone_by_zone() {
        let mut there = live(&of(&updated("i:1", 3, false), &[]), 3);
        let second = updated("i:2", 3, false);
        let mut steps = Vec::new();
        for _ in 0..9 {
            let plan = of(&second, &there);
            carry_out(&mut there, &plan);
            steps.push((sizes(&there, "i:1").len(), sizes(&there, "i:2")));
            if plan.ready {
                break;
            }
        }
        let expected = [(2, [1, 0]), (2, [3, 0]), (2, [3, 2]), (2, [3, 3]), (0, [3, 3])];
        assert_eq!(steps, expected.map(|(old, new)| (old, new.to_vec())));
        assert!(there.iter().all(|one| one.annotation(INCOMPLETE).is_none()));
    }

    #[test]
    fn a_failed_canary_stops_the_version_and_another_manifest_ends_it() {
        let mut there = live(&of(&updated("i:1", 3, false), &[]), 3);
        let broken = updated("i:broken", 3, false);
        let plan = of(&broken, &there);
        carry_out(&mut there, &plan);
        assert_eq!(sizes(&there, "i:broken"), [1, 0]);
        let seen = |there: &[Value]| Seen {
            live: Live::of(there.to_vec()).unwrap(),
            pods: Some(there.iter().flat_map(pods).collect()),
            ..Seen::default()
        };
        let later = Timestamp::from_second(700).unwrap();
        let stopped = plan_at(&broken, &seen(&there), later);
        assert!(stopped.apply.is_empty() && stopped.delete.is_empty() && !stopped.ready);
        assert_eq!(stopped.rollout.failure(), Some("CanaryFailed"));
        assert_eq!(
            (stopped.rollout.failed, stopped.rollout.left),
            (vec!["d-g-z0-v2-0".to_string()], 5)
        );
        assert_eq!(stopped.versions.ready, Some(1));
        let back = of(&updated("i:1", 3, false), &there);
        assert!(back.apply.is_empty() && back.rollout.failure().is_none());
        assert_eq!(names(&back.delete), ["d-g-z0-v2", "d-g-z1-v2"]);
        let fixed = of(&updated("i:3", 3, false), &there);
        assert_eq!(names(&fixed.delete), ["d-g-z0-v2", "d-g-z1-v2"]);
        carry_out(&mut there, &fixed);
        assert_eq!((sizes(&there, "i:1"), sizes(&there, "i:3")), (vec![3, 3], vec![1, 0]));
    }

    #[test]
    fn a_version_with_its_first_instances_is_not_the_one_that_serves() {
        let mut there = live(&of(&updated("i:1", 3, false), &[]), 3);
        let second = of(&updated("i:2", 3, false), &there);
        carry_out(&mut there, &second);
        let third = of(&updated("i:3", 3, false), &there);
        assert_eq!((third.versions.newest, third.versions.ready), (3, Some(1)));
        assert_eq!(names(&third.delete), ["d-g-z0-v2", "d-g-z1-v2"]);
    }

    #[test]
    fn pods_with_claims_are_replaced_after_the_canary() {
        let mut there = live(&of(&updated("i:1", 3, true), &[]), 3);
        let second = updated("i:2", 3, true);
        let replaced =
            |there: &[Value]| -> Vec<String> { of(&second, there).replace.iter().map(Pod::name_any).collect() };
        let plan = of(&second, &there);
        assert_eq!((names(&plan.apply), plan.replace.len()), (vec!["d-g-z0-v1"], 0));
        assert_eq!(plan.apply[0]["spec"]["updateStrategy"], json!({"type": "OnDelete"}));
        carry_out(&mut there, &plan);
        for (updated, ready, expected) in [
            (0, 3, &["d-g-z0-v1-0"][..]),
            (1, 0, &["d-g-z0-v1-1", "d-g-z0-v1-2"]),
            (1, 3, &["d-g-z0-v1-1", "d-g-z0-v1-2"]),
            (3, 2, &[]),
        ] {
            let zone = there.iter_mut().find(|one| one.name() == Some("d-g-z0-v1")).unwrap();
            zone["status"]["updatedReplicas"] = updated.into();
            zone["status"]["readyReplicas"] = ready.into();
            assert_eq!(replaced(&there), expected, "{updated} {ready}");
        }
        let zone = there.iter_mut().find(|one| one.name() == Some("d-g-z0-v1")).unwrap();
        zone["status"]["readyReplicas"] = 3.into();
        assert_eq!(names(&of(&second, &there).apply), ["d-g-z1-v1"]);
    }

    #[test]
    fn what_replaces_no_pods_waits_for_no_zone() {
        let mut set = set("i:1", 1, true);
        let mut there = live(&of(&set, &[]), 1);
        there[0]["status"]["readyReplicas"] = 0.into();
        set.spec.template["metadata"] = json!({"annotations": {"a": "b"}});
        assert_eq!(names(&of(&set, &there).apply), ["d-g-z0-v1", "d-g-z1-v1"]);
    }

    #[test]
    fn a_first_disk_makes_a_version_and_another_disk_makes_the_same_one_again() {
        let first = of(&set("i:1", 1, false), &[]);
        assert_eq!(
            names(&of(&set("i:1", 1, true), &live(&first, 1)).apply),
            ["d-g-z0-v2", "d-g-z1-v2"]
        );
        let first = of(&set("i:1", 1, true), &[]);
        for templates in [
            json!([]),
            json!([{"metadata": {"name": "data"}}, {"metadata": {"name": "more"}}]),
        ] {
            let mut changed = set("i:1", 1, true);
            changed.spec.template["spec"]["volumeClaimTemplates"] = templates;
            let mut there = live(&first, 1);
            let plan = of(&changed, &there);
            assert!(plan.apply.is_empty() && plan.delete.is_empty() && !plan.ready);
            let pairs: Vec<String> = plan.renew.iter().map(|(old, _)| old.name_any()).collect();
            assert_eq!(pairs, ["d-g-z0-v1"], "zone by zone");
            there[0]["metadata"]["deletionTimestamp"] = json!(Time(Timestamp::UNIX_EPOCH));
            let waiting = of(&changed, &there);
            assert!(waiting.apply.is_empty() && waiting.renew.is_empty() && !waiting.ready);
            there.remove(0);
            let again = of(&changed, &there);
            assert_eq!(names(&again.apply), ["d-g-z0-v1"], "the deleted one");
            assert!(again.renew.is_empty());
        }
    }

    #[test]
    fn a_deleted_stateful_set_is_created_again_for_its_remaining_claims() {
        let claim = json!({"metadata": {"labels": {labels::STATEFUL_SET_NAME: "d-g-z1-v4"}}});
        let claims: [PersistentVolumeClaim; 1] = [serde_json::from_value(claim).unwrap()];
        let back = with(&set("i:1", 1, true), &[], &claims);
        assert_eq!(names(&back.apply), ["d-g-z0-v4", "d-g-z1-v4"]);
        let there = live(&of(&set("i:1", 1, true), &[]), 1);
        let other = with(&set("i:2", 1, true), &there, &claims);
        assert_eq!(
            names(&other.apply),
            ["d-g-z0-v1"],
            "not v4: it is of claims without pods"
        );
    }

    #[test]
    fn the_stateful_set_of_a_removed_zone_is_deleted() {
        let first = of(&set("i:1", 1, true), &[]);
        let mut fewer = set("i:1", 1, true);
        fewer.spec.zones.truncate(1);
        let there = live(&first, 1);
        let changed = of(&fewer, &there);
        let mut there = live(&changed, 1);
        there.push(live(&first, 1).remove(1));
        assert_eq!(names(&of(&fewer, &there).delete), ["d-g-z1-v1"]);
    }
}
