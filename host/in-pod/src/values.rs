//! The values of a deployment's variables in its pods: a folder `<origin>/<variable>` for each, with a file for each
//! key of its Secret. The operator reads the Secrets themselves; both get the same values.

use crate::codes;
use crate::secrets::{PASSWORD_KEY, TRANSITIONAL_PREFIX, is_json, is_json_password};
use boson_document::{Map, Tree, json};
use boson_manifest::labels;
use boson_pipeline::Diagnostic;
use boson_pipeline::scrub::Secrets;
use boson_pipeline::variables::Table;
use k8s_openapi::api::core::v1::Secret;
use std::collections::BTreeMap;

/// File of an implicit variable's value; its name does not depend on the key in the Secret.
const VALUE_FILE: &str = "value";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Given by the user in `spec.vars`.
    Given,
    /// Given by the user for a variable that the manifest uses but does not define.
    Implicit,
    /// As one of these, but its value is JSON in one key.
    ImplicitJson,
    /// Generated for a QuarksSecret.
    Generated,
}

/// The value of a variable in a Secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Held {
    pub origin: Origin,
    /// The variable as in the manifest; an implicit one with its key, `x/key`.
    pub variable: String,
    pub secret: String,
    /// The keys that are used.
    pub data: BTreeMap<String, Vec<u8>>,
}

#[derive(Clone, Debug, Default)]
pub struct Values {
    /// Given by users.
    pub given: Table,
    /// Generated: an object with variables as keys.
    pub generated: Tree,
}

// === impl Origin ===

impl Origin {
    pub const ALL: [Self; 4] = [Self::Given, Self::Implicit, Self::ImplicitJson, Self::Generated];

    pub fn folder(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::Implicit => "implicit",
            Self::ImplicitJson => "implicit-json",
            Self::Generated => "generated",
        }
    }
}

// === impl Held ===

impl Held {
    pub fn whole(origin: Origin, variable: &str, secret: &Secret) -> Self {
        let data = secret.data.iter().flatten().filter(|(key, _)| is_member(key));
        let is_json = origin == Origin::Given && is_json_password(secret);
        Self {
            origin: if is_json { Origin::ImplicitJson } else { origin },
            variable: variable.to_string(),
            secret: secret.metadata.name.clone().unwrap_or_default(),
            data: data.map(|(key, bytes)| (key.clone(), bytes.0.clone())).collect(),
        }
    }

    /// One key of a Secret with the value of an implicit variable: plain text, or JSON if the Secret is annotated so.
    ///
    /// # Errors
    /// The key is missing, or its value is not text, or not JSON.
    pub fn implicit(reference: &str, key: &str, secret: &Secret) -> Result<Self, Diagnostic> {
        let origin = if is_json(secret) {
            Origin::ImplicitJson
        } else {
            Origin::Implicit
        };
        let mut held = Self::whole(origin, reference, secret);
        held.data.retain(|one, _| one == key);
        held.value_under(key)?;
        Ok(held)
    }

    /// Reads a value from the name of its folder below [`Origin::folder`] and its files; `None` if the name is unknown.
    pub fn found(origin: Origin, folder: &str, data: BTreeMap<String, Vec<u8>>) -> Option<Self> {
        Some(Self {
            origin,
            variable: decoded(folder)?,
            secret: folder.to_string(),
            data,
        })
    }

    /// The files, by their paths below the folder of all values.
    pub fn files(&self) -> impl Iterator<Item = (String, &[u8])> {
        self.data.iter().map(|(key, bytes)| (self.path(key), bytes.as_slice()))
    }

    /// The file of a key.
    pub fn path(&self, key: &str) -> String {
        let file = match self.origin {
            Origin::Implicit | Origin::ImplicitJson => VALUE_FILE,
            Origin::Given | Origin::Generated => key,
        };
        format!("{}/{}/{file}", self.origin.folder(), encoded(&self.variable))
    }

    /// The value: of an implicit variable that of its only key, and otherwise made of all keys.
    ///
    /// # Errors
    /// Data is missing, or not text, or not JSON.
    fn value(&self) -> Result<Tree, Diagnostic> {
        if matches!(self.origin, Origin::Implicit | Origin::ImplicitJson) {
            return self.value_under(self.data.keys().next().map_or(VALUE_FILE, String::as_str));
        }
        let mut members = Vec::new();
        for (key, bytes) in self.data.iter().filter(|(key, _)| is_member(key)) {
            members.push((key.clone(), self.text(key, bytes)?));
        }
        match members.as_slice() {
            [(key, value)] if key == PASSWORD_KEY => Ok(value.clone()),
            _ => Ok(members.into_iter().collect()),
        }
    }

