//! What to write so that the cluster has the objects of a deployment, and nothing where it has them. Pure.
//!
//! An object is written where its digest is another than the one that the last write left in an annotation, or where [`crate::drift`] finds that
//! somebody changed what was written.

use crate::drift::{Drifted, Excess, Foreign, holds};
use boson_deployment::labels;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// Annotation: digest of the object as it was written.
pub(crate) const DIGEST: &str = "quarks.cloudfoundry.org/applied-digest";

/// Annotation of a QuarksJob: the strategy that the manifest asks for, whatever has become of it.
pub(crate) const TRIGGER: &str = "quarks.cloudfoundry.org/asked-trigger";

/// Kinds that stay when the manifest no longer asks for them: values of variables, and what holds data.
const KEPT: &[&str] = &["QuarksSecret", "PersistentVolumeClaim"];

/// What to do.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// To apply, in this order.
    pub apply: Vec<Value>,
    /// Those of them that were written as they are, and have changed since, or were changed on their way by admission.
    pub drifted: Vec<Drifted>,
    /// To remove from objects that stay: what others added to lists and maps of ours.
    pub excess: Vec<Excess>,
    /// Which of `apply` were not found among those of ours: where they stand in it. Somebody else may have such an object.
    pub new: Vec<usize>,
    /// To delete, by what is there.
    pub delete: Vec<Value>,
    /// To delete before it is applied, by what is there: Kubernetes lets nobody make the one of the other.
    pub replace: Vec<Value>,
}

/// `desired`: the objects of the deployment, complete but for the digest. `live`: what the cluster has of the same kinds under the deployment's
/// label, made by us.
pub(crate) fn plan(desired: Vec<Value>, live: &[Value]) -> Plan {
    let mut there: HashMap<Identity, &Value> = live.iter().map(|object| (identity(object), object)).collect();
    let mut plan = Plan::default();
    for mut object in desired {
        mark(&mut object);
        let found = there.remove(&identity(&object));
        keep_trigger(&mut object, found);
        match found {
            None => {
                plan.new.push(plan.apply.len());
                plan.apply.push(object);
            }
            Some(found) if is_other_service(found, &object) => {
                plan.replace.push(found.clone());
                plan.apply.push(object);
            }
            Some(found) => plan.compare(found, object),
        }
    }
    let mut gone: Vec<&Value> = there
        .into_values()
        .filter(|object| !KEPT.contains(&text(object, &["kind"])) && !is_going(object))
        .collect();
    gone.sort_by_key(|object| identity(object));
    plan.delete = gone.into_iter().cloned().collect();
    plan
}

/// A trigger moves on by itself (`once` becomes `done`) and by its user (`now`): it is only set where the manifest asks for another than before.
/// Written as it was read, and only if it still is: else an errand would run a second time.
fn keep_trigger(object: &mut Value, found: Option<&Value>) {
    if text(object, &["kind"]) != "QuarksJob" {
        return;
    }
    let asked = text(object, &["spec", "trigger", "strategy"]).to_string();
    if let Some(found) = found {
        if text(found, &["metadata", "annotations", TRIGGER]) == asked {
            let now = text(found, &["spec", "trigger", "strategy"]);
            set(object, &["spec", "trigger", "strategy"], now.into());
        }
        let version = text(found, &["metadata", "resourceVersion"]);
        set(object, &["metadata", "resourceVersion"], version.into());
    }
    set(object, &["metadata", "annotations", TRIGGER], asked.into());
}

// === impl Plan ===

impl Plan {
    /// What to do where the object is there.
    fn compare(&mut self, found: &Value, wanted: Value) {
        let foreign = Foreign::of(found, &wanted);
        if !foreign.additions.is_empty() && !is_going(found) {
            self.excess.push(Excess {
                live: found.clone(),
                additions: foreign.additions,
            });
        }
        if !foreign.changed && holds(found, &wanted) {
            return;
        }
        let digest = ["metadata", "annotations", DIGEST];
        if text(found, &digest) == text(&wanted, &digest) {
            self.drifted.push(Drifted {
                wanted: wanted.clone(),
                live: found.clone(),
            });
        }
        self.apply.push(wanted);
    }

