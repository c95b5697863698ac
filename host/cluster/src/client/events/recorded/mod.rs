//! Recorded events: what has changed deployments and instances, and why. Kubernetes deletes its own events after an
//! hour, so these are in ConfigMaps of the namespace, as pages with a limited number of events each.

mod changed_by;
mod page;
mod queue;
mod write;

pub use changed_by::last_changed_by;
pub use page::Page;
pub use queue::Recorded;
pub use write::{append, keep};

use boson_manifest::labels;
use boson_pipeline::report::clean;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::Resource;
use serde::{Deserialize, Serialize};

/// Of a context or an error: the limit that events of Kubernetes have, too.
const MAX_TEXT_BYTES: usize = 1000;
/// Reason of the notice about changed objects of a deployment.
const CHANGED_REASON: &str = "Changed";

/// What has happened. Empty texts are left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedEvent {
    pub time: Time,
    /// Who caused it: a user, or the name of a program. Empty: the operator, by itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub user: String,
    /// A word, such as `update`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub action: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub object_type: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub object_name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub deployment: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<Place>,
    /// What was changed, and why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub error: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    pub group: String,
    /// Its index if the instances of a group are spread over its zones.
    pub index: usize,
    /// Its index if each zone has the instances of the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_per_zone: Option<usize>,
}

// === impl RecordedEvent ===

impl RecordedEvent {
    /// An event about an object, without a context.
    pub fn about<K: Resource<DynamicType = ()>>(about: &K, action: &str, now: Timestamp) -> Self {
        let meta = about.meta();
        let label = |key: &str| meta.labels.as_ref()?.get(key).cloned();
        let variable = || meta.annotations.as_ref()?.get(labels::VARIABLE).cloned();
        let name = meta.name.clone().unwrap_or_default();
        let group = label(labels::INSTANCE_GROUP_NAME);
        let (object_type, object_name) = match K::kind(&()).as_ref() {
            "BOSHDeployment" => ("deployment", None),
            "QuarksStatefulSet" => ("instance_group", group),
            "QuarksJob" => ("errand", group),
            "QuarksSecret" => ("variable", variable()),
            "PersistentVolumeClaim" => ("disk", None),
            "Pod" => ("pod", None),
            _ => ("object", None),
        };
        Self {
            time: Time(now),
            user: String::new(),
            action: action.into(),
            object_type: object_type.into(),
            object_name: object_name.unwrap_or_else(|| name.clone()),
            deployment: label(labels::DEPLOYMENT_NAME).unwrap_or_else(|| match object_type {
                "deployment" => name,
                _ => String::new(),
            }),
            instance: None,
            context: String::new(),
            error: String::new(),
        }
    }

    /// In the words of an event of Kubernetes with this reason.
    pub fn with_reason<K: Resource<DynamicType = ()>>(about: &K, reason: &str, now: Timestamp) -> Self {
        Self::about(about, &action(reason), now)
    }

    #[must_use]
    pub fn failed(mut self, error: &str) -> Self {
        self.error = text(error);
        self
    }

    #[must_use]
    pub fn with_context(mut self, context: &str) -> Self {
        self.context = text(context);
        self
    }

    #[must_use]
    pub fn by(mut self, user: Option<String>) -> Self {
        self.user = user.unwrap_or_default();
        self
    }
}

// === impl Place ===

impl Place {
    /// `replicas`: the number of instances in each zone of the group.
    pub fn of(group: &str, zone: usize, ordinal: usize, replicas: &[usize]) -> Self {
        let index = ordinal * replicas.len().max(1) + zone;
        let per_zone = replicas.iter().take(zone).sum::<usize>() + ordinal;
        Self {
            group: group.into(),
            index,
            index_per_zone: (per_zone != index).then_some(per_zone),
        }
    }
}

/// BOSH's word where it has the event, otherwise the reason in BOSH's form: `link_changed`.
fn action(reason: &str) -> String {
    if reason == CHANGED_REASON {
        return "update".into();
    }
    let mut word = String::new();
    for c in reason.chars() {
        if c.is_uppercase() && !word.is_empty() {
            word.push('_');
        }
        word.extend(c.to_lowercase());
    }
    word
}

/// In one line, and with a length that lets a page of such texts fit into an object.
fn text(long: &str) -> String {
    let line = clean::line(long);
    line[..line.floor_char_boundary(MAX_TEXT_BYTES)].to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_api::QuarksStatefulSet;
    use serde_json::{from_value, json};

    #[test]
    fn an_event_has_the_words_of_bosh() {
        let group: QuarksStatefulSet = from_value(json!({
            "apiVersion": labels::API_VERSION, "kind": "QuarksStatefulSet",
            "metadata": {"name": "d-web", "labels": {labels::DEPLOYMENT_NAME: "d", labels::INSTANCE_GROUP_NAME: "web"}},
            "spec": {"template": {}},
        }))
        .unwrap();
        let of = |reason: &str| RecordedEvent::with_reason(&group, reason, Timestamp::UNIX_EPOCH);
        let wanted = json!({
            "time": "1970-01-01T00:00:00Z", "action": "rule_waived", "objectType": "instance_group",
            "objectName": "web", "deployment": "d", "error": "a␊b",
        });
        assert_eq!(json!(of("RuleWaived").failed("a\nb")), wanted);
        let changed = of(CHANGED_REASON).with_context("a\nb");
        assert_eq!((changed.action.as_str(), changed.context.as_str()), ("update", "a␊b"));
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(text(&"é".repeat(MAX_TEXT_BYTES)).len(), MAX_TEXT_BYTES);
        assert_eq!(
            text(&format!("a{}", "é".repeat(MAX_TEXT_BYTES))).len(),
            MAX_TEXT_BYTES - 1
        );
    }

    #[test]
    fn an_instance_has_an_index_for_each_way_to_count() {
        let place = |zone, ordinal| Place::of("web", zone, ordinal, &[2, 2]);
        assert_eq!((place(1, 1).index, place(1, 1).index_per_zone), (3, None));
        assert_eq!((place(1, 0).index, place(1, 0).index_per_zone), (1, Some(2)));
    }
}
