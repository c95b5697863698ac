//! Reads the objects of a deployment, which plugins make as JSON. Their kinds and paths are written here only, because
//! a misspelt one would read as null. Pure.

use boson_manifest::labels;
use serde::de::DeserializeOwned;
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

pub fn kind(object: &Value) -> &str {
    object["kind"].as_str().unwrap_or_default()
}

/// Its API version.
pub fn api_version(object: &Value) -> &str {
    object["apiVersion"].as_str().unwrap_or_default()
}

/// Its spec, as a type; none where it has another shape.
pub fn spec<T: DeserializeOwned>(object: &Value) -> Option<T> {
    T::deserialize(object.get("spec")?).ok()
}

pub fn name(object: &Value) -> Option<&str> {
    object["metadata"]["name"].as_str()
}

pub fn label<'o>(object: &'o Value, key: &str) -> Option<&'o str> {
    object["metadata"]["labels"][key].as_str()
}

pub fn annotation<'o>(object: &'o Value, key: &str) -> Option<&'o str> {
    object["metadata"]["annotations"][key].as_str()
}

/// Whether both are the same object, in one or two states.
pub fn is_same(one: &Value, other: &Value) -> bool {
    kind(one) == kind(other) && name(one) == name(other)
}

/// Whether it is a service group.
pub fn is_stateful_set(object: &Value) -> bool {
    kind(object) == STATEFUL_SET
}

/// Whether it is an instance group: a service or an errand.
pub fn is_group(object: &Value) -> bool {
    [STATEFUL_SET, JOB].contains(&kind(object))
}

/// The name of its instance group, otherwise its own.
pub fn group(object: &Value) -> &str {
    let group = label(object, labels::INSTANCE_GROUP_NAME).or(name(object));
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