    /// Objects that are about to be made.
    pub fn new_objects(&self) -> impl Iterator<Item = &Value> {
        self.new.iter().filter_map(|at| self.apply.get(*at))
    }

    /// What is there and has to go before this object is applied.
    pub fn replaced(&self, object: &Value) -> Option<&Value> {
        self.replace.iter().find(|old| identity(old) == identity(object))
    }
}

/// Marks an object as ours: labels, owner.
pub(crate) fn own(object: &mut Value, deployment: &str, owner: &Value) {
    // Claims outlive the deployment: they hold its data.
    if text(object, &["kind"]) != "PersistentVolumeClaim" {
        set(
            object,
            &["metadata", "ownerReferences"],
            Value::Array(vec![owner.clone()]),
        );
    }
    set(
        object,
        &["metadata", "labels", labels::DEPLOYMENT_NAME],
        deployment.into(),
    );
}

type Identity = (String, String, String);

fn identity(object: &Value) -> Identity {
    let name = text(object, &["metadata", "name"]);
    let group = text(object, &["apiVersion"])
        .rsplit_once('/')
        .map_or("", |(group, _)| group);
    (group.into(), text(object, &["kind"]).into(), name.into())
}

/// Is it being deleted?
pub(crate) fn is_going(object: &Value) -> bool {
    !text(object, &["metadata", "deletionTimestamp"]).is_empty()
}

fn text<'v>(object: &'v Value, path: &[&str]) -> &'v str {
    let found = path.iter().try_fold(object, |value, key| value.get(key));
    found.and_then(Value::as_str).unwrap_or_default()
}

/// The digest of the object goes into its annotations.
fn mark(object: &mut Value) {
    let digest = digest(object);
    set(object, &["metadata", "annotations", DIGEST], digest.into());
}

/// Of a value as it is written: 32 hexadecimal digits.
pub(crate) fn digest(value: &Value) -> String {
    hexadecimal(&Sha256::digest(value.to_string()))
}

/// The first of these bytes: 32 digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Is the object owned by the one with this UID?
pub(crate) fn is_owned(object: &Value, uid: &str) -> bool {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners.is_some_and(|owners| owners.iter().any(|owner| owner["uid"] == uid))
}

/// The same for an object of a known kind.
pub(crate) fn has_owner(object: &impl Resource, uid: &str) -> bool {
    names_owner(object.meta(), uid)
}

/// The same for what is around an object.
pub(crate) fn names_owner(meta: &ObjectMeta, uid: &str) -> bool {
    let owners = meta.owner_references.iter().flatten();
    owners.into_iter().any(|owner| owner.uid == uid)
}

/// A Service gets an address when it is made, or never. Applied, the one would be refused, and the other do nothing: what nobody asks for stays.
fn is_other_service(there: &Value, wanted: &Value) -> bool {
    let is_headless = |service: &Value| text(service, &["spec", "clusterIP"]) == "None";
    text(wanted, &["kind"]) == "Service" && is_headless(there) != is_headless(wanted)
}

