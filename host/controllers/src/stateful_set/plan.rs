//! Plans the StatefulSets of a QuarksStatefulSet. Pure.
//!
//! A changed template creates a new version beside the old one, which is deleted when all pods of the new one are ready. A version that was never
//! ready is deleted as soon as another one is requested: it serves no requests, and its pods could use up the quota that its fix needs. If pods have
//! claims, the version is kept and its pods roll in place, because a claim belongs to the name of a pod. Immutable fields of a StatefulSet, such as
//! its claim templates, are changed by creating it again: its pods and claims stay, and are adopted by name.

use super::disks;
use super::inspect::{TEMPLATE, annotation, has_claims, is_ready, version};
use super::versions::Versions;
use boson_cluster::objects;
use boson_cluster::objects::drift::{Drifted, Excess};
use boson_document::{Tree, json};
use boson_manifest::labels;
use boson_pipeline::Diagnostic;
use boson_pipeline::plain::stateful_set::stateful_sets;
use serde_json::{Value, json};

/// Annotation: digest of the immutable fields of the StatefulSet, as written: the server adds defaults.
const FIXED: &str = "quarks.cloudfoundry.org/fixed-digest";

/// What to do, and the observed readiness.
#[derive(Debug)]
pub(super) struct Plan {
    /// The desired StatefulSets.
    pub wanted: Vec<Value>,
    /// To apply.
    pub apply: Vec<Value>,
    /// Those of them that others or admission have changed.
    pub drifted: Vec<Drifted>,
    /// Additions by others, to remove.
    pub excess: Vec<Excess>,
    /// Those of `apply` that do not exist yet.
    pub new_objects: Vec<Value>,
    /// StatefulSets to delete without their pods and claims, each with the one to create afterwards.
    pub renew: Vec<(Value, Value)>,
    /// To delete.
    pub delete: Vec<Value>,
    /// Whether all pods of the wanted version are ready.
    pub ready: bool,
    /// To record in the status.
    pub versions: Versions,
}

/// `set`: the QuarksStatefulSet. `live`: the StatefulSets that it owns. `claims`: those of the pods of such. `owner`: the reference to it.
///
/// # Errors
/// The template is missing, or the zones are invalid.
pub(super) fn plan(set: &Value, live: &[Value], claims: &[Value], owner: &Value) -> Result<Plan, Box<Diagnostic>> {
    let tree = json::parse(&set.to_string()).unwrap_or_default();
    let digest = digest(set);
    let claimed = live.is_empty().then(|| disks::version(&tree, claims)).flatten();
    let version = Versions::wanted(set, live, claimed, &digest);
    let wanted: Vec<Value> = stateful_sets(&tree, version)?
        .into_iter()
        .map(|made| finish(&made, set, &digest, (live, owner)))
        .collect();
    let mut plan = objects::plan(wanted.clone(), live);
    let new_objects = plan.new_objects().cloned().collect();
    let named = |object: &Value, other: &Value| object["metadata"]["name"] == other["metadata"]["name"];
    let is_current = |one: &&Value| plan.delete.iter().all(|old| !named(old, one));
    let current: Vec<&Value> = live.iter().filter(is_current).collect();
    let renew = renewed(&mut plan.apply, &current);
    let settled = plan.apply.is_empty() && renew.is_empty();
    let ready = settled && current.iter().all(|one| is_ready(one) && !objects::is_going(one));
    let last = if ready {
        Some(version)
    } else {
        Versions::last_ready(set, live)
    };
    Ok(Plan {
        wanted,
        drifted: plan.drifted,
        excess: plan.excess,
        new_objects,
        apply: plan.apply,
        renew,
        delete: superseded(plan.delete, version, last, ready),
        ready,
        versions: Versions::after(set, version, digest, last),
    })
}

