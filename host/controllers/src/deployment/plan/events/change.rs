//! The trail of changes: one event and one log line each time that objects of a deployment are written. They name the
//! instance groups, the versions of their documents, and the causes; never a value. Pure.

use super::causes::Causes;
use crate::deployment::plan::object::{self, containers, group, is_group, is_same};
use boson_cluster::client::{AnyObject, Notice};
use boson_cluster::objects::Plan;
use boson_cluster::objects::versioned;
use boson_pipeline::listing::first_of;
use serde_json::Value;
use std::collections::BTreeMap;

/// How many causes a text names; a deployment may have hundreds of inputs.
const MAX_NAMED_CAUSES: usize = 8;

/// The event about what a plan writes; none if it writes nothing. `live`: the objects before.
pub fn notice(plan: &Plan, live: &[Value], causes: &Causes<'_>) -> Option<Notice> {
    let change = Change::of(plan, live)?;
    let is_new = change.changed.is_empty() && change.deleted.is_empty();
    let causes = causes.names(is_new, &change.images);
    Some(Notice::normal("Changed", change.text(&causes)))
}

/// What a plan does to instance groups and to everything else, in words.
#[derive(Debug, Default, PartialEq, Eq)]
struct Change {
    created: Vec<String>,
    changed: Vec<String>,
    deleted: Vec<String>,
    /// Images of containers: before and now.
    images: Vec<String>,
}

// === impl Change ===

impl Change {
    /// None if nothing is written. `live`: the objects before.
    fn of(plan: &Plan, live: &[Value]) -> Option<Self> {
        let mut change = Self::default();
        let (mut created, mut changed, mut deleted) = (Others::default(), Others::default(), Others::default());
        for object in &plan.apply {
            let old = live.iter().find(|old| is_same(old, object));
            match (old, is_group(object)) {
                (None, true) => change.created.push(with_version(object, None)),
                (Some(old), true) => {
                    change.changed.push(with_version(object, Some(old)));
                    change.note_images(old, object);
                }
                (None, false) => created.count(object),
                (Some(_), false) => changed.count(object),
            }
        }
        for object in &plan.delete {
            if is_group(object) {
                change.deleted.push(with_version(object, None))
            } else {
                deleted.count(object)
            }
        }
        change.created.extend(created.texts());
        change.changed.extend(changed.texts());
        change.deleted.extend(deleted.texts());
        (change != Self::default()).then_some(change)
    }

    fn note_images(&mut self, old: &Value, new: &Value) {
        let (before, now) = (images(old), images(new));
        for (container, image) in now {
            let other = before.get(&container).filter(|before| **before != image);
            let text = other.map(|before| format!("image '{before}' -> '{image}'"));
            self.images.extend(text.filter(|text| !self.images.contains(text)));
        }
    }

    /// `created gateway (v1); changed broker (v1 -> v2), 2 Services; because of ops 'configmap/scale'`.
    fn text(&self, causes: &[String]) -> String {
        let parts = [
            ("created", &self.created),
            ("changed", &self.changed),
            ("deleted", &self.deleted),
        ];
        let parts = parts.iter().filter(|(_, names)| !names.is_empty());
        let mut parts: Vec<String> = parts
            .map(|(verb, names)| format!("{verb} {}", names.join(", ")))
            .collect();
        parts.push(format!("because of {}", first_of(causes, MAX_NAMED_CAUSES, ", ")));
        parts.join("; ")
    }
}

/// Objects that are no instance groups, by kind.
#[derive(Default)]
struct Others(BTreeMap<String, usize>);

// === impl Others ===

impl Others {
    fn count(&mut self, object: &Value) {
        *self.0.entry(object.kind().unwrap_or_default().to_string()).or_default() += 1;
    }

    fn texts(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(kind, count)| format!("{kind} ({count})"))
    }
}

fn with_version(object: &Value, old: Option<&Value>) -> String {
    match (old.and_then(version), version(object)) {
        (Some(old), Some(version)) if old != version => format!("{} (v{old} -> v{version})", group(object)),
        (_, Some(version)) => format!("{} (v{version})", group(object)),
        (_, None) => group(object).to_string(),
    }
}

/// The version of the resolved document that its pods mount.
fn version(object: &Value) -> Option<u32> {
    versioned::parts(object::resolved(object)?).map(|(_, version)| version)
}

/// By container.
fn images(object: &Value) -> BTreeMap<String, String> {
    let all = ["initContainers", "containers"].into_iter();
    let all = all.flat_map(|list| containers(object, list));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    all.map(|one| (text(&one["name"]), text(&one["image"]))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_cluster::objects;
    use boson_manifest::labels;
    use serde_json::json;

    fn group(name: &str, version: u32, image: &str) -> Value {
        let volume =
            json!({"name": "ig-resolved", "secret": {"secretName": format!("d.ig-resolved.{name}-v{version}")}});
        let pod = json!({"volumes": [volume], "containers": [{"name": "c", "image": image}], "initContainers": []});
        json!({"apiVersion": labels::API_VERSION, "kind": "QuarksStatefulSet",
            "metadata": {"name": format!("d-{name}"), "labels": {labels::INSTANCE_GROUP_NAME: name}},
            "spec": {"template": {"spec": {"template": {"spec": pod}}}}})
    }

    fn service(name: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"clusterIP": "None"}})
    }

    fn change(wanted: &[Value], live: &[Value]) -> Option<Change> {
        Change::of(&objects::plan(wanted.to_vec(), live), live)
    }

    #[test]
    fn a_change_names_groups_versions_and_images_and_counts_the_rest() {
        let live = [
            group("a", 1, "i:1"),
            group("b", 1, "i:1"),
            group("old", 4, "i:1"),
            service("s"),
        ];
        let wanted = [
            group("a", 2, "i:1"),
            group("b", 1, "i:2"),
            group("c", 1, "i:2"),
            service("t"),
        ];
        let change = change(&wanted, &live).unwrap();
        assert_eq!(
            change.text(&["ops 'configmap/o'".into(), "variable 'v'".into()]),
            "created c (v1), Service (1); changed a (v1 -> v2), b (v1); deleted old (v4), Service (1); \
             because of ops 'configmap/o', variable 'v'"
        );
        assert_eq!(change.images, ["image 'i:1' -> 'i:2'"]);
    }

    #[test]
    fn nothing_written_is_no_change_and_many_causes_are_counted() {
        let mut live = [group("a", 1, "i:1")];
        let plan = objects::plan(live.to_vec(), &[]);
        live = [plan.apply[0].clone()];
        assert_eq!(change(&[group("a", 1, "i:1")], &live), None);
        let causes: Vec<String> = (0..10).map(|nth| format!("ops '{nth}'")).collect();
        let created = change(&[group("a", 1, "i:1")], &[]).unwrap();
        let text = created.text(&causes);
        assert!(text.ends_with("ops '7', 2 more"), "{text}");
    }
}