/// Sets a member of nested objects; what stands in the way and is none gives place.
fn set(value: &mut Value, path: &[&str], what: Value) {
    let Some((first, rest)) = path.split_first() else {
        *value = what;
        return;
    };
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    if let Value::Object(map) = value {
        set(map.entry(*first).or_insert(Value::Null), rest, what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn service(port: u32) -> Value {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [{"port": port}], "selector": {}}})
    }

    /// As the server would give it back.
    fn stored(mut object: Value) -> Value {
        mark(&mut object);
        object["metadata"]["uid"] = "1".into();
        object["spec"]["clusterIP"] = "10.0.0.1".into();
        object["spec"]["ports"][0]["protocol"] = "TCP".into();
        if let Value::Object(spec) = &mut object["spec"] {
            spec.remove("selector");
        }
        object
    }

    #[test]
    fn what_is_there_is_not_written_again() {
        let plan = plan(vec![service(80)], &[stored(service(80))]);
        assert!(plan.apply.is_empty() && plan.delete.is_empty(), "{plan:?}");
    }

    #[test]
    fn what_is_missing_has_changed_or_was_changed_is_written() {
        for (live, new) in [(vec![], 1), (vec![stored(service(81))], 0)] {
            let plan = plan(vec![service(80)], &live);
            assert_eq!((plan.apply.len(), plan.new_objects().count()), (1, new));
            assert!(plan.delete.is_empty());
        }
        let mut meddled = stored(service(80));
        meddled["spec"]["ports"][0]["port"] = 9.into();
        assert_eq!(plan(vec![service(80)], &[meddled]).apply.len(), 1);
    }

    #[test]
    fn a_service_that_gets_or_loses_its_address_is_made_again() {
        let mut headless = service(80);
        headless["spec"]["clusterIP"] = "None".into();
        let stored_headless = {
            let mut stored = stored(headless.clone());
            stored["spec"]["clusterIP"] = "None".into();
            stored
        };
        for (wanted, there) in [
            (headless.clone(), stored(service(80))),
            (service(80), stored_headless.clone()),
        ] {
            let plan = plan(vec![wanted], std::slice::from_ref(&there));
            assert_eq!((plan.apply.len(), plan.new.len(), plan.delete.len()), (1, 0, 0));
            assert_eq!(plan.replaced(&plan.apply[0]), Some(&there));
        }
        let plan = plan(vec![headless], &[stored_headless]);
        assert!(plan.apply.is_empty() && plan.replace.is_empty());
    }

    #[test]
    fn what_nobody_asks_for_any_more_goes_but_what_holds_data_stays() {
        let of = |kind: &str| {
            let mut object = stored(service(80));
            object["kind"] = kind.into();
            object
        };
        let mut going = of("Job");
        going["metadata"]["deletionTimestamp"] = "now".into();
        let live = [of("Service"), of("QuarksSecret"), of("PersistentVolumeClaim"), going];
        let plan = plan(vec![], &live);
        assert_eq!(
            plan.delete
                .iter()
                .map(|object| text(object, &["kind"]))
                .collect::<Vec<_>>(),
            ["Service"]
        );
    }

    #[test]
    fn a_trigger_that_has_moved_on_stays_until_the_manifest_asks_for_another() {
        let job = |strategy: &str| {
            json!({"apiVersion": labels::API_VERSION, "kind": "QuarksJob", "metadata": {"name": "a"},
                "spec": {"trigger": {"strategy": strategy}, "template": {}}})
        };
        let mut live = plan(vec![job("once")], &[]).apply.remove(0);
        live["metadata"]["resourceVersion"] = "7".into();
        live["spec"]["trigger"]["strategy"] = "done".into();
        assert!(plan(vec![job("once")], std::slice::from_ref(&live)).apply.is_empty());
        let mut changed = job("once");
        changed["spec"]["template"] = json!({"x": 1});
        let written = plan(vec![changed], std::slice::from_ref(&live)).apply.remove(0);
        assert_eq!(written["spec"]["trigger"]["strategy"], "done");
        assert_eq!(
            written["metadata"]["resourceVersion"], "7",
            "else it could take back a trigger"
        );
        let asked = plan(vec![job("manual")], &[live]).apply.remove(0);
        assert_eq!(asked["spec"]["trigger"]["strategy"], "manual");
    }

    #[test]
    fn claims_have_no_owner() {
        for (kind, owned) in [("Service", true), ("PersistentVolumeClaim", false)] {
            let mut object = json!({"kind": kind});
            own(&mut object, "d", &json!({"uid": "u"}));
            assert_eq!(object["metadata"].get("ownerReferences").is_some(), owned);
            assert_eq!(object["metadata"]["labels"][labels::DEPLOYMENT_NAME], "d");
        }
    }
}
