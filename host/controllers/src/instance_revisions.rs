//! What tells whether a change replaces the pod of an instance: the revision of its files, and the shape of its group's
//! pods. Both stand in annotations of the pod template, so that each pod has those that it was made from. Pure.
//!
//! A revision is an opaque name. Two pods of an instance with the same revision render the same files, whatever
//! versions of Secrets they mount. A digest of the files would tell the same, but who may read pods must not be able to
//! test guesses of a password against it.

use boson_cluster::objects;
use boson_manifest::{labels, pod_contract};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// By zone, in the order of the instances' ordinals. Without zones, the name of the zone is empty.
pub(crate) type ByInstance = BTreeMap<String, Vec<String>>;

/// Where the spec of a QuarksStatefulSet has the metadata of its pods.
const POD_METADATA: &str = "/template/spec/template/metadata";
/// Where it has the volumes of its pods.
const VOLUMES: &str = "/template/spec/template/spec/volumes";
/// Where it has their containers.
const CONTAINERS: [&str; 2] = [
    "/template/spec/template/spec/initContainers",
    "/template/spec/template/spec/containers",
];
/// Names of versions of documents in volumes, which differ without another shape: the files that are rendered from them
/// have revisions.
const DOCUMENTS: [&str; 2] = ["/secret/secretName", "/configMap/name"];
/// The volumes with these documents.
const DOCUMENT_VOLUMES: [&str; 2] = ["ig-resolved", "job-sources"];

/// Reads an annotation.
pub(crate) fn read(text: &str) -> Option<ByInstance> {
    serde_json::from_str(text).ok()
}

/// Reads the revision of one instance. Names of zones and revisions have no characters that JSON escapes.
pub(crate) fn of_instance<'t>(text: &'t str, zone: &str, ordinal: usize) -> Option<&'t str> {
    let all: BTreeMap<&str, Vec<&str>> = serde_json::from_str(text).ok()?;
    all.get(zone)?.get(ordinal).copied()
}

/// The text of an annotation.
pub(crate) fn text(all: &ByInstance) -> String {
    // Texts by text are JSON.
    serde_json::to_string(all).unwrap_or_default()
}

/// Whether the instances that both have are of the same revisions.
pub(crate) fn agree(one: &ByInstance, other: &ByInstance) -> bool {
    let both = one.iter().filter_map(|(zone, of)| Some((of, other.get(zone)?)));
    both.flat_map(|(one, other)| one.iter().zip(other))
        .all(|(one, other)| one == other)
}

/// The revisions in the spec of a QuarksStatefulSet; none if a user wrote it.
pub(crate) fn of_spec(spec: &Value) -> Option<ByInstance> {
    read(
        spec.pointer(POD_METADATA)?
            .get("annotations")?
            .get(labels::INSTANCE_REVISIONS)?
            .as_str()?,
    )
}

/// Removes from a QuarksStatefulSet what operators of before there were revisions did not write.
pub(crate) fn remove(object: &mut Value) {
    let pods = format!("/spec{POD_METADATA}");
    for at in ["/metadata", &pods] {
        let Some(metadata) = object.pointer_mut(at).and_then(Value::as_object_mut) else {
            continue;
        };
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            for key in [labels::INSTANCE_REVISIONS, labels::RENDERED_AS, labels::UPDATE_AFTER] {
                annotations.shift_remove(key);
            }
            if annotations.is_empty() {
                metadata.shift_remove("annotations");
            }
        }
    }
}

/// Removes from the spec of a QuarksStatefulSet which of its instances are to run.
pub(crate) fn remove_scale(spec: &mut Value) {
    if let Some(members) = spec.as_object_mut() {
        for key in ["zoneReplicas", "paused", "instances"] {
            members.shift_remove(key);
        }
    }
    if let Some(inner) = spec.pointer_mut("/template/spec").and_then(Value::as_object_mut) {
        inner.shift_remove("replicas");
    }
}

/// The digest of what replaces all pods of a group if it differs, in the spec of a QuarksStatefulSet with revisions.
/// Numbers of pods, sizes of disks, tags and labels, the update block, versions of documents, states of instances, and
/// whether it is paused do not count.
pub(crate) fn shape(mut spec: Value) -> String {
    remove_scale(&mut spec);
    if let Some(template) = spec.get_mut("template").and_then(Value::as_object_mut) {
        template.shift_remove("metadata");
    }
    let claims = spec.pointer_mut("/template/spec/volumeClaimTemplates");
    for claim in claims.and_then(Value::as_array_mut).into_iter().flatten() {
        // Claims are enlarged without a restart.
        *claim = claim["metadata"]["name"].clone();
    }
    spec.pointer_mut(POD_METADATA).map(without_tags);
    for name in documents(&spec) {
        replace(&mut spec, &name);
    }
    objects::digest(&spec)
}

