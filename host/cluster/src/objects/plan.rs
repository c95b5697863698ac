//! Plans the writes for the objects of a deployment. Pure.
//!
//! An object is written if its digest differs from the one that the last write stored in an annotation, or if
//! [`super::drift`] finds changes by others.

use super::drift::{AddedByOthers, Drifted, Foreign, holds};
use crate::client::AnyObject;
use boson_api::QuarksJob;
use boson_api::job::Strategy;
use boson_manifest::labels;
use data_encoding::HEXLOWER;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::{Resource, ResourceExt};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// Annotation: digest of the object as it was written.
pub const DIGEST: &str = "quarks.cloudfoundry.org/applied-digest";

/// Annotation of a QuarksJob: the strategy from the manifest, even if the trigger has changed since.
pub const TRIGGER: &str = "quarks.cloudfoundry.org/asked-trigger";

/// Kinds that are retained when the manifest no longer has them: values of variables, and data.
const KEPT_KINDS: &[&str] = &["QuarksSecret", CLAIM_KIND];
const CLAIM_KIND: &str = "PersistentVolumeClaim";
const STRATEGY_POINTER: &str = "/spec/trigger/strategy";
/// The IP of a Service; `None` if it is headless.
const CLUSTER_IP_POINTER: &str = "/spec/clusterIP";

#[derive(Debug, Default)]
pub struct Plan {
    /// To apply, in this order.
    pub apply: Vec<Value>,
    /// Those of them that were written before, and then changed by others or by admission.
    pub drifted: Vec<Drifted>,
    /// Additions by others to our lists and maps, to remove.
    pub additions: Vec<AddedByOthers>,
    /// Indices of the objects in `apply` that this deployment does not have yet. An object of another owner may exist.
    pub new: Vec<usize>,
    pub delete: Vec<Value>,
    /// Live objects to delete before the new ones are applied, because the change is not possible in place.
    pub replace: Vec<Value>,
}

/// `desired`: the objects of the deployment, without digest. `live`: our objects of the same kinds with the label of
/// the deployment.
pub fn plan(desired: Vec<Value>, live: &[Value]) -> Plan {
    let mut there: HashMap<Key, &Value> = live.iter().map(|object| (key(object), object)).collect();
    let mut plan = Plan::default();
    for mut object in desired {
        mark(&mut object);
        let found = there.remove(&key(&object));
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
    let mut unwanted: Vec<&Value> = there
        .into_values()
        .filter(|object| !object.kind().is_some_and(|kind| KEPT_KINDS.contains(&kind)) && !object.is_going())
        .collect();
    unwanted.sort_by_key(|object| key(object));
    plan.delete = unwanted.into_iter().cloned().collect();
    plan
}

/// A trigger changes automatically (`once` becomes `done`) and by its user (`now`), so it is set only if the manifest
/// has changed it. Otherwise the present value is written, with the resource version: else an errand might run twice.
fn keep_trigger(object: &mut Value, found: Option<&Value>) {
    if object.kind() != Some("QuarksJob") {
        return;
    }
    let asked = text(object, STRATEGY_POINTER).map(str::to_string);
    if let Some(found) = found {
        if found.annotation(TRIGGER) == asked.as_deref()
            && let (Some(now), Some(strategy)) = (found.pointer(STRATEGY_POINTER), object.pointer_mut(STRATEGY_POINTER))
        {
            strategy.clone_from(now);
        }
        object.set_resource_version(found.resource_version());
    }
    object.set_annotation(TRIGGER, asked.as_deref());
}

/// Whether only a user starts an errand: by the annotation, because the trigger strategy itself changes during a run.
pub fn is_manual(errand: &QuarksJob) -> bool {
    match errand.annotations().get(TRIGGER) {
        Some(asked) => asked == "manual",
        None => matches!(
            errand.spec.trigger.strategy,
            Strategy::Manual | Strategy::Now | Strategy::Changed
        ),
    }
}

// === impl Plan ===

impl Plan {
    fn compare(&mut self, found: &Value, wanted: Value) {
        let foreign = Foreign::of(found, &wanted);
        if !foreign.additions.is_empty() && !found.is_going() {
            self.additions.push(AddedByOthers {
                live: found.clone(),
                additions: foreign.additions,
            });
        }
        if !foreign.changed && holds(found, &wanted) {
            return;
        }
        if found.annotation(DIGEST) == wanted.annotation(DIGEST) {
            self.drifted.push(Drifted {
                wanted: wanted.clone(),
                live: found.clone(),
            });
        }
        self.apply.push(wanted);
    }

    pub fn new_objects(&self) -> impl Iterator<Item = &Value> {
        self.new.iter().filter_map(|at| self.apply.get(*at))
    }

    /// The live object to delete before this one is applied.
    pub fn replaced(&self, object: &Value) -> Option<&Value> {
        self.replace.iter().find(|old| key(old) == key(object))
    }
}

/// Marks an object as ours with labels and owner reference.
pub fn own(object: &mut Value, deployment: &str, owner: &OwnerReference) {
    // Claims outlive the deployment: they hold its data.
    if object.kind() != Some(CLAIM_KIND) {
        object.set_owner(owner);
    }
    object.set_label(labels::DEPLOYMENT_NAME, Some(deployment));
}

#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Key {
    group: Option<String>,
    kind: Option<String>,
    name: Option<String>,
}

