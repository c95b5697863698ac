//! `--canaries` and `--max-in-flight`: an ops file that overrides the update blocks of a manifest and its groups.

use boson_document::Tree;
use serde_json::{Value, json};

/// An amount of instances in an update block: an integer, or a percentage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amount(Value);

// === impl Amount ===

impl Amount {
    /// # Errors
    /// The message of BOSH for other texts.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Ok(number) = text.parse::<i64>() {
            return Ok(Self(number.into()));
        }
        let percentage = text.strip_suffix('%').and_then(|number| number.parse::<u32>().ok());
        let percentage = percentage.map(|_| Self(text.into()));
        percentage.ok_or_else(|| "value should be integer or percent".to_string())
    }
}

/// The ops file with these values for the update blocks, to be applied after all others; none without values.
/// `manifest`: with its ops files.
pub fn overrides(canaries: Option<&Amount>, max_in_flight: Option<&Amount>, manifest: &Tree) -> Option<String> {
    let all = [("canaries", canaries), ("max_in_flight", max_in_flight)];
    let mut operations = Vec::new();
    for (key, amount) in all.into_iter().filter_map(|(key, amount)| Some((key, amount?))) {
        let mut replace = |path: String| operations.push(json!({"type": "replace", "path": path, "value": amount.0}));
        replace(format!("/update?/{key}"));
        for group in manifest.items("instance_groups") {
            let has_own = group.get("update").is_some_and(|update| update.get(key).is_some());
            if let Some(name) = group.str("name").filter(|_| has_own) {
                let name = name.replace('~', "~0").replace('/', "~1");
                replace(format!("/instance_groups/name={name}/update/{key}"));
            }
        }
    }
    let line = |operation: &Value| format!("- {operation}\n");
    (!operations.is_empty()).then(|| operations.iter().map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    #[test]
    fn both_levels_are_overridden() {
        let manifest = r#"{"instance_groups": [{"name": "web"}, {"name": "db", "update": {"canaries": 2}}]}"#;
        let manifest = json::parse(manifest).unwrap();
        let (one, half) = (Amount::parse("1").unwrap(), Amount::parse("50%").unwrap());
        let ops = overrides(Some(&half), Some(&one), &manifest);
        let wanted = "\
- {\"type\":\"replace\",\"path\":\"/update?/canaries\",\"value\":\"50%\"}
- {\"type\":\"replace\",\"path\":\"/instance_groups/name=db/update/canaries\",\"value\":\"50%\"}
- {\"type\":\"replace\",\"path\":\"/update?/max_in_flight\",\"value\":1}
";
        assert_eq!(ops.as_deref(), Some(wanted));
        assert_eq!(overrides(None, None, &manifest), None);
        for wrong in ["", "a", "1.5", "%", "-1%"] {
            assert!(Amount::parse(wrong).is_err(), "{wrong}");
        }
    }
}