/// The same for the pods of each zone, in the order of the zones; one without zones. It is the digest of a group in
/// that zone alone, so zones that come and go at the end do not count.
pub(crate) fn shapes(spec: &Value) -> Vec<String> {
    let zones = spec["zones"].as_array().map_or(&[][..], Vec::as_slice);
    let mut spec = spec.clone();
    for at in CONTAINERS {
        let containers = spec.pointer_mut(at).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            if let Some(env) = container.get_mut("env").and_then(Value::as_array_mut) {
                without_az_count(env, zones.len());
            }
        }
    }
    if zones.is_empty() {
        return vec![shape(spec)];
    }
    let in_zone = |zone: &Value| {
        let mut spec = spec.clone();
        spec["zones"] = json!([zone]);
        spec["zoneValues"] = spec["zoneValues"][zone.as_str().unwrap_or_default()].clone();
        shape(spec)
    };
    zones.iter().map(in_zone).collect()
}

/// Removes the number of zones, and the pod contract version that depends on it, from a container of the operator: pods
/// keep them. Any other container that has the variable gets the number.
fn without_az_count(env: &mut Vec<Value>, zones: usize) {
    if env.iter().any(|one| one["name"] == pod_contract::VERSION_VARIABLE) {
        let removed = [pod_contract::VERSION_VARIABLE, pod_contract::AZ_COUNT_VARIABLE];
        env.retain(|one| !removed.iter().any(|name| one["name"] == *name));
    } else if let Some(count) = env
        .iter_mut()
        .find(|one| one["name"] == pod_contract::AZ_COUNT_VARIABLE)
    {
        *count = zones.into();
    }
}

/// Removes what manifests can set as tags and labels. The operator's own are for something.
fn without_tags(metadata: &mut Value) {
    let Some(metadata) = metadata.as_object_mut() else {
        return;
    };
    for member in ["labels", "annotations"] {
        if let Some(all) = metadata.get_mut(member).and_then(Value::as_object_mut) {
            all.retain(|key, _| key.contains(labels::GROUP) && !is_revision(key));
            if all.is_empty() {
                metadata.shift_remove(member);
            }
        }
    }
}

fn is_revision(key: &str) -> bool {
    [labels::INSTANCE_REVISIONS, labels::RENDERED_AS].contains(&key)
}

/// The names of the versions that pods mount.
fn documents(spec: &Value) -> Vec<String> {
    let volumes = spec.pointer(VOLUMES).and_then(Value::as_array).into_iter().flatten();
    let mounted = volumes.filter(|volume| DOCUMENT_VOLUMES.iter().any(|name| volume["name"] == **name));
    let names = mounted.flat_map(|volume| DOCUMENTS.iter().filter_map(|at| volume.pointer(at)?.as_str()));
    names.map(str::to_string).collect()
}