/// The versions to delete. The last ready version stays until the wanted one is ready, and so do removed zones of the wanted version.
fn superseded(mut others: Vec<Value>, wanted: u32, last: Option<u32>, ready: bool) -> Vec<Value> {
    let never_served = |one: &Value| version(one).is_some_and(|other| other != wanted && Some(other) != last);
    others.retain(|one| ready || never_served(one));
    others
}

/// Takes StatefulSets out of `apply` that must be created again. One that is being deleted is waited for.
fn renewed(apply: &mut Vec<Value>, current: &[&Value]) -> Vec<(Value, Value)> {
    let mut renew = Vec::new();
    apply.retain(|wanted| {
        let mut found = current
            .iter()
            .filter(|one| one["metadata"]["name"] == wanted["metadata"]["name"]);
        let Some(found) = found.next() else { return true };
        if objects::is_going(found) {
            return false;
        }
        // Without claims, such a change is another version.
        let fits = !has_claims(found) || annotation(found, FIXED) == annotation(wanted, FIXED);
        if !fits {
            renew.push(((*found).clone(), wanted.clone()));
        }
        fits
    });
    renew
}

fn finish(made: &Tree, set: &Value, digest: &str, (live, owner): (&[Value], &Value)) -> Value {
    let mut value: Value = serde_json::from_str(&json::to_text(made)).unwrap_or_default();
    value["metadata"]["annotations"][TEMPLATE] = digest.into();
    keep_deployment_version(&mut value, live);
    value["metadata"]["annotations"][FIXED] = fixed(&value).into();
    let deployment = set["metadata"]["labels"][labels::DEPLOYMENT_NAME].as_str();
    objects::own(&mut value, deployment.unwrap_or_default(), owner);
    value
}

/// The label names the manifest from which the present template was made: scaling changes neither.
fn keep_deployment_version(value: &mut Value, live: &[Value]) {
    let mut found = live
        .iter()
        .filter(|one| one["metadata"]["name"] == value["metadata"]["name"]);
    let Some(found) = found.find(|one| annotation(one, TEMPLATE) == annotation(value, TEMPLATE)) else {
        return;
    };
    let version = found["metadata"]["labels"].get(labels::DEPLOYMENT_VERSION).cloned();
    if let Some(all) = value["metadata"]["labels"].as_object_mut() {
        match version {
            Some(version) => all.insert(labels::DEPLOYMENT_VERSION.into(), version),
            None => all.remove(labels::DEPLOYMENT_VERSION),
        };
    }
}

/// Digest of the immutable fields of a StatefulSet.
fn fixed(stateful_set: &Value) -> String {
    let keys = ["podManagementPolicy", "selector", "serviceName", "volumeClaimTemplates"];
    let spec = &stateful_set["spec"];
    objects::digest(&keys.iter().map(|key| json!([key, spec[key]])).collect())
}

