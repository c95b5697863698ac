//! Changes by others to our objects, from the API server's record of who set which field (`metadata.managedFields`).
//! Pure.
//!
//! Fields that a mutating webhook or a default adds to our own request have no other manager, so they never count as a
//! change by others.

use super::lists::DEFAULT_PROTOCOL;
use crate::client::{AnyObject, ManagedFields, OPERATOR_PREFIX};
use serde_json::{Map, Value};
use std::fmt;

/// Members that are maps of entries, not structures of fields. A map that is replaced as a whole needs no entry here.
const MAP_FIELDS: [&str; 7] = [
    "binaryData",
    "data",
    "limits",
    "matchLabels",
    "nodeSelector",
    "requests",
    "stringData",
];
/// Anybody may set labels and annotations, on the object and on its pods: `kubectl rollout restart` sets one.
const SHARED_MEMBERS: [&str; 2] = ["metadata", "status"];

/// Changes by others to an object of ours.
#[derive(Debug, Default, PartialEq)]
pub struct Foreign {
    /// Additions to our lists and maps, in an order for removal: no removal moves a later one.
    pub additions: Vec<Addition>,
    /// Whether they changed a list or map that is replaced as a whole.
    pub changed: bool,
}

/// An item of a list or an entry of a map.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Addition {
    path: Vec<Step>,
    /// The field manager that added it.
    manager: String,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// Index and keys; the keys are for messages.
    Item(usize, String),
    Member(String),
}

// === impl Foreign ===

impl Foreign {
    /// `live`: the object on the server. `wanted`: the object as written.
    pub fn of(live: &Value, wanted: &Value) -> Self {
        let mut found = Self::default();
        let is_foreign = |one: &ManagedFields<'_>| !one.manager.starts_with(OPERATOR_PREFIX) && !one.of_subresource;
        for managed in live.managed_fields().filter(is_foreign) {
            let mut walk = Walk {
                manager: managed.manager,
                path: Vec::new(),
                found: &mut found,
            };
            walk.all(managed.fields, live, wanted);
        }
        // The last items of lists first.
        found.additions.sort_unstable_by(|one, other| other.cmp(one));
        found.additions.dedup_by(|one, other| one.path == other.path);
        found
    }
}

// === impl Addition ===

impl Addition {
    pub fn pointer(&self) -> String {
        let steps = self.path.iter().map(|step| match step {
            Step::Item(index, _) => format!("/{index}"),
            Step::Member(name) => format!("/{}", name.replace('~', "~0").replace('/', "~1")),
        });
        steps.collect()
    }
}

/// `containers 'web', env 'DEBUG' (set by 'kubectl-edit')`
impl fmt::Display for Addition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps: Vec<&Step> = self.path.iter().collect();
        let named = steps.windows(2).filter_map(|pair| match pair {
            [Step::Member(list), Step::Item(_, keys)] => Some(format!("{list} '{keys}'")),
            [Step::Member(map), Step::Member(entry)] if MAP_FIELDS.contains(&map.as_str()) => {
                Some(format!("{map} '{entry}'"))
            }
            _ => None,
        });
        let named: Vec<String> = named.collect();
        write!(f, "{} (set by '{}')", named.join(", "), self.manager)
    }
}

/// Walks the fields of one manager along the live and the wanted object.
struct Walk<'w> {
    manager: &'w str,
    path: Vec<Step>,
    found: &'w mut Foreign,
}

// === impl Walk ===

