//! Parses a file into its Secrets. Pure. Errors name keys, never values.

use crate::codes;
use boson_api::job::{Output, OutputSecret, PersistenceMethod};
use boson_manifest::labels;
use boson_manifest::names::{self, MAX_SUBDOMAIN_LENGTH};
use boson_manifest::syntax::is_data_key;
use boson_pipeline::{Diagnostic, encoding};
use k8s_openapi::ByteString;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

pub const MAX_FILE_BYTES: u64 = 32 << 20;
/// Length of `-v<N>` after the name of a versioned Secret.
const MAX_VERSION_SUFFIX_LENGTH: usize = "-v4294967295".len();

#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// Its name; without `-v<N>` if it is versioned.
    pub name: String,
    /// Whether each content gets its own Secret.
    pub versioned: bool,
    /// Its labels, without those of versions.
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    /// Its content, compressed where it is large.
    pub data: BTreeMap<String, ByteString>,
}

/// The Secrets of a file. `place`: its name in messages.
///
/// # Errors
/// It does not match the output map, or is too large.
pub fn secrets(place: &str, bytes: &[u8], output: &Output, asked: &OutputSecret) -> Result<Vec<Wanted>, Diagnostic> {
    let members = members(place, bytes)?;
    match asked.persistence_method {
        PersistenceMethod::OneToOne => Ok(vec![wanted(place, asked.name.clone(), &members, output, asked)?]),
        PersistenceMethod::FanOut => {
            let mut all: Vec<Wanted> = Vec::new();
            for (key, text) in &members {
                let place = format!("{place}, member '{key}'");
                let inner = self::members(&place, string_value(&place, key, text)?.as_bytes())?;
                let one = wanted(&place, secret_name(&place, key, asked)?, &inner, output, asked)?;
                if all.iter().any(|other| other.name == one.name) {
                    let what = format!("{place}: another member becomes Secret '{}', too", one.name);
                    return Err(Diagnostic::error(codes::OUTPUT_COLLISION, what));
                }
                all.push(one);
            }
            Ok(all)
        }
    }
}

fn secret_name(place: &str, key: &str, asked: &OutputSecret) -> Result<String, Diagnostic> {
    let ending = names::subdomain(key);
    if ending.is_empty() {
        return Err(Diagnostic::error(
            codes::OUTPUT_NAME,
            format!("{place} has no letter or digit for the name of a Secret"),
        ));
    }
    Ok(names::cut(
        &format!("{}-{ending}", asked.name),
        "",
        MAX_SUBDOMAIN_LENGTH - MAX_VERSION_SUFFIX_LENGTH,
    ))
}

fn wanted(
    place: &str,
    name: String,
    members: &Map<String, Value>,
    output: &Output,
    asked: &OutputSecret,
) -> Result<Wanted, Diagnostic> {
    let mut data = BTreeMap::new();
    for (key, value) in members {
        if !is_data_key(key) {
            let what = format!("{place}: a Secret cannot have the key '{}'", key.escape_debug());
            return Err(Diagnostic::error(codes::OUTPUT_NAME, what));
        }
        data.insert(
            key.clone(),
            ByteString(string_value(place, key, value)?.as_bytes().to_vec()),
        );
    }
    let mut annotations = asked.secret_annotations.clone();
    let is_packed = encoding::pack(data.values_mut().map(|bytes| &mut bytes.0)).map_err(|large| {
        let what = format!("{place}: Secret '{name}': {large}");
        Diagnostic::error(codes::OUTPUT_TOO_LARGE, what)
    })?;
    if is_packed {
        annotations.insert(labels::ENCODING.into(), encoding::GZIP.into());
    }
    let mut labels = output.secret_labels.clone();
    labels.extend(asked.secret_labels.clone());
    Ok(Wanted {
        name,
        versioned: asked.versioned,
        labels,
        annotations,
        data,
    })
}

fn members(place: &str, bytes: &[u8]) -> Result<Map<String, Value>, Diagnostic> {
    let value: Value = serde_json::from_slice(bytes).map_err(|wrong| {
        let what = format!("{place} is not JSON: line {}, column {}", wrong.line(), wrong.column());
        Diagnostic::error(codes::OUTPUT_NOT_JSON, what)
    })?;
    match value {
        Value::Object(members) => Ok(members),
        _ => Err(Diagnostic::error(
            codes::OUTPUT_NOT_FLAT,
            format!("{place} is JSON, but not an object"),
        )),
    }
}