fn key(object: &Value) -> Key {
    let group = object.api_version().and_then(|version| version.rsplit_once('/'));
    Key {
        group: group.map(|(group, _)| group.into()),
        kind: object.kind().map(str::to_string),
        name: object.name().map(str::to_string),
    }
}

fn text<'v>(object: &'v Value, pointer: &str) -> Option<&'v str> {
    object.pointer(pointer)?.as_str()
}

/// Stores the digest of the object in its annotations.
fn mark(object: &mut Value) {
    let digest = digest(object);
    object.set_annotation(DIGEST, Some(&digest));
}

/// The digest of a value: 32 hexadecimal digits.
pub fn digest(value: &Value) -> String {
    short_hexadecimal(&Sha256::digest(value.to_string()))
}

/// The first 16 of these bytes, as 32 digits.
pub fn short_hexadecimal(bytes: &[u8]) -> String {
    HEXLOWER.encode(bytes.get(..16).unwrap_or(bytes))
}

/// Whether the object with this UID is one of the owners of an object of a known kind.
pub fn has_owner(object: &impl Resource, uid: &str) -> bool {
    names_owner(object.meta(), uid)
}

/// The same for the metadata of an object.
pub fn names_owner(meta: &ObjectMeta, uid: &str) -> bool {
    let owners = meta.owner_references.iter().flatten();
    owners.into_iter().any(|owner| owner.uid == uid)
}

/// Whether a Service must be created again: it gets a cluster IP only on creation, and an apply cannot add or remove
/// it.
fn is_other_service(there: &Value, wanted: &Value) -> bool {
    let is_headless = |service: &Value| text(service, CLUSTER_IP_POINTER) == Some("None");
    wanted.kind() == Some("Service") && is_headless(there) != is_headless(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn service(port: u32) -> Value {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [{"port": port}], "selector": {}}})
    }

    /// The object as the server would return it.
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
    fn an_existing_object_is_not_written_again() {
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
    fn unwanted_objects_are_deleted_but_data_is_retained() {
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
            plan.delete.iter().map(|object| object.kind()).collect::<Vec<_>>(),
            [Some("Service")]
        );
    }

    #[test]
    fn a_changed_trigger_stays_until_the_manifest_changes_it() {
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
            "else it could reset a trigger"
        );
        let asked = plan(vec![job("manual")], &[live]).apply.remove(0);
        assert_eq!(asked["spec"]["trigger"]["strategy"], "manual");
    }

    #[test]
    fn claims_have_no_owner() {
        for (kind, owned) in [("Service", true), ("PersistentVolumeClaim", false)] {
            let mut object = json!({"kind": kind});
            own(&mut object, "d", &OwnerReference::default());
            assert_eq!(object["metadata"].get("ownerReferences").is_some(), owned);
            assert_eq!(object["metadata"]["labels"][labels::DEPLOYMENT_NAME], "d");
        }
    }
}
