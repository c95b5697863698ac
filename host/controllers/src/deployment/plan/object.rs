//! Reads the objects of a deployment, which plugins make as JSON. Kinds of the operator and paths to pods are
//! written here only, because a misspelt one would read as null. Pure.

use boson_cluster::client::AnyObject;
use boson_manifest::labels;
use serde_json::Value;

/// Kind of a service group.
pub const STATEFUL_SET: &str = "QuarksStatefulSet";
/// Kind of an errand.
pub const JOB: &str = "QuarksJob";
/// Kind of a generated variable.
pub const SECRET: &str = "QuarksSecret";
/// Where a QuarksStatefulSet and a QuarksJob have their pods.
pub const PODS: &str = "/spec/template/spec/template/spec";
/// The volume of the resolved document.
pub const RESOLVED: &str = "ig-resolved";

/// Whether both are the same object, in one or two states.
pub fn is_same(one: &Value, other: &Value) -> bool {
    one.kind() == other.kind() && one.name() == other.name()
}

pub fn is_stateful_set(object: &Value) -> bool {
    object.kind() == Some(STATEFUL_SET)
}

/// Whether it is an instance group: a service or an errand.
pub fn is_group(object: &Value) -> bool {
    [Some(STATEFUL_SET), Some(JOB)].contains(&object.kind())
}

/// The name of its instance group, otherwise its own.
pub fn group(object: &Value) -> &str {
    let group = object.label(labels::INSTANCE_GROUP_NAME).or(object.name());
    group.unwrap_or_default()
}

/// A list of its pods' containers: `initContainers` or `containers`.
pub fn containers<'o>(object: &'o Value, list: &str) -> impl Iterator<Item = &'o Value> {
    let pods = object.pointer(PODS);
    pods.and_then(|pods| pods[list].as_array()).into_iter().flatten()
}

/// The ConfigMap in a volume of its pods.
pub fn config_map<'o>(object: &'o Value, volume: &str) -> Option<&'o str> {
    self::volume(object, volume)?["configMap"]["name"].as_str()
}

/// The Secret with the resolved document that its pods mount.
pub fn resolved(object: &Value) -> Option<&str> {
    volume(object, RESOLVED)?["secret"]["secretName"].as_str()
}

fn volume<'o>(object: &'o Value, name: &str) -> Option<&'o Value> {
    let volumes = object.pointer(PODS)?["volumes"].as_array()?;
    volumes.iter().find(|volume| volume["name"] == name)
}
