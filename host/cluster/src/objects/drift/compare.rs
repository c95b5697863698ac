//! Whether an object has everything that was written. It may have more: defaults, and fields of others.

use super::lists::pairs;
use boson_pipeline::quantities::quantity;
use serde_json::Value;

/// Maps of which each entry is a quantity.
const QUANTITY_MAPS: [&str; 4] = ["capacity", "hard", "limits", "requests"];
/// Members that are quantities wherever they are.
const QUANTITY_FIELDS: [&str; 3] = ["averageValue", "divisor", "sizeLimit"];

/// Whether the live value has everything that is wanted.
pub fn holds(there: &Value, wanted: &Value) -> bool {
    holds_in(Place::default(), there, wanted)
}

#[derive(Clone, Copy, Default)]
struct Place<'p> {
    /// Name of the member; empty for an item of a list.
    name: &'p str,
    parent: &'p str,
}

// === impl Place ===

impl Place<'_> {
    /// Whether the value is a quantity, which the API server normalizes.
    fn is_quantity(self) -> bool {
        QUANTITY_MAPS.contains(&self.parent)
            || QUANTITY_FIELDS.contains(&self.name)
            // The target of a metric of a HorizontalPodAutoscaler.
            || (self.parent, self.name) == ("target", "value")
    }
}

fn holds_in(place: Place<'_>, there: &Value, wanted: &Value) -> bool {
    match (there, wanted) {
        (Value::Object(there), Value::Object(wanted)) => wanted.iter().all(|(key, wanted)| match there.get(key) {
            Some(there) => {
                let place = Place {
                    name: key,
                    parent: place.name,
                };
                holds_in(place, there, wanted)
            }
            // The server omits empty values.
            None => is_empty(wanted),
        }),
        (Value::Array(there), Value::Array(wanted)) => {
            let pairs = pairs(place.name, there, wanted);
            pairs.is_some_and(|pairs| {
                pairs
                    .into_iter()
                    .all(|(there, wanted)| holds_in(Place::default(), there, wanted))
            })
        }
        (Value::String(there), Value::String(wanted)) => {
            there == wanted || place.is_quantity() && is_same_quantity(there, wanted)
        }
        (there, wanted) => there == wanted,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.values().all(is_empty),
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
    }
}

/// `1024Mi` and `1Gi` are the same: the server normalizes quantities.
fn is_same_quantity(one: &str, other: &str) -> bool {
    matches!((quantity(one), quantity(other)), (Some(one), Some(other)) if one == other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn quantities_are_compared_by_value() {
        for (one, other, same) in [
            ("1024Mi", "1Gi", true),
            ("0.5", "500m", true),
            ("1000k", "1M", true),
            ("1G", "1Gi", false),
            ("a", "b", false),
            ("1.1", "1100m", true),
        ] {
            assert_eq!(is_same_quantity(one, other), same, "{one} {other}");
        }
    }

    #[test]
    fn only_quantities_are_compared_as_such() {
        let same = |one: Value, other: Value| holds(&one, &other);
        for path in ["limits", "requests", "capacity", "hard"] {
            assert!(same(
                json!({path: {"memory": "1Gi"}}),
                json!({path: {"memory": "1024Mi"}})
            ));
        }
        assert!(same(
            json!({"emptyDir": {"sizeLimit": "1G"}}),
            json!({"emptyDir": {"sizeLimit": "1000M"}})
        ));
        assert!(same(
            json!({"target": {"value": "500m"}}),
            json!({"target": {"value": "0.5"}})
        ));
        let env = |value: &str| json!({"env": [{"name": "HEAP", "value": value}]});
        assert!(!same(env("1Gi"), env("1024Mi")), "a program reads it as text");
        for map in ["data", "labels", "annotations", "args"] {
            assert!(!same(json!({map: {"a": "1.0"}}), json!({map: {"a": "1"}})), "{map}");
        }
        assert!(!same(json!({"args": ["1000"]}), json!({"args": ["1k"]})));
    }

    #[test]
    fn more_than_was_written_is_no_difference() {
        let wanted = json!({"spec": {"selector": {"a": "b"}, "empty": [], "containers": [{"name": "c", "env": [{"name": "A"}]}]}});
        let mut there = json!({"spec": {
            "selector": {"a": "b", "added": "x"}, "default": 1,
            "containers": [{"name": "injected"}, {"name": "c", "env": [{"name": "A"}, {"name": "B"}], "image": "i"}]
        }});
        assert!(holds(&there, &wanted));
        there["spec"]["containers"][1]["env"][0]["name"] = "C".into();
        assert!(!holds(&there, &wanted));
    }
}
