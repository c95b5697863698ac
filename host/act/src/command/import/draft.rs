//! The Secrets for imported values. Pure.

use super::input::Entry;
use crate::codes;
use boson_document::{Tree, json};
use boson_in_pod::secrets;
use boson_manifest::labels::{self, secret_kind};
use boson_manifest::names::{NameError, Names};
use boson_manifest::syntax::is_data_key;
use boson_pipeline::Diagnostic;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::{BTreeMap, BTreeSet};

/// Types of values that the operator generates, with the members that each needs.
const GENERATED_TYPES: [(&str, &[&str]); 5] = [
    ("certificate", &["certificate"]),
    ("password", &[]),
    ("rsa", &["private_key", "public_key"]),
    ("ssh", &["private_key", "public_key"]),
    ("user", &["username", "password"]),
];
const PASSWORD: &str = "password";

/// The variables of a manifest.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Those that it defines, with their types.
    pub defined: BTreeMap<String, String>,
    /// Those that it refers to.
    pub used: BTreeSet<String>,
}

/// A variable in the table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Variable {
    pub name: String,
    pub kind: String,
}

/// A Secret, without a namespace.
pub struct Draft {
    pub secret: Secret,
    /// What it has the values of.
    pub variables: Vec<Variable>,
}

/// What is to be imported.
#[derive(Default)]
pub struct Drafts {
    /// By name of the Secret.
    pub secrets: BTreeMap<String, Draft>,
    /// Variables that the manifest does not have.
    pub unused: Vec<Variable>,
}

enum Content<'e> {
    /// Of a variable that the manifest defines, or could define.
    Generated { entry: &'e Entry, kind: String },
    /// Of a variable that the manifest only refers to: by the keys of the Secret.
    Implicit {
        variable: &'e str,
        parts: BTreeMap<&'e str, &'e Entry>,
    },
}

/// The Secrets for these values. Without a manifest, the type of a value tells whether a manifest can define its
/// variable.
///
/// # Errors
/// All values that cannot be imported.
pub fn drafts(entries: &[Entry], wanted: Option<&Wanted>, names: &Names) -> Result<Drafts, Vec<Diagnostic>> {
    let (mut contents, mut errors) = (BTreeMap::new(), Vec::new());
    let mut drafts = Drafts::default();
    for entry in deduplicate(entries, &mut errors) {
        let own = kind(entry);
        let defined = match wanted {
            Some(wanted) => wanted.defined.get(&entry.name).cloned(),
            None => is_generated(&own).then(|| own.clone()),
        };
        if defined.is_none() && wanted.is_some_and(|wanted| !wanted.used.contains(&entry.name)) {
            drafts.unused.push(Variable {
                name: entry.name.clone(),
                kind: own,
            });
        } else if let Err(error) = add(&mut contents, entry, defined, names) {
            errors.push(error);
        }
    }
    for (name, content) in &contents {
        match content.draft(name, names) {
            Ok(draft) => {
                drafts.secrets.insert(name.clone(), draft);
            }
            Err(error) => errors.push(error),
        }
    }
    drafts.unused.sort();
    if errors.is_empty() { Ok(drafts) } else { Err(errors) }
}

/// Each variable once.
fn deduplicate<'e>(entries: &'e [Entry], errors: &mut Vec<Diagnostic>) -> Vec<&'e Entry> {
    let mut seen: BTreeMap<&str, &Entry> = BTreeMap::new();
    let mut all = Vec::new();
    for entry in entries {
        match seen.get(entry.name.as_str()) {
            Some(first) if first.value == entry.value => {}
            Some(first) => errors.push(entry.error(format!(
                "variable '{}' has another value in '{}'",
                entry.name, first.document
            ))),
            None => {
                seen.insert(&entry.name, entry);
                all.push(entry);
            }
        }
    }
    all
}