/// Digest of everything that shapes pods and claims.
fn digest(set: &Value) -> String {
    let mut spec = set["spec"].clone();
    if let Some(spec) = spec.as_object_mut() {
        spec.remove("zoneReplicas");
    }
    if let Some(inner) = spec["template"]["spec"].as_object_mut() {
        inner.remove("replicas");
    }
    objects::digest(&spec)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(image: &str, replicas: u32, claims: bool) -> Value {
        let claims = if claims {
            json!([{"metadata": {"name": "data"}}])
        } else {
            json!([])
        };
        json!({
            "apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "QuarksStatefulSet",
            "metadata": {"name": "d-g", "namespace": "n", "labels": {labels::DEPLOYMENT_NAME: "d"}},
            "spec": {"zones": ["a", "b"], "template": {"metadata": {}, "spec": {
                "replicas": replicas, "volumeClaimTemplates": claims,
                "template": {"metadata": {}, "spec": {"containers": [{"name": "c", "image": image}]}}}}}
        })
    }

    /// As the server has it, with this many ready pods.
    fn live(plan: &Plan, ready: i64) -> Vec<Value> {
        let one = |object: &Value| {
            let mut object = object.clone();
            object["metadata"]["generation"] = 1.into();
            object["status"] = json!({"observedGeneration": 1, "readyReplicas": ready, "updatedReplicas": ready});
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

    fn of(set: &Value, live: &[Value]) -> Plan {
        plan(set, live, &[], &json!({"uid": "u"})).unwrap()
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
        recorded["status"] = json!({"version": 2, "templateDigest": "", "readyVersion": 1});
        assert_eq!(names(&of(&recorded, &there).delete), ["d-g-z0-v2", "d-g-z1-v2"]);
        // After a revert, nothing has to start.
        let back = of(&good, &there);
        assert!(back.apply.is_empty(), "{back:?}");
        assert_eq!(names(&back.delete), ["d-g-z0-v2", "d-g-z1-v2"]);
    }

    #[test]
    fn scaling_keeps_the_version_and_so_do_pods_with_claims() {
        let first = of(&set("i:1", 1, false), &[]);
        assert_eq!(
            names(&of(&set("i:1", 3, false), &live(&first, 1)).apply),
            ["d-g-z0-v1", "d-g-z1-v1"]
        );
        let mut uneven = set("i:1", 1, false);
        uneven["spec"]["zoneReplicas"] = json!([1, 0]);
        let fewer = of(&uneven, &live(&first, 1)).apply;
        assert_eq!(names(&fewer), ["d-g-z1-v1"], "the other zone stays as it is");
        assert_eq!(fewer[0]["spec"]["replicas"], 0);
        let first = of(&set("i:1", 1, true), &[]);
        let second = of(&set("i:2", 1, true), &live(&first, 1));
        assert_eq!(names(&second.apply), ["d-g-z0-v1", "d-g-z1-v1"]);
        assert!(second.renew.is_empty());
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
            changed["spec"]["template"]["spec"]["volumeClaimTemplates"] = templates;
            let mut there = live(&first, 1);
            let plan = of(&changed, &there);
            assert!(plan.apply.is_empty() && plan.delete.is_empty() && !plan.ready);
            let pairs: Vec<&Value> = plan.renew.iter().map(|(old, _)| &old["metadata"]["name"]).collect();
            assert_eq!(pairs, ["d-g-z0-v1", "d-g-z1-v1"]);
            for one in &mut there {
                one["metadata"]["deletionTimestamp"] = "now".into();
            }
            let waiting = of(&changed, &there);
            assert!(waiting.apply.is_empty() && waiting.renew.is_empty() && !waiting.ready);
            there.pop();
            there[0]["metadata"]["deletionTimestamp"] = Value::Null;
            assert_eq!(names(&of(&changed, &there).apply), ["d-g-z1-v1"], "the deleted one");
        }
    }

    #[test]
    fn a_deleted_stateful_set_is_created_again_for_its_remaining_claims() {
        let claim = json!({"metadata": {"labels": {labels::STATEFUL_SET_NAME: "d-g-z1-v4"}}});
        let back = plan(
            &set("i:1", 1, true),
            &[],
            std::slice::from_ref(&claim),
            &json!({"uid": "u"}),
        )
        .unwrap();
        assert_eq!(names(&back.apply), ["d-g-z0-v4", "d-g-z1-v4"]);
        let there = live(&of(&set("i:1", 1, true), &[]), 1);
        let other = plan(&set("i:2", 1, true), &there, &[claim], &json!({"uid": "u"})).unwrap();
        assert_eq!(names(&other.apply), ["d-g-z0-v1", "d-g-z1-v1"]);
    }

    #[test]
    fn the_stateful_set_of_a_removed_zone_is_deleted() {
        let first = of(&set("i:1", 1, true), &[]);
        let mut fewer = set("i:1", 1, true);
        fewer["spec"]["zones"] = json!(["a"]);
        let there = live(&first, 1);
        let changed = of(&fewer, &there);
        let mut there = live(&changed, 1);
        there.push(live(&first, 1).remove(1));
        assert_eq!(names(&of(&fewer, &there).delete), ["d-g-z1-v1"]);
    }
}