    fn value_under(&self, key: &str) -> Result<Tree, Diagnostic> {
        let name = &self.secret;
        let Some(bytes) = self.data.get(key) else {
            return Err(
                Diagnostic::error(codes::DEPLOYMENT_NO_KEY, format!("Secret '{name}' has no key '{key}'"))
                    .help("put the value under 'value', or under the key that follows '/' in the name of the variable"),
            );
        };
        match self.text(key, bytes)? {
            Tree::String(text) if self.origin == Origin::ImplicitJson => json::parse(&text).map_err(|_| {
                Diagnostic::error(
                    codes::DEPLOYMENT_VALUE,
                    format!("key '{key}' of Secret '{name}' is not JSON, as its annotation requires"),
                )
                .help(format!("fix it, or remove the annotation {}", labels::JSON_VALUE))
            }),
            value => Ok(value),
        }
    }

    fn text(&self, key: &str, bytes: &[u8]) -> Result<Tree, Diagnostic> {
        std::str::from_utf8(bytes).map(Tree::from).map_err(|_| {
            Diagnostic::error(
                codes::DEPLOYMENT_VALUE,
                format!("key '{key}' of Secret '{}' is not UTF-8 text", self.secret),
            )
            .help("encode binary values as text")
        })
    }
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Held({:?}, {})", self.origin, self.variable)
    }
}

// === impl Values ===