/// Adds a value to the content of its Secret. `defined`: the type, if the manifest defines the variable.
fn add<'e>(
    contents: &mut BTreeMap<String, Content<'e>>,
    entry: &'e Entry,
    defined: Option<String>,
    names: &Names,
) -> Result<(), Diagnostic> {
    if entry.value.is_null() {
        return Err(entry.error(format!("variable '{}' has no value", entry.name)));
    }
    let name_error = |error: NameError| entry.error(error.to_string());
    let (variable, key) = secrets::implicit(&entry.name);
    let name = match defined {
        Some(_) => names.variable(&entry.name),
        None => names.implicit_variable(variable),
    };
    let name = name.map_err(name_error)?;
    let conflict = |first: &str| {
        name_error(NameError::Conflict {
            kind: "Secret",
            name: name.clone(),
            first: format!("Variable '{first}'"),
            second: format!("variable '{}'", entry.name),
        })
    };
    match (contents.get_mut(&name), defined) {
        (Some(Content::Implicit { variable: first, parts }), None) if *first == variable => {
            if parts.insert(key, entry).is_some() {
                return Err(conflict(first));
            }
        }
        (Some(first), _) => return Err(conflict(first.variable())),
        (None, Some(kind)) => {
            contents.insert(name, Content::Generated { entry, kind });
        }
        (None, None) => {
            let parts = [(key, entry)].into();
            contents.insert(name, Content::Implicit { variable, parts });
        }
    }
    Ok(())
}

// === impl Content ===

impl Content<'_> {
    fn variable(&self) -> &str {
        match self {
            Self::Generated { entry, .. } => &entry.name,
            Self::Implicit { variable, .. } => variable,
        }
    }

    fn draft(&self, name: &str, names: &Names) -> Result<Draft, Diagnostic> {
        let mut metadata = ObjectMeta {
            name: Some(name.to_string()),
            ..ObjectMeta::default()
        };
        let mut annotations = BTreeMap::from([(labels::VARIABLE.to_string(), self.variable().to_string())]);
        let (data, variables) = match self {
            Self::Generated { entry, kind } => {
                // With this label, the operator adopts the value as if it had generated it.
                metadata.labels = Some(BTreeMap::from([
                    (labels::SECRET_KIND.to_string(), secret_kind::GENERATED.to_string()),
                    (labels::DEPLOYMENT_NAME.to_string(), names.deployment()),
                ]));
                let variable = Variable {
                    name: entry.name.clone(),
                    kind: kind.clone(),
                };
                (members(entry, kind)?, vec![variable])
            }
            Self::Implicit { parts, .. } => {
                let is_json = parts.values().any(|entry| entry.value.as_str().is_none());
                if is_json {
                    annotations.insert(labels::JSON_VALUE.into(), "true".into());
                }
                let (mut data, mut variables) = (BTreeMap::new(), Vec::new());
                for (key, entry) in parts {
                    check_key(entry, key)?;
                    let value = if is_json {
                        json::to_text(&entry.value)
                    } else {
                        text(&entry.value)
                    };
                    data.insert((*key).to_string(), value);
                    variables.push(Variable {
                        name: entry.name.clone(),
                        kind: kind(entry),
                    });
                }
                (data, variables)
            }
        };
        metadata.annotations = Some(annotations);
        let data = data.into_iter().map(|(key, text)| (key, ByteString(text.into_bytes())));
        let secret = Secret {
            metadata,
            type_: Some("Opaque".into()),
            data: Some(data.collect()),
            ..Secret::default()
        };
        Ok(Draft { secret, variables })
    }
}

/// The data of a Secret for a value of this type, as the operator stores what it generates.
fn members(entry: &Entry, kind: &str) -> Result<BTreeMap<String, String>, Diagnostic> {
    let name = &entry.name;
    let needed = GENERATED_TYPES.iter().find(|(one, _)| *one == kind);
    let needed = needed.map_or(&[][..], |(_, members)| *members);
    let not_a = |what: &str| {
        let message = format!("variable '{name}' has the type {kind}, but its value is not a {what}");
        entry.error(message)
    };
    let map = match &entry.value {
        Tree::Object(map) if kind != PASSWORD => map,
        Tree::Object(_) | Tree::Array(_) => return Err(not_a("text")),
        value if needed.is_empty() => return Ok([(PASSWORD.to_string(), text(value))].into()),
        _ => return Err(not_a("map")),
    };
    if let Some(missing) = needed.iter().find(|key| map.get(**key).is_none_or(Tree::is_null)) {
        let message = format!("the value of variable '{name}' of type {kind} has no member '{missing}'");
        return Err(entry.error(message));
    }
    let mut data = BTreeMap::new();
    for (key, value) in map.iter().filter(|(_, value)| !value.is_null()) {
        check_key(entry, key)?;
        data.insert(key.clone(), text(value));
    }
    Ok(data)
}

