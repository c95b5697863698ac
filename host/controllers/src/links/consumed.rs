//! The links that a pod asks for by its annotations. Pure.

use boson_document::{closest, did_you_mean};
use boson_manifest::labels::{CONSUMES, DEPLOYMENT};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// Most links of a pod. Each is a volume, and a Secret to read when the pod is created.
const MAX_LINKS: usize = 32;
/// Keys of an entry of the annotation.
const ENTRY_KEYS: [&str; 2] = ["name", "type"];

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LinkName {
    pub name: String,
    pub kind: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Consumed {
    /// Name of the BOSHDeployment.
    pub deployment: String,
    /// In the order of the annotation.
    pub links: Vec<LinkName>,
}

// === impl LinkName ===

impl LinkName {
    /// Reads `{"name": .., "type": ..}`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of(entry: &Value) -> Result<Self, String> {
        let members = entry.as_object().ok_or("is not an object")?;
        if let Some(key) = members.keys().find(|key| !ENTRY_KEYS.contains(&key.as_str())) {
            let question = closest(key, ENTRY_KEYS).map(|near| format!("; {}", did_you_mean(near, "")));
            return Err(format!(
                "has the unknown key '{}'{}",
                key.escape_debug(),
                question.unwrap_or_default()
            ));
        }
        let text = |key: &str| match members.get(key) {
            None => Err(format!("has no '{key}'")),
            Some(Value::String(text)) if is_plain(text) => Ok(text.clone()),
            Some(Value::String(_)) => Err(format!(
                "has a '{key}' with other characters than letters, digits, '-', '_' and '.'"
            )),
            Some(_) => Err(format!("has a '{key}' that is not a string")),
        };
        Ok(Self {
            name: text("name")?,
            kind: text("type")?,
        })
    }
}

impl fmt::Display for LinkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "link '{}' of type '{}'", self.name, self.kind)
    }
}

// === impl Consumed ===

impl Consumed {
    /// Reads the annotations of a pod or of a pod template. None: it asks for no link.
    ///
    /// # Errors
    /// What is wrong, with the annotation.
    pub fn of(annotations: Option<&BTreeMap<String, String>>) -> Result<Option<Self>, String> {
        let value = |key: &str| annotations.and_then(|all| all.get(key));
        let Some(text) = value(CONSUMES) else { return Ok(None) };
        let wrong = |why: &str| format!("the annotation {CONSUMES} {why}");
        let entries: Value = serde_json::from_str(text).map_err(|error| {
            let place = format!("line {}, column {}", error.line(), error.column());
            wrong(&format!("is not JSON ({place}); {EXAMPLE}"))
        })?;
        let entries = entries
            .as_array()
            .ok_or_else(|| wrong(&format!("is not a list; {EXAMPLE}")))?;
        if entries.len() > MAX_LINKS {
            return Err(wrong(&format!("names more than {MAX_LINKS} links")));
        }
        let mut links = Vec::new();
        for (nth, entry) in entries.iter().enumerate() {
            let link =
                LinkName::of(entry).map_err(|why| wrong(&format!("is invalid: entry {nth} {why}; {EXAMPLE}")))?;
            if links.contains(&link) {
                return Err(wrong(&format!("names the {link} twice")));
            }
            links.push(link);
        }
        let deployment = value(DEPLOYMENT).filter(|name| !name.is_empty()).ok_or_else(|| {
            wrong(&format!(
                "needs the annotation {DEPLOYMENT} with the name of the BOSHDeployment that provides the links"
            ))
        })?;
        if !is_plain(deployment) {
            return Err(format!(
                "the annotation {DEPLOYMENT} is not the name of a BOSHDeployment"
            ));
        }
        Ok(Some(Self {
            deployment: deployment.clone(),
            links,
        }))
    }
}

const EXAMPLE: &str = r#"an example: '[{"name": "nats", "type": "nats"}]'"#;

/// Whether it can be a part of a path.
fn is_plain(text: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !text.is_empty() && text.bytes().all(inside) && text.bytes().any(|byte| byte != b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(consumes: Option<&str>, deployment: Option<&str>) -> Result<Option<Consumed>, String> {
        let pairs = [(CONSUMES, consumes), (DEPLOYMENT, deployment)];
        let present = pairs
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_string(), value?.to_string())));
        Consumed::of(Some(&present.collect()))
    }

    #[test]
    fn links_are_read_in_order() {
        let consumed = of(
            Some(r#"[{"name":"b","type":"t"},{"type":"t","name":"a_1.x"}]"#),
            Some("cf"),
        )
        .unwrap()
        .unwrap();
        assert_eq!(consumed.deployment, "cf");
        let names: Vec<String> = consumed.links.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["link 'b' of type 't'", "link 'a_1.x' of type 't'"]);
        assert_eq!(
            of(None, Some("cf")),
            Ok(None),
            "pods of conversions have the annotation, too"
        );
        assert_eq!(Consumed::of(None), Ok(None));
    }

    #[test]
    fn what_is_wrong_names_the_annotation_and_the_entry() {
        let many = format!("[{}]", vec!["1"; 33].join(","));
        for (consumes, wanted) in [
            ("[{", "is not JSON (line 1, column 2)"),
            (r#"{"name":"a","type":"t"}"#, "is not a list"),
            ("[1]", "entry 0 is not an object"),
            (r#"[{"name":"a","type":"t"},{"name":"a"}]"#, "entry 1 has no 'type'"),
            (r#"[{"name":7,"type":"t"}]"#, "has a 'name' that is not a string"),
            (
                r#"[{"name":"a/../b","type":"t"}]"#,
                "has a 'name' with other characters",
            ),
            (r#"[{"name":"..","type":"t"}]"#, "has a 'name' with other characters"),
            (r#"[{"name":"","type":"t"}]"#, "has a 'name' with other characters"),
            (
                r#"[{"name":"a","type":"t","optional":true}]"#,
                "has the unknown key 'optional'",
            ),
            (
                r#"[{"name":"a","type":"t"},{"type":"t","name":"a"}]"#,
                "names the link 'a' of type 't' twice",
            ),
            (&many, "more than 32 links"),
        ] {
            let error = of(Some(consumes), Some("cf")).unwrap_err();
            assert!(error.contains(wanted) && error.contains(CONSUMES), "{error}");
        }
        for deployment in [None, Some(""), Some("a/b")] {
            assert!(of(Some("[]"), deployment).unwrap_err().contains(DEPLOYMENT));
        }
    }
}