impl Values {
    /// The values in these Secrets.
    ///
    /// # Errors
    /// Data is not text or not JSON, or names contradict each other.
    pub fn of(held: &[Held]) -> Result<Self, Vec<Diagnostic>> {
        let (mut flat, mut generated, mut errors) = (Map::new(), Map::new(), Vec::new());
        for one in held {
            match one.value() {
                Ok(value) if one.origin == Origin::Generated => drop(generated.insert(one.variable.clone(), value)),
                Ok(value) => drop(flat.insert(one.variable.clone(), value)),
                Err(error) => errors.push(error),
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        // The members of what is given in parts, `a.b` and `a.c`, come in the same order wherever they are read from.
        flat.sort_keys();
        generated.sort_keys();
        Ok(Self {
            given: Table::fold(flat)?,
            generated: Tree::Object(generated),
        })
    }

    /// The values that no message may contain.
    pub fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::of(&self.given.to_tree());
        secrets.add(Secrets::generated(&self.generated));
        secrets
    }
}

/// Whether the entry under a key is a part of the value.
fn is_member(key: &str) -> bool {
    !key.starts_with(TRANSITIONAL_PREFIX)
}

/// The name of a variable, encoded as a folder name: letters, digits, `-` and `_` stay.
fn encoded(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn decoded(folder: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(folder.len());
    let mut rest = folder;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        bytes.push(u8::from_str_radix(after.get(..2)?, 16).ok()?);
        rest = after.get(2..)?;
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::ByteString;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

    fn secret(entries: &[(&str, &[u8])], annotation: Option<&str>) -> Secret {
        let data = entries
            .iter()
            .map(|(key, bytes)| ((*key).to_string(), ByteString(bytes.to_vec())));
        let annotations = annotation.map(|value| [(labels::JSON_VALUE.to_string(), value.to_string())].into());
        Secret {
            metadata: ObjectMeta {
                name: Some("s".into()),
                annotations,
                ..ObjectMeta::default()
            },
            data: Some(data.collect()),
            ..Secret::default()
        }
    }

    fn held(origin: Origin, variable: &str, entries: &[(&str, &str)]) -> Held {
        let data = entries
            .iter()
            .map(|(key, value)| (key.to_string(), value.as_bytes().to_vec()));
        Held {
            origin,
            variable: variable.into(),
            secret: format!("secret-{}", variable.len()),
            data: data.collect(),
        }
    }

    /// As a pod finds it.
    fn mounted(held: &Held) -> Held {
        let files = held.files().map(|(path, bytes)| (path, bytes.to_vec()));
        let mut folder = String::new();
        let data = files.map(|(path, bytes)| {
            let parts: Vec<&str> = path.split('/').collect();
            assert_eq!(parts.len(), 3, "{path}");
            folder = parts[1].to_string();
            (parts[2].to_string(), bytes)
        });
        let data = data.collect();
        Held::found(held.origin, &folder, data).unwrap()
    }

    #[test]
    fn pods_come_to_the_same_values_as_the_operator() {
        let all = [
            held(Origin::Given, "a.b", &[("password", "1")]),
            held(Origin::Given, "tls", &[("certificate", "c"), ("private_key", "k")]),
            held(Origin::Implicit, "/odd/../näme", &[("value", "v")]),
            held(Origin::Implicit, "x/key", &[("key", "w")]),
            held(Origin::ImplicitJson, "list", &[("value", "[1, 1.50]")]),
            held(Origin::Given, "a.a", &[("password", "2")]),
            held(Origin::Generated, "pw", &[("password", "secret")]),
        ];
        let text = |values: Values| (json::to_text(&values.given.to_tree()), json::to_text(&values.generated));
        let here = text(Values::of(&all).unwrap());
        assert!(
            here.0.contains(r#""x/key":"w""#) && here.0.contains(r#"{"a":"2","b":"1"}"#),
            "{here:?}"
        );
        let mut there: Vec<Held> = all.iter().map(mounted).collect();
        there.reverse();
        assert_eq!(text(Values::of(&there).unwrap()), here);
        assert_eq!(crate::digest(b"m", &all), crate::digest(b"m", &there));
    }

    #[test]
    fn a_given_password_may_be_json() {
        let given = |keys: &[&str], annotation: &str| {
            let entries: Vec<(&str, &[u8])> = keys.iter().map(|key| (*key, &b"[3]"[..])).collect();
            let secret = secret(&entries, Some(annotation));
            let held = Held::whole(Origin::Given, "x", &secret);
            let [here, there] = [held.clone(), mounted(&held)].map(|held| Values::of(&[held]).unwrap());
            assert_eq!(here.given, there.given);
            json::to_text(&here.given.to_tree())
        };
        assert_eq!(given(&["password"], "true"), r#"{"x":[3]}"#);
        assert_eq!(given(&["password"], "false"), r#"{"x":"[3]"}"#);
        assert_eq!(given(&["a", "b"], "true"), r#"{"x":{"a":"[3]","b":"[3]"}}"#);
    }

    #[test]
    fn a_password_alone_is_the_value_and_other_keys_are_members() {
        let value = |entries: &[(&str, &[u8])]| {
            let held = Held::whole(Origin::Given, "x", &secret(entries, None));
            held.value().map(|tree| json::to_text(&tree))
        };
        assert_eq!(value(&[("password", b"x")]).unwrap(), r#""x""#);
        assert_eq!(
            value(&[("password", b"x"), ("username", b"u")]).unwrap(),
            r#"{"password":"x","username":"u"}"#
        );
        assert_eq!(value(&[("certificate", b"c")]).unwrap(), r#"{"certificate":"c"}"#);
        let rotating: &[(&str, &[u8])] = &[("certificate", b"c"), ("transitional.private_key", b"k")];
        assert_eq!(value(rotating).unwrap(), r#"{"certificate":"c"}"#);
        let error = value(&[("password", &[0xff, 0xfe])]).unwrap_err();
        assert_eq!(error.code, "deployment-value");
    }

    #[test]
    fn an_implicit_value_is_text_unless_it_is_said_to_be_json() {
        let entries: &[(&str, &[u8])] = &[("value", b"[1, 2]"), ("broken", b"[")];
        let value = |annotation, key| {
            let held = Held::implicit("x", key, &secret(entries, annotation))?;
            held.value().map(|tree| json::to_text(&tree))
        };
        assert_eq!(value(None, "value").unwrap(), r#""[1, 2]""#);
        assert_eq!(value(Some("true"), "value").unwrap(), "[1,2]");
        assert_eq!(value(Some("false"), "value").unwrap(), r#""[1, 2]""#);
        assert_eq!(value(Some("true"), "broken").unwrap_err().code, "deployment-value");
        assert_eq!(value(None, "missing").unwrap_err().code, "deployment-no-key");
    }

    #[test]
    fn no_name_leads_out_of_the_folder() {
        for name in ["..", "../x", "/", "a/b", "", "%2e", "ä"] {
            let path = held(Origin::Given, name, &[("password", "x")]).path("password");
            assert!(!path.contains("..") && path.matches('/').count() == 2, "{path}");
            assert_eq!(decoded(&encoded(name)).as_deref(), Some(name));
        }
    }
}