fn check_key(entry: &Entry, key: &str) -> Result<(), Diagnostic> {
    if is_data_key(key) {
        return Ok(());
    }
    let name = &entry.name;
    Err(entry.error(format!(
        "a part of variable '{name}' has a name that cannot be the key of a Secret"
    )))
}

fn text(value: &Tree) -> String {
    value.as_str().map_or_else(|| json::to_text(value), str::to_string)
}

/// The type in the file, or the one that the value looks like.
fn kind(entry: &Entry) -> String {
    let has = |key: &str| entry.value.get(key).is_some();
    let kind = match (&entry.kind, &entry.value) {
        (Some(kind), _) => kind.as_str(),
        (None, Tree::String(_)) => PASSWORD,
        _ if has("certificate") => "certificate",
        _ if has("public_key_fingerprint") => "ssh",
        _ if has("public_key") && has("private_key") => "rsa",
        _ if has("username") && has("password") => "user",
        (None, Tree::Object(_) | Tree::Array(_)) => "json",
        (None, _) => "value",
    };
    kind.to_string()
}

fn is_generated(kind: &str) -> bool {
    GENERATED_TYPES.iter().any(|(one, _)| *one == kind)
}

/// No deployment can have this name.
pub fn name_error(error: &NameError) -> Diagnostic {
    Diagnostic::error(codes::IMPORT_VALUE, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::input;
    use super::*;
    use boson_pipeline::yaml;
    use serde_json::{Value, json};

    fn names() -> Names {
        Names::new("nats", "n", "").unwrap()
    }

    fn drafted(store: &str, wanted: Option<&Wanted>) -> Result<Drafts, Vec<Diagnostic>> {
        let document = yaml::read("s.yml", store).unwrap();
        drafts(&input::of_vars_store(&document).unwrap(), wanted, &names())
    }

    /// Name of the Secret, its data, and whether it is JSON.
    fn content(drafts: &Drafts) -> Value {
        let texts = |secret: &Secret| -> BTreeMap<String, String> {
            let data = secret.data.iter().flatten();
            data.map(|(key, bytes)| (key.clone(), String::from_utf8(bytes.0.clone()).unwrap()))
                .collect()
        };
        let all = drafts.secrets.iter();
        all.map(|(name, draft)| (name.clone(), json!(texts(&draft.secret))))
            .collect()
    }

    fn annotation<'d>(drafts: &'d Drafts, secret: &str, key: &str) -> Option<&'d str> {
        let annotations = drafts.secrets[secret].secret.metadata.annotations.as_ref()?;
        annotations.get(key).map(String::as_str)
    }

    #[test]
    fn values_of_generated_types_become_the_secrets_that_the_operator_adopts() {
        let store = "
word: secret
admin: {username: admin, password: p, password_hash: h}
ca: {certificate: c, private_key: k, ca: null}
key: {private_key: k, public_key: p}
shell: {private_key: k, public_key: p, public_key_fingerprint: f}
";
        let drafts = drafted(store, None).unwrap();
        assert_eq!(
            content(&drafts),
            json!({
                "nats.var-admin": {"password": "p", "password_hash": "h", "username": "admin"},
                "nats.var-ca": {"certificate": "c", "private_key": "k"},
                "nats.var-key": {"private_key": "k", "public_key": "p"},
                "nats.var-shell": {"private_key": "k", "public_key": "p", "public_key_fingerprint": "f"},
                "nats.var-word": {"password": "secret"},
            })
        );
        let kinds: Vec<&str> = drafts
            .secrets
            .values()
            .map(|draft| draft.variables[0].kind.as_str())
            .collect();
        assert_eq!(kinds, ["user", "certificate", "rsa", "ssh", "password"]);
        let labels = drafts.secrets["nats.var-ca"].secret.metadata.labels.as_ref().unwrap();
        assert_eq!(labels[labels::SECRET_KIND], secret_kind::GENERATED);
        assert_eq!(labels[labels::DEPLOYMENT_NAME], "nats");
    }

    #[test]
    fn other_values_are_those_of_variables_that_the_manifest_only_refers_to() {
        let drafts = drafted("list: [1, a]\nport: 80\nx/a: text\nx/b: {c: 1}\n", None).unwrap();
        assert_eq!(
            content(&drafts),
            json!({"nats.var-implicit-list": {"value": "[1,\"a\"]"}, "nats.var-implicit-port": {"value": "80"},
                "nats.var-implicit-x": {"b": "{\"c\":1}"}, "nats.var-xa": {"password": "text"}})
        );
        let json = |secret: &str| annotation(&drafts, secret, labels::JSON_VALUE);
        assert_eq!(
            (json("nats.var-implicit-list"), json("nats.var-xa")),
            (Some("true"), None)
        );
        assert!(
            drafts.secrets["nats.var-implicit-list"]
                .secret
                .metadata
                .labels
                .is_none()
        );
    }

    #[test]
    fn a_manifest_decides_what_is_defined_and_used() {
        let wanted = Wanted {
            defined: BTreeMap::from([("word".into(), "password".into())]),
            used: ["domain", "x/a", "x/b"].map(String::from).into(),
        };
        let drafts = drafted("word: 7\ndomain: d\nold: o\nx/a: text\nx/b: [1]\n", Some(&wanted)).unwrap();
        assert_eq!(
            content(&drafts),
            json!({"nats.var-implicit-domain": {"value": "d"}, "nats.var-implicit-x": {"a": "\"text\"", "b": "[1]"},
                "nats.var-word": {"password": "7"}})
        );
        assert_eq!(drafts.unused[0].name, "old");
    }

    #[test]
    fn names_lose_the_characters_that_secrets_cannot_have() {
        let drafts = drafted("/dns_ca: {certificate: c}\nA_b!: w\n", None).unwrap();
        let names: Vec<&str> = drafts.secrets.keys().map(String::as_str).collect();
        assert_eq!(names, ["nats.var-a-b", "nats.var-dns-ca"]);
        assert_eq!(
            annotation(&drafts, "nats.var-dns-ca", labels::VARIABLE),
            Some("/dns_ca")
        );
    }

    #[test]
    fn errors_name_the_variable_and_no_value() {
        let typed = |kind: &str| Wanted {
            defined: BTreeMap::from([("a".into(), kind.into())]),
            used: BTreeSet::new(),
        };
        for (store, wanted, part) in [
            ("a: {x: CANARY}", Some(typed("password")), "is not a text"),
            ("a: CANARY", Some(typed("certificate")), "is not a map"),
            (
                "a: {private_key: CANARY}",
                Some(typed("certificate")),
                "no member 'certificate'",
            ),
            ("a: {username: CANARY}", Some(typed("user")), "no member 'password'"),
            ("a: {public_key: CANARY}", Some(typed("ssh")), "no member 'private_key'"),
            ("a: null", None, "has no value"),
            ("'!': CANARY", None, "no letter or digit"),
            ("a_b: CANARY\na-b: CANARY", None, "the same Secret name 'nats.var-a-b'"),
            (
                "a: {certificate: c, 'x y': CANARY}",
                None,
                "cannot be the key of a Secret",
            ),
        ] {
            let errors = drafted(store, wanted.as_ref()).err().unwrap();
            let message = &errors[0].message;
            assert!(
                errors.len() == 1 && message.contains(part) && !message.contains("CANARY"),
                "{message}"
            );
            assert!(errors[0].place.pointer.is_some(), "{message}");
        }
    }

    #[test]
    fn two_files_may_agree_on_a_value() {
        let read = |text: &str| input::of_vars_store(&yaml::read("s.yml", text).unwrap()).unwrap();
        let all = |second: &str| drafts(&[read("a: 1"), read(second)].concat(), None, &names());
        assert_eq!(all("a: 1").unwrap().secrets.len(), 1);
        assert!(all("a: 2").err().unwrap()[0].message.contains("has another value"));
    }
}
