//! The trail of changes: one event and one log line each time that objects of a deployment are written. They name the instance groups, the versions
//! of their documents, and the causes; never a value.

use super::flow::Flow;
use super::inputs;
use boson_api::PluginUse;
use boson_cluster::client::Notice;
use boson_cluster::objects::Plan;
use boson_manifest::labels;
use serde_json::Value;
use std::collections::BTreeMap;

/// How many causes a text names; a deployment may have hundreds of inputs.
const SHOWN: usize = 8;

/// What a plan does to instance groups and to everything else, in words.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    created: Vec<String>,
    changed: Vec<String>,
    deleted: Vec<String>,
    /// Images of containers: before and now.
    images: Vec<String>,
}

// === impl Change ===

impl Change {
    /// None if nothing is written. `live`: the objects before.
    pub(super) fn of(plan: &Plan, live: &[Value]) -> Option<Self> {
        let mut change = Self::default();
        let (mut created, mut changed, mut deleted) = (Others::default(), Others::default(), Others::default());
        for object in &plan.apply {
            let old = live.iter().find(|old| is_same(old, object));
            match (old, is_group(object)) {
                (None, true) => change.created.push(with_version(object)),
                (Some(old), true) => {
                    change.changed.push(between(old, object));
                    change.note_images(old, object);
                }
                (None, false) => created.count(object),
                (Some(_), false) => changed.count(object),
            }
        }
        for object in &plan.delete {
            match is_group(object) {
                true => change.deleted.push(with_version(object)),
                false => deleted.count(object),
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
        let more = causes.len().saturating_sub(SHOWN);
        let mut shown: Vec<&str> = causes.iter().take(SHOWN).map(String::as_str).collect();
        let rest = format!("{more} more");
        shown.extend((more > 0).then_some(rest.as_str()));
        parts.push(format!("because of {}", shown.join(", ")));
        parts.join("; ")
    }
}

/// Objects that are no instance groups, by kind.
#[derive(Default)]
struct Others(BTreeMap<String, usize>);

// === impl Others ===

impl Others {
    fn count(&mut self, object: &Value) {
        let kind = object["kind"].as_str().unwrap_or_default();
        *self.0.entry(kind.to_string()).or_default() += 1;
    }

    fn texts(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(kind, count)| format!("{kind} ({count})"))
    }
}

// === impl Flow ===

impl Flow<'_> {
    /// Emits an event for a change that was written.
    pub(super) async fn report_change(&self, change: &Change) {
        let causes = self.causes(change);
        let text = change.text(&causes);
        tracing::info!(change = text, "changed the deployment");
        let notice = Notice {
            warning: false,
            reason: "Changed".into(),
            note: text,
        };
        if let Err(error) = self.context.events.emit(self.object, &notice).await {
            tracing::warn!(%error, "an event was lost");
        }
    }

    fn causes(&self, change: &Change) -> Vec<String> {
        let old = self.object.status.as_ref();
        let before = old.map_or(&[][..], |status| &status.inputs);
        if before.is_empty() {
            let is_new = change.changed.is_empty() && change.deleted.is_empty();
            let cause = if is_new {
                "the new deployment"
            } else {
                "another version of the operator"
            };
            return vec![cause.to_string()];
        }
        let mut causes = inputs::changes(before, &self.progress.inputs());
        let used = old.map_or(&[][..], |status| &status.plugins);
        causes.extend(plugins(used, &self.plugins.uses));
        causes.extend(change.images.iter().cloned());
        if causes.is_empty() {
            let same = old.and_then(|status| status.observed_generation) == self.object.metadata.generation;
            let cause = match same {
                true => "changes or deletions by others",
                false => "the specification of the BOSHDeployment",
            };
            causes.push(cause.to_string());
        }
        causes
    }
}

/// Plugins that were replaced, added or removed.
fn plugins(before: &[PluginUse], now: &[PluginUse]) -> Vec<String> {
    let is_same = |one: &PluginUse, other: &PluginUse| (one.stage, &one.name) == (other.stage, &other.name);
    let mut found = Vec::new();
    for plugin in now.iter().filter(|plugin| !before.contains(plugin)) {
        let name = &plugin.name;
        found.push(match before.iter().find(|old| is_same(old, plugin)) {
            Some(old) if old.version != plugin.version => {
                format!("plugin '{name}' {} -> {}", old.version, plugin.version)
            }
            Some(_) => format!("plugin '{name}'"),
            None => format!("plugin '{name}' added"),
        });
    }
    let removed = before.iter().filter(|old| !now.iter().any(|new| is_same(old, new)));
    found.extend(removed.map(|plugin| format!("plugin '{}' removed", plugin.name)));
    found
}

fn is_group(object: &Value) -> bool {
    object["kind"] == "QuarksStatefulSet" || object["kind"] == "QuarksJob"
}

fn is_same(one: &Value, other: &Value) -> bool {
    one["kind"] == other["kind"] && one["metadata"]["name"] == other["metadata"]["name"]
}

fn name(object: &Value) -> &str {
    let group = object["metadata"]["labels"][labels::INSTANCE_GROUP_NAME].as_str();
    group.or(object["metadata"]["name"].as_str()).unwrap_or_default()
}

fn with_version(object: &Value) -> String {
    match version(object) {
        Some(version) => format!("{} (v{version})", name(object)),
        None => name(object).to_string(),
    }
}

fn between(old: &Value, new: &Value) -> String {
    match (version(old), version(new)) {
        (Some(old), Some(version)) if old != version => format!("{} (v{old} -> v{version})", name(new)),
        _ => with_version(new),
    }
}

fn pod(object: &Value) -> &Value {
    &object["spec"]["template"]["spec"]["template"]["spec"]
}

/// The version of the resolved document that its pods mount.
fn version(object: &Value) -> Option<u32> {
    let volumes = pod(object)["volumes"].as_array()?;
    let volume = volumes.iter().find(|volume| volume["name"] == "ig-resolved")?;
    boson_cluster::objects::versioned::parts(volume["secret"]["secretName"].as_str()?).map(|(_, version)| version)
}

/// By container.
fn images(object: &Value) -> BTreeMap<String, String> {
    let lists = ["initContainers", "containers"].into_iter();
    let containers = lists.flat_map(|list| pod(object)[list].as_array().into_iter().flatten());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    containers
        .map(|one| (text(&one["name"]), text(&one["image"])))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_cluster::objects;
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

    #[test]
    fn plugins_are_named_with_their_versions() {
        let plugin = |name: &str, version: &str, digest: &str| PluginUse {
            stage: boson_api::stage::StageName::Bpm,
            name: name.into(),
            version: version.into(),
            digest: digest.into(),
        };
        let before = [plugin("a", "1", "x"), plugin("b", "1", "x"), plugin("c", "1", "x")];
        let now = [plugin("a", "2", "y"), plugin("b", "1", "y"), plugin("d", "1", "x")];
        assert_eq!(
            plugins(&before, &now),
            [
                "plugin 'a' 1 -> 2",
                "plugin 'b'",
                "plugin 'd' added",
                "plugin 'c' removed"
            ]
        );
    }
}