/// Empties each text that is this name.
fn replace(value: &mut Value, name: &str) {
    match value {
        Value::String(text) if text == name => text.clear(),
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, name)),
        Value::Object(members) => members.values_mut().for_each(|member| replace(member, name)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revisions(zones: &[(&str, &[&str])]) -> ByInstance {
        let zone = |(name, of): &(&str, &[&str])| ((*name).to_string(), of.iter().map(ToString::to_string).collect());
        zones.iter().map(zone).collect()
    }

    #[test]
    fn only_instances_that_both_have_are_compared() {
        let of = |zones| revisions(zones);
        let two = of(&[("a", &["1", "1"]), ("b", &["1"])]);
        assert!(agree(&two, &of(&[("a", &["1", "1", "7"]), ("c", &["9"])])));
        assert!(agree(&two, &of(&[("a", &["1"])])));
        assert!(!agree(&two, &of(&[("a", &["1", "2"])])));
        let written = text(&two);
        assert_eq!(
            (of_instance(&written, "a", 1), of_instance(&written, "c", 0)),
            (Some("1"), None)
        );
        assert_eq!((read(&written), read("x")), (Some(two), None));
    }

    fn spec() -> Value {
        json!({
            "zones": ["a"], "zoneReplicas": [3],
            "template": {
                "metadata": {"annotations": {labels::CANARIES: "1"}, "labels": {"tier": "web"}},
                "spec": {
                    "replicas": 3,
                    "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"size": "1Gi"}}],
                    "template": {
                        "metadata": {"labels": {"tier": "web", labels::INSTANCE_GROUP_NAME: "g"},
                            "annotations": {labels::INSTANCE_REVISIONS: "{\"a\":[\"1\"]}", labels::RENDERED_AS: "d.bpm.g-v1"}},
                        "spec": {
                            "initContainers": [{"env": [{"valueFrom": {"secretKeyRef": {"name": "d.ig-resolved.g-v1"}}}]}],
                            "containers": [{"image": "i:1"}],
                            "volumes": [{"name": "ig-resolved", "secret": {"secretName": "d.ig-resolved.g-v1"}},
                                {"name": "job-sources", "configMap": {"name": "d.job-sources.g-x"}},
                                {"name": "other", "secret": {"secretName": "mine-v1"}}]
                        }
                    }
                }
            }
        })
    }

    /// With this text in place of another one.
    fn with(from: &str, to: &str) -> Value {
        let text = spec().to_string();
        assert!(text.contains(from), "{from}");
        serde_json::from_str(&text.replace(from, to)).unwrap()
    }

    #[test]
    fn what_restarts_no_instance_is_no_part_of_the_shape() {
        let first = shape(spec());
        for (from, to) in [
            ("ig-resolved.g-v1", "ig-resolved.g-v2"),
            ("job-sources.g-x", "job-sources.g-y"),
            ("bpm.g-v1", "bpm.g-v2"),
            (r#"[\"1\"]"#, r#"[\"1\",\"2\"]"#),
            (r#""replicas":3"#, r#""replicas":4"#),
            (r#""zoneReplicas":[3]"#, r#""zoneReplicas":[4]"#),
            (r#""tier":"web""#, r#""tier":"db""#),
            ("1Gi", "2Gi"),
            (labels::CANARIES, labels::MAX_IN_FLIGHT),
        ] {
            assert_eq!(shape(with(from, to)), first, "{from}");
        }
        for (from, to) in [
            ("i:1", "i:2"),
            ("mine-v1", "mine-v2"),
            (r#""name":"data""#, r#""name":"more""#),
            (r#""zones":["a"]"#, r#""zones":["a","b"]"#),
            (labels::INSTANCE_GROUP_NAME, labels::RESTART),
        ] {
            assert_ne!(shape(with(from, to)), first, "{from}");
        }
    }

    #[test]
    fn zones_at_the_end_are_no_part_of_the_shape_in_a_zone() {
        let of = |zones: &[&str], values: Value, contract: &str, name: &str| {
            let mut spec = spec();
            (spec["zones"], spec["zoneValues"]) = (json!(zones), values);
            let count = json!({"name": pod_contract::AZ_COUNT_VARIABLE, "value": zones.len().to_string()});
            let pod = spec.pointer_mut("/template/spec/template/spec").unwrap();
            pod["initContainers"][0]["env"] = json!([{"name": name, "value": contract}, count]);
            shapes(&spec)
        };
        let two = of(&["a", "b"], json!({"b": "x"}), "5", pod_contract::VERSION_VARIABLE);
        let three = of(
            &["a", "b", "c"],
            json!({"b": "x", "c": "y"}),
            "5",
            pod_contract::VERSION_VARIABLE,
        );
        assert_eq!((&three[..2], three.len()), (&two[..], 3));
        assert_eq!(of(&["a"], json!({}), "2", pod_contract::VERSION_VARIABLE), two[..1]);
        let moved = of(&["b", "a"], json!({"b": "y"}), "5", pod_contract::VERSION_VARIABLE);
        assert!(
            two.iter().all(|one| !moved.contains(one) || *one == two[0]),
            "other nodes"
        );
        assert_ne!(moved[0], two[0], "another zone at this place");
        // A container of a plugin gets the number.
        let given = |zones: &[&str]| of(zones, json!({}), "1", "PLUGIN")[0].clone();
        assert_ne!(given(&["a"]), given(&["a", "b"]));
        let mut without = spec();
        without["zones"] = json!([]);
        assert_eq!(shapes(&without).len(), 1);
        assert_ne!(shapes(&without), shapes(&spec()));
    }

    #[test]
    fn what_an_earlier_operator_did_not_write_is_removed() {
        let mut object = json!({"metadata": {"annotations": {labels::UPDATE_AFTER: "[]", "a": "b"}}, "spec": spec()});
        assert_eq!(of_spec(&object["spec"]), Some(revisions(&[("a", &["1"])])));
        remove(&mut object);
        assert_eq!(of_spec(&object["spec"]), None);
        assert_eq!(object["metadata"], json!({"annotations": {"a": "b"}}));
        assert_eq!(object["spec"].pointer(POD_METADATA).unwrap().get("annotations"), None);
    }
}
