//! Values of variables in Secrets, in the form that the operator reads for `spec.vars`.

use boson_in_pod::secrets::is_json;
use boson_manifest::labels;
use boson_manifest::syntax::is_data_key;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Key of a value that has no parts.
const PASSWORD_KEY: &str = "password";

#[derive(Clone, PartialEq, Eq)]
pub struct Content {
    data: BTreeMap<String, String>,
    is_json: bool,
}

// === impl Content ===

impl Content {
    /// The content for a value. Texts, and maps of texts, are stored as they are; anything else as JSON, so that it
    /// keeps its type.
    pub fn of(value: &Value) -> Self {
        let whole = |text: String| [(PASSWORD_KEY.to_string(), text)].into();
        let parts = value.as_object().and_then(text_members);
        match (value, parts) {
            (Value::String(text), _) => Self {
                data: whole(text.clone()),
                is_json: false,
            },
            (_, Some(data)) => Self { data, is_json: false },
            (value, None) => Self {
                data: whole(value.to_string()),
                is_json: true,
            },
        }
    }

    /// None if a part is not text.
    pub fn of_secret(secret: &Secret) -> Option<Self> {
        let data = secret.data.iter().flatten();
        let text =
            |(key, bytes): (&String, &ByteString)| Some((key.clone(), std::str::from_utf8(&bytes.0).ok()?.to_string()));
        Some(Self {
            data: data.map(text).collect::<Option<_>>()?,
            is_json: is_json(secret),
        })
    }

    /// The value; none if it is not JSON, as the Secret says.
    pub fn value(&self) -> Option<Value> {
        match self.data.get(PASSWORD_KEY) {
            Some(json) if self.is_json => serde_json::from_str(json).ok(),
            Some(text) if self.data.len() == 1 => Some(text.as_str().into()),
            _ => Some(json!(self.data)),
        }
    }

    /// The Secret with these labels.
    pub fn object(&self, name: &str, namespace: &str, labels: &Value) -> Value {
        let data = self.data.iter();
        let data: BTreeMap<&String, ByteString> = data
            .map(|(key, text)| (key, ByteString(text.clone().into_bytes())))
            .collect();
        let mut object = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": namespace, "labels": labels},
            "data": data,
            "immutable": true,
        });
        if self.is_json {
            object["metadata"]["annotations"] = json!({labels::JSON_VALUE: "true"});
        }
        object
    }
}

/// The members of a map that can be the keys of a Secret; none if one cannot, or if they would be read as another
/// value.
fn text_members(map: &Map<String, Value>) -> Option<BTreeMap<String, String>> {
    let is_key = |key: &String| is_data_key(key) && !key.starts_with('.');
    if map.is_empty() || map.keys().eq([PASSWORD_KEY]) || !map.keys().all(is_key) {
        return None;
    }
    map.iter()
        .map(|(key, value)| Some((key.clone(), value.as_str()?.to_string())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_types() {
        for (value, keys, is_json) in [
            (json!("text"), vec!["password"], false),
            (json!("3"), vec!["password"], false),
            (json!(3), vec!["password"], true),
            (json!([1, {"a": null}]), vec!["password"], true),
            (
                json!({"certificate": "c", "private_key": "k"}),
                vec!["certificate", "private_key"],
                false,
            ),
            (json!({"password": "x"}), vec!["password"], true),
            (json!({"not a key": "x"}), vec!["password"], true),
            (json!({"port": 1}), vec!["password"], true),
            (json!({}), vec!["password"], true),
        ] {
            let content = Content::of(&value);
            let found: Vec<&str> = content.data.keys().map(String::as_str).collect();
            assert_eq!((found, content.is_json), (keys, is_json), "{value}");
            let object = content.object("s", "n", &json!({}));
            let read = Content::of_secret(&serde_json::from_value(object).unwrap()).unwrap();
            assert!(read == content, "{value}");
            assert_eq!(read.value(), Some(value));
        }
    }
}
