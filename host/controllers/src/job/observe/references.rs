//! The ConfigMaps and Secrets that the template of a Job refers to, and the template with the newest versions of
//! versioned Secrets. Pure.

use boson_api::word;
use boson_cluster::objects::versioned;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The kind of a referenced object, with its name in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(in crate::job) enum Kind {
    ConfigMap,
    Secret,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Reference {
    pub kind: Kind,
    pub name: String,
    /// Whether the pod starts without it.
    pub optional: bool,
}

/// All references of a template.
pub(super) fn references(template: &Map<String, Value>) -> BTreeSet<Reference> {
    let mut found = BTreeSet::new();
    let mut template = template.clone();
    visit_references(&mut template, &mut |kind, name, optional| {
        let name = name.to_string();
        found.insert(Reference { kind, name, optional });
    });
    found
}

/// The template with some Secrets renamed.
pub(super) fn with_newest_secrets(
    template: &Map<String, Value>,
    newest: &BTreeMap<String, String>,
) -> Map<String, Value> {
    let mut template = template.clone();
    visit_references(&mut template, &mut |kind, name, _| {
        if let Some(new) = newest.get(name.as_str()).filter(|_| kind == Kind::Secret) {
            name.clone_from(new);
        }
    });
    template
}

/// The name of the newest version, for each older one. `there`: the names of all versioned Secrets.
pub(super) fn newest_versions<'n>(
    wanted: &BTreeSet<Reference>,
    there: impl Iterator<Item = &'n str>,
) -> BTreeMap<String, String> {
    let mut greatest: BTreeMap<&str, u32> = BTreeMap::new();
    for (series, version) in there.filter_map(versioned::parts) {
        let known = greatest.entry(series).or_default();
        *known = version.max(*known);
    }
    let secrets = wanted.iter().filter(|reference| reference.kind == Kind::Secret);
    let newer = |reference: &Reference| {
        let (series, version) = versioned::parts(&reference.name)?;
        let greatest = *greatest.get(series)?;
        (greatest > version).then(|| (reference.name.clone(), format!("{series}-v{greatest}")))
    };
    secrets.filter_map(newer).collect()
}

/// The name for watching an object: all versions of a series have the same.
pub(in crate::job) fn topic(kind: Kind, name: &str) -> String {
    let name = match kind {
        Kind::Secret => versioned::parts(name).map_or(name, |(series, _)| series),
        Kind::ConfigMap => name,
    };
    format!("{}/{name}", word(kind))
}

type Visitor<'v> = dyn FnMut(Kind, &mut String, bool) + 'v;

fn visit_references(template: &mut Map<String, Value>, visit: &mut Visitor<'_>) {
    let Some(pod) = boson_api::template::pod_mut(template) else {
        return;
    };
    for volume in items(pod, "volumes") {
        visit_members(volume, [("secret", "secretName"), ("configMap", "name")], visit);
        let projected = volume.get_mut("projected").into_iter();
        for source in projected.flat_map(|all| items(all, "sources")) {
            visit_members(source, [("secret", "name"), ("configMap", "name")], visit);
        }
    }
    for list in ["initContainers", "containers"] {
        for container in items(pod, list) {
            for variable in items(container, "env") {
                if let Some(from) = variable.get_mut("valueFrom") {
                    visit_members(from, [("secretKeyRef", "name"), ("configMapKeyRef", "name")], visit);
                }
            }
            for from in items(container, "envFrom") {
                visit_members(from, [("secretRef", "name"), ("configMapRef", "name")], visit);
            }
        }
    }
}

fn items<'v>(value: &'v mut Value, member: &str) -> impl Iterator<Item = &'v mut Value> {
    value
        .get_mut(member)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
}

/// `members`: what refers to a Secret, and what refers to a ConfigMap, each with its member that names it.
fn visit_members(value: &mut Value, members: [(&str, &str); 2], visit: &mut Visitor<'_>) {
    for (kind, (member, name)) in [Kind::Secret, Kind::ConfigMap].into_iter().zip(members) {
        let Some(source) = value.get_mut(member) else { continue };
        let optional = source.get("optional").and_then(Value::as_bool).unwrap_or(false);
        if let Some(Value::String(name)) = source.get_mut(name) {
            visit(kind, name, optional);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn template() -> Map<String, Value> {
        let value = json!({"spec": {"template": {"spec": {
            "volumes": [
                {"secret": {"secretName": "d.desired-v1"}}, {"configMap": {"name": "map", "optional": true}}, {"emptyDir": {}},
                {"projected": {"sources": [{"secret": {"name": "projected"}}, {"configMap": {"name": "other"}}, {"serviceAccountToken": {}}]}}
            ],
            "initContainers": [{"env": [{"name": "A", "value": "x"}, {"name": "B", "valueFrom": {"secretKeyRef": {"name": "d.desired-v1"}}}]}],
            "containers": [{"envFrom": [{"secretRef": {"name": "all"}}, {"configMapRef": {"name": "map"}}],
                "env": [{"valueFrom": {"configMapKeyRef": {"name": "key"}}}]}]
        }}}});
        value.as_object().unwrap().clone()
    }

    #[test]
    fn all_places_that_can_refer_are_found() {
        let found: Vec<_> = references(&template())
            .iter()
            .map(|one| format!("{}{}", topic(one.kind, &one.name), if one.optional { "?" } else { "" }))
            .collect();
        let wanted =
            "ConfigMap/key ConfigMap/map ConfigMap/map? ConfigMap/other Secret/all Secret/d.desired Secret/projected";
        assert_eq!(found.join(" "), wanted);
    }

    #[test]
    fn the_newest_version_is_used_everywhere() {
        let there = ["d.desired-v10", "d.desired-v9", "d.desired-extra-v99", "projected-v3"];
        let newer = newest_versions(&references(&template()), there.into_iter());
        assert_eq!(
            newer,
            [("d.desired-v1".to_string(), "d.desired-v10".to_string())].into()
        );
        let text = serde_json::to_string(&with_newest_secrets(&template(), &newer)).unwrap();
        assert_eq!(text.matches("\"d.desired-v10\"").count(), 2);
        assert!(!text.contains("d.desired-v1\""));
    }
}
