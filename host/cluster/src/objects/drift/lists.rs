//! Compares lists as the API server merges them: by item if the items have keys, else as a whole.

use serde_json::{Value, json};
use std::collections::HashSet;

/// Keys of the items of a list, by the name of the list: `x-kubernetes-list-map-keys` of the API types.
const LIST_KEYS: [(&str, &[&str]); 13] = [
    ("claims", &["name"]),
    ("containers", &["name"]),
    ("env", &["name"]),
    ("ephemeralContainers", &["name"]),
    ("hostAliases", &["ip"]),
    ("imagePullSecrets", &["name"]),
    ("initContainers", &["name"]),
    ("ownerReferences", &["uid"]),
    ("topologySpreadConstraints", &["topologyKey", "whenUnsatisfiable"]),
    ("volumeDevices", &["devicePath"]),
    ("volumeMounts", &["mountPath"]),
    ("volumes", &["name"]),
    ("webhooks", &["name"]),
];
pub(super) const DEFAULT_PROTOCOL: &str = "TCP";

/// The live item for each wanted item of a list; none if one is missing, or not in order. Without keys, the list must
/// have no others.
pub(super) fn pairs<'v>(list: &str, there: &'v [Value], wanted: &'v [Value]) -> Option<Vec<(&'v Value, &'v Value)>> {
    let (Some(keys), Some(wanted_keys)) = (keys(list, there), keys(list, wanted)) else {
        return (there.len() == wanted.len()).then(|| there.iter().zip(wanted).collect());
    };
    let mut rest = there.iter().zip(keys);
    // In order: init containers run in order, and variables refer to earlier ones.
    let paired = wanted.iter().zip(wanted_keys).map(|(wanted, key)| {
        let (there, _) = rest.find(|(_, other)| *other == key)?;
        Some((there, wanted))
    });
    paired.collect()
}

/// The keys of all items, if all have some and no two have the same.
fn keys(list: &str, items: &[Value]) -> Option<Vec<String>> {
    let keys: Vec<String> = items.iter().map(|item| key(list, item)).collect::<Option<_>>()?;
    let different: HashSet<&String> = keys.iter().collect();
    (different.len() == keys.len()).then_some(keys)
}

fn key(list: &str, item: &Value) -> Option<String> {
    if list == "ports" {
        let number = item.get("containerPort").or(item.get("port"))?;
        let protocol = item["protocol"].as_str().unwrap_or(DEFAULT_PROTOCOL);
        return Some(json!([number, protocol]).to_string());
    }
    let (_, names) = LIST_KEYS.iter().find(|(name, _)| *name == list)?;
    let values: Option<Vec<&Value>> = names.iter().map(|name| item.get(name)).collect();
    values.map(|values| json!(values).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(list: &str, there: Value, wanted: Value) -> bool {
        crate::objects::drift::holds(&json!({list: there}), &json!({list: wanted}))
    }

    #[test]
    fn items_with_keys_are_found_wherever_they_are_but_in_their_order() {
        let env = |names: &[&str]| {
            names
                .iter()
                .map(|name| json!({"name": name, "value": "x"}))
                .collect::<Value>()
        };
        assert!(holds("env", env(&["A", "B"]), env(&["A", "B"])));
        assert!(holds("env", env(&["Z", "A", "Y", "B", "X"]), env(&["A", "B"])));
        assert!(!holds("env", env(&["B", "A"]), env(&["A", "B"])));
        assert!(!holds("env", env(&["A"]), env(&["A", "B"])));
        let other = json!([{"name": "A", "value": "y"}]);
        assert!(!holds("env", other, env(&["A"])));
    }

    #[test]
    fn ports_differ_by_number_and_protocol() {
        let dns = json!([{"port": 53}, {"port": 53, "protocol": "UDP"}]);
        let stored = json!([
            {"port": 53, "protocol": "TCP", "targetPort": 53}, {"port": 9}, {"port": 53, "protocol": "UDP", "targetPort": 53}
        ]);
        assert!(holds("ports", stored.clone(), dns));
        assert!(!holds("ports", stored, json!([{"port": 53, "protocol": "SCTP"}])));
    }

    #[test]
    fn items_without_keys_are_compared_one_by_one() {
        let one = json!({"key": "a"});
        assert!(holds("tolerations", json!([one]), json!([one])));
        assert!(!holds("tolerations", json!([one, {"key": "b"}]), json!([one])));
        assert!(!holds("args", json!(["a", "b"]), json!(["b", "a"])));
        // Duplicate keys, which our lists may have if the server does not merge them.
        assert!(!holds(
            "env",
            json!([{"name": "A"}, {"name": "A"}]),
            json!([{"name": "A"}])
        ));
    }
}