impl Walk<'_> {
    fn all(&mut self, fields: &Map<String, Value>, live: &Value, wanted: &Value) {
        for (key, inner) in fields {
            match key.split_once(':') {
                Some(("f", name)) => self.member(name, inner, live, wanted),
                Some(("k", keys)) => {
                    // Without keys, any item would be the one.
                    let Ok(keys) = serde_json::from_str::<Map<String, Value>>(keys) else {
                        continue;
                    };
                    let words: Vec<String> = keys.values().map(word).collect();
                    self.item(inner, live, wanted, &words.join(" "), |item| has_keys(item, &keys));
                }
                Some(("v", value)) => {
                    let Ok(value) = serde_json::from_str::<Value>(value) else {
                        continue;
                    };
                    self.item(inner, live, wanted, &word(&value), |item| *item == value);
                }
                // The container itself.
                _ => {}
            }
        }
    }

    fn member(&mut self, name: &str, inner: &Value, live: &Value, wanted: &Value) {
        let Some(live) = live.get(name).filter(|_| !SHARED_MEMBERS.contains(&name)) else {
            return;
        };
        let is_entry = matches!(self.path.last(), Some(Step::Member(last)) if MAP_FIELDS.contains(&last.as_str()));
        let wanted = wanted.get(name).filter(|wanted| !is_empty(wanted));
        self.path.push(Step::Member(name.into()));
        match (wanted, inner.as_object().filter(|inner| !inner.is_empty())) {
            (Some(wanted), Some(inner)) => self.all(inner, live, wanted),
            (Some(wanted), None) => self.found.changed |= (live.is_object() || live.is_array()) && live != wanted,
            (None, _) if is_entry => self.add(),
            // A field of a structure that we do not set.
            (None, _) => {}
        }
        self.path.pop();
    }

    fn item(&mut self, inner: &Value, live: &Value, wanted: &Value, keys: &str, is_it: impl Fn(&Value) -> bool) {
        let place = |list: &Value| list.as_array().and_then(|items| items.iter().position(&is_it));
        let Some(index) = place(live) else { return };
        self.path.push(Step::Item(index, keys.into()));
        match (place(wanted), inner.as_object()) {
            (Some(ours), Some(inner)) => self.all(inner, &live[index], &wanted[ours]),
            // Without the dot, it only changed an item that another manager had added.
            (None, Some(inner)) if inner.is_empty() || inner.contains_key(".") => self.add(),
            _ => {}
        }
        self.path.pop();
    }

    fn add(&mut self) {
        self.found.additions.push(Addition {
            path: self.path.clone(),
            manager: self.manager.into(),
        });
    }
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