fn string_value<'v>(place: &str, key: &str, value: &'v Value) -> Result<&'v str, Diagnostic> {
    value.as_str().ok_or_else(|| {
        let what = format!("{place}: the value of '{}' is not a string", key.escape_debug());
        Diagnostic::error(codes::OUTPUT_NOT_FLAT, what)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn asked(member: Value) -> OutputSecret {
        let mut value = json!({"name": "out"});
        for (key, one) in member.as_object().unwrap() {
            value[key] = one.clone();
        }
        serde_json::from_value(value).unwrap()
    }

    fn of(text: &str, member: Value) -> Result<Vec<Wanted>, String> {
        let output: Output =
            serde_json::from_value(json!({"outputMap": {}, "secretLabels": {"a": "all", "b": "all"}})).unwrap();
        secrets("'c/output.json'", text.as_bytes(), &output, &asked(member)).map_err(|error| error.code.clone())
    }

    fn text(wanted: &Wanted, key: &str) -> String {
        String::from_utf8(wanted.data[key].0.clone()).unwrap()
    }

    #[test]
    fn a_file_becomes_one_secret_with_the_labels_of_all_and_its_own() {
        let member = json!({"versioned": true, "secretLabels": {"b": "own"}, "secretAnnotations": {"x": "y"}});
        let all = of(r#"{"k": "v", "l": ""}"#, member).unwrap();
        let [one] = all.as_slice() else { unreachable!("{all:?}") };
        assert_eq!((one.name.as_str(), one.versioned), ("out", true));
        assert_eq!((text(one, "k"), text(one, "l")), ("v".into(), String::new()));
        assert_eq!((&*one.labels["a"], &*one.labels["b"]), ("all", "own"));
        assert_eq!(one.annotations["x"], "y");
    }

    #[test]
    fn with_fan_out_each_member_becomes_one() {
        let fan = || json!({"persistencemethod": "fan-out"});
        let all = of(r#"{"a_b": "{\"k\": \"1\"}", "c": "{\"k\": \"2\"}"}"#, fan()).unwrap();
        let found: Vec<_> = all.iter().map(|one| (one.name.clone(), text(one, "k"))).collect();
        assert_eq!(found, [("out-a-b".into(), "1".into()), ("out-c".into(), "2".into())]);
        assert_eq!(
            of(r#"{"a_b": "{}", "a-b": "{}"}"#, fan()),
            Err("output-collision".into())
        );
        assert_eq!(of(r#"{"a": {"k": "1"}}"#, fan()), Err("output-not-flat".into()));
        assert_eq!(of(r#"{"a": "x"}"#, fan()), Err("output-not-json".into()));
        assert_eq!(of(r#"{"_": "{}"}"#, fan()), Err("output-name".into()));
    }

    #[test]
    fn what_is_wrong_has_a_code_and_no_value_in_its_message() {
        let noise: String = (0..3_000_000_u64)
            .map(|n| char::from(b'0' + (n.wrapping_mul(n).wrapping_mul(2_654_435_761) >> 32) as u8 % 64))
            .filter(|c| *c != '\\')
            .collect();
        let large = format!(r#"{{"k": "{noise}"}}"#);
        for (text, code) in [
            ("CANARY", "output-not-json"),
            ("", "output-not-json"),
            (r#"["CANARY"]"#, "output-not-flat"),
            (r#"{"k": {"CANARY": 1}}"#, "output-not-flat"),
            (r#"{"k": 1}"#, "output-not-flat"),
            (r#"{"a/b": "CANARY"}"#, "output-name"),
            (large.as_str(), "output-too-large"),
        ] {
            let output: Output = serde_json::from_value(json!({"outputMap": {}})).unwrap();
            let error = secrets("'f'", text.as_bytes(), &output, &asked(json!({}))).unwrap_err();
            assert_eq!(error.code, code, "{}", error.message);
            assert!(!error.message.contains("CANARY"), "{}", error.message);
        }
    }

    #[test]
    fn large_output_is_compressed_and_says_so() {
        let large = "line of text\\n".repeat(30_000);
        let all = of(&format!(r#"{{"k": "{large}"}}"#), json!({})).unwrap();
        assert_eq!(all[0].annotations[labels::ENCODING], "gzip");
        assert!(encoding::is_packed(&all[0].data["k"].0));
    }
}
