//! Converts a QuarksStatefulSet to StatefulSets, one for each zone.

use super::zone::{NODE_LABEL, Zone};
use crate::Diagnostic;
use crate::object::{annotations, map, merge, metadata, name, namespace, new_object, object_error, remove, set_map};
use crate::plain::codes;
use boson_document::{Tree, json};
use boson_manifest::syntax::is_label_value;
use boson_manifest::{labels, names};
use std::collections::HashSet;

/// Whether the update block of a QuarksStatefulSet demands that an old pod is deleted before its successor is created.
pub fn is_delete_create(set: &Tree) -> bool {
    update_block(set).and_then(|rules| rules.str(labels::VM_STRATEGY)) == Some(labels::DELETE_CREATE)
}

/// The annotations with the update block of a QuarksStatefulSet.
pub(super) fn update_block(set: &Tree) -> Option<&Tree> {
    set.find(&["spec", "template", "metadata", "annotations"])
}

/// The StatefulSets of a QuarksStatefulSet at one version: one for each zone, or a single one without zones.
///
/// Names are `<name>[-z<zone, from 0>]-v<version>`, cut to the length that Kubernetes allows.
///
/// # Errors
/// No template, or zones that are invalid label values or occur twice.
pub fn stateful_sets(set: &Tree, version: u32) -> Result<Vec<Tree>, Diagnostic> {
    let spec = set.get("spec").unwrap_or(&Tree::Null);
    let template = spec
        .get("template")
        .filter(|template| template.get("spec").and_then(|s| s.get("template")).is_some());
    let template = template
        .ok_or_else(|| object_error(set, codes::PLAIN_INVALID_OBJECT, "it has no template of a StatefulSet"))?;
    let zones = zones(set, spec)?;
    let one = |zone: &Zone<'_>| stateful_set(set, spec, template, zone, version);
    Ok(zones.iter().map(one).collect())
}

fn zones<'t>(set: &Tree, spec: &'t Tree) -> Result<Vec<Zone<'t>>, Diagnostic> {
    let names = spec.items("zones");
    let all = spec.find(&["template", "spec", "replicas"]);
    let all = all.and_then(Tree::as_i64).unwrap_or(1);
    let each = zone_replicas(set, spec, names.len())?;
    let max_replicas = each.as_ref().and_then(|each| each.iter().copied().max()).unwrap_or(all);
    if names.is_empty() {
        return Ok(vec![Zone {
            index: 0,
            name: None,
            value: None,
            count: 1,
            replicas: all,
            max_replicas,
        }]);
    }
    let invalid = |why: &str| object_error(set, codes::PLAIN_INVALID_ZONE, why);
    let count = u32::try_from(names.len()).unwrap_or(u32::MAX);
    let mut distinct = HashSet::new();
    (0..)
        .zip(names)
        .map(|(index, name)| {
            let name = name.as_str().filter(|name| is_label_value(name) && !name.is_empty());
            let name = name.ok_or_else(|| invalid("a zone's name is not a valid label value"))?;
            if !distinct.insert(name) {
                return Err(invalid(&format!("the zone '{name}' occurs twice")));
            }
            let value = spec.get("zoneValues").and_then(|values| values.str(name));
            if value.is_some_and(|value| !is_label_value(value)) {
                let what = format!("the value of zone '{name}' is not a valid label value");
                return Err(invalid(&what));
            }
            Ok(Zone {
                index,
                name: Some(name),
                value: value.or(Some(name)),
                count,
                replicas: each
                    .as_ref()
                    .and_then(|each| each.get(index as usize))
                    .copied()
                    .unwrap_or(all),
                max_replicas,
            })
        })
        .collect()
}

/// Replicas of each zone, if they are given separately.
fn zone_replicas(set: &Tree, spec: &Tree, zones: usize) -> Result<Option<Vec<i64>>, Diagnostic> {
    let given = spec.items("zoneReplicas");
    if given.is_empty() {
        return Ok(None);
    }
    let count = |count: &Tree| count.as_i64().filter(|count| *count >= 0);
    let counts: Option<Vec<i64>> = given.iter().map(count).collect();
    let counts = counts.filter(|counts| counts.len() == zones && !spec.items("zones").is_empty());
    let why = "'zoneReplicas' does not have a number for each of its zones";
    counts
        .map(Some)
        .ok_or_else(|| object_error(set, codes::PLAIN_INVALID_ZONE, why))
}

fn stateful_set(set: &Tree, spec: &Tree, template: &Tree, zone: &Zone<'_>, version: u32) -> Tree {
    let ending = format!("{}-v{version}", zone.ending());
    let name = names::cut_again(name(set), &ending, names::MAX_STATEFUL_SET_LENGTH);
    let own = zone.labels().with(labels::STATEFUL_SET_NAME, name.as_str());
    let labels = merge(merge(map(set, "labels"), &map(template, "labels")), &own);
    let mut annotations = merge(annotations(set), &map(template, "annotations"));
    // It is about the rollout of the group.
    remove(&mut annotations, labels::WAIVED_RULE);
    annotations.set(labels::VERSION, version.to_string());
    if zone.name.is_some() {
        annotations.set(labels::ZONES, json::to_text(&Tree::from(spec.items("zones").to_vec())));
    }
    let inner = template.get("spec").unwrap_or(&Tree::Null);
    let metadata = metadata(&name, namespace(set), labels, annotations);
    new_object("apps/v1", "StatefulSet", metadata).with("spec", stateful_set_spec(set, spec, inner, zone, own))
}

fn stateful_set_spec(set: &Tree, spec: &Tree, inner: &Tree, zone: &Zone<'_>, own: Tree) -> Tree {
    let inject_replicas = spec.get("injectReplicasEnv").and_then(Tree::as_bool).unwrap_or(true);
    let mut pods = inner.get("template").cloned().unwrap_or_default();
    // Not the other labels of the pods: they may change, and a selector cannot.
    let selector = [labels::AZ_INDEX, labels::STATEFUL_SET_NAME].map(|key| (key, own.get(key).cloned()));
    let selector: Tree = selector.into_iter().collect();
    let labels = merge(map(&pods, "labels"), &own);
    set_map(&mut pods, "labels", labels);
    if let Some(pod) = pods.get_mut("spec") {
        zone.set_environment(pod, inject_replicas);
        zone.set_affinity(pod, spec.str("zoneNodeLabel").unwrap_or(NODE_LABEL));
    }
    let mut result = inner.clone();
    result
        .set("replicas", zone.replicas)
        .set("selector", Tree::object().with("matchLabels", selector))
        .set("template", pods);
    for (key, default) in defaults(set) {
        if result.get(key).is_none_or(Tree::is_null) {
            result.set(key, default);
        }
    }
    result
}

/// Defaults for fields that a template may omit.
fn defaults(set: &Tree) -> [(&'static str, Tree); 3] {
    [
        ("serviceName", name(set).into()),
        // In order, a pod that waits for its peers, or one with a broken template, would keep all others from starting.
        ("podManagementPolicy", "Parallel".into()),
        ("updateStrategy", Tree::object().with("type", "RollingUpdate")),
    ]
}