fn has_keys(item: &Value, keys: &Map<String, Value>) -> bool {
    let default = |key: &str| (key == "protocol").then(|| Value::from(DEFAULT_PROTOCOL));
    keys.iter()
        .all(|(key, value)| item.get(key).cloned().or_else(|| default(key)).as_ref() == Some(value))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn with(mut object: Value, manager: &str, fields: Value) -> Value {
        object["metadata"]["managedFields"] = json!([{"manager": manager, "operation": "Update", "fieldsV1": fields}]);
        object
    }

    fn pods(env: &[&str], limits: Value) -> Value {
        let env: Vec<Value> = env.iter().map(|name| json!({"name": name, "value": "x"})).collect();
        json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "env": env, "resources": {"limits": limits}}]}}}})
    }

    fn in_container(fields: Value) -> Value {
        json!({"f:spec": {"f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"c\"}": fields}}}}})
    }

    fn pointers(foreign: &Foreign) -> Vec<String> {
        foreign.additions.iter().map(Addition::pointer).collect()
    }

    #[test]
    fn additions_by_others_to_our_lists_and_maps_are_found_last_items_first() {
        let live = pods(&["A", "B", "C"], json!({"memory": "1Gi", "example.com/gpu": "1"}));
        let fields = in_container(json!({
            "f:env": {"k:{\"name\":\"A\"}": {".": {}, "f:name": {}}, "k:{\"name\":\"C\"}": {".": {}, "f:name": {}}},
            "f:resources": {"f:limits": {"f:example.com/gpu": {}}}
        }));
        let wanted = pods(&["B"], json!({"memory": "1Gi"}));
        let found = Foreign::of(&with(live.clone(), "kubectl-edit", fields.clone()), &wanted);
        let container = "/spec/template/spec/containers/0";
        assert_eq!(
            pointers(&found),
            [
                format!("{container}/resources/limits/example.com~1gpu"),
                format!("{container}/env/2"),
                format!("{container}/env/0")
            ]
        );
        let words: Vec<String> = found.additions.iter().map(ToString::to_string).collect();
        assert_eq!(
            words[0],
            "containers 'c', limits 'example.com/gpu' (set by 'kubectl-edit')"
        );
        assert_eq!(words[1], "containers 'c', env 'C' (set by 'kubectl-edit')");
        for other in ["boson-statefulset", "boson-manifest"] {
            assert_eq!(
                Foreign::of(&with(live.clone(), other, fields.clone()), &wanted),
                Foreign::default()
            );
        }
        // Set by a webhook, without a manager.
        assert_eq!(Foreign::of(&live, &wanted), Foreign::default());
    }

    #[test]
    fn an_item_whose_keys_cannot_be_read_is_no_addition() {
        let live = pods(&["A", "B"], json!({}));
        for key in ["k:{", "v:{"] {
            let fields = in_container(json!({"f:env": {key: {".": {}}}}));
            let live = with(live.clone(), "kubectl-edit", fields);
            assert_eq!(Foreign::of(&live, &pods(&["A", "B"], json!({}))), Foreign::default());
            assert_eq!(Foreign::of(&live, &pods(&["B"], json!({}))), Foreign::default());
        }
    }

    #[test]
    fn what_is_replaced_as_a_whole_counts_as_changed_if_it_has_more() {
        let service = |selector: Value| json!({"spec": {"selector": selector, "type": "ClusterIP"}});
        let fields = json!({"f:spec": {"f:selector": {}, "f:type": {}}});
        let more = with(service(json!({"a": "b", "c": "d"})), "kubectl-patch", fields.clone());
        let found = Foreign::of(&more, &service(json!({"a": "b"})));
        assert!(found.changed && found.additions.is_empty());
        let same = with(service(json!({"a": "b"})), "kubectl-patch", fields);
        assert_eq!(Foreign::of(&same, &service(json!({"a": "b"}))), Foreign::default());
    }

    #[test]
    fn labels_annotations_and_fields_that_we_do_not_set_are_left_alone() {
        let restarted = json!({"spec": {"minReadySeconds": 5, "template": {
            "metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}},
            "spec": {"tolerations": [{"key": "a"}], "containers": [{"name": "c", "tty": true, "stdin": true}]}}}});
        let fields = json!({
            "f:metadata": {"f:labels": {"f:x": {}}},
            "f:spec": {"f:minReadySeconds": {}, "f:template": {
                "f:metadata": {"f:annotations": {"f:kubectl.kubernetes.io/restartedAt": {}}},
                "f:spec": {"f:tolerations": {}, "f:containers": {"k:{\"name\":\"c\"}": {"f:tty": {}}}}}}
        });
        let wanted = json!({"spec": {"template": {"metadata": {"annotations": {"a": "b"}},
            "spec": {"tolerations": [], "containers": [{"name": "c", "stdin": true}]}}}});
        assert_eq!(
            Foreign::of(&with(restarted, "kubectl-rollout", fields), &wanted),
            Foreign::default()
        );
    }

    #[test]
    fn a_port_is_ours_whether_or_not_we_wrote_its_protocol() {
        let live = json!({"spec": {"ports": [{"port": 80, "protocol": "TCP"}, {"port": 81, "protocol": "TCP"}]}});
        let fields = json!({"f:spec": {"f:ports": {
            "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}},
            "k:{\"port\":81,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}}});
        let wanted = json!({"spec": {"ports": [{"port": 80}]}});
        assert_eq!(
            pointers(&Foreign::of(&with(live, "kubectl-edit", fields), &wanted)),
            ["/spec/ports/1"]
        );
    }
}
