//! Converts a QuarksSecret and a value to a Secret.

use crate::Diagnostic;
use crate::bundle::limits::MAX_DATA_BYTES;
use crate::encoding;
use crate::object::{annotations, map, merge, metadata, namespace, new_object, object_error, remove, set_map};
use crate::plain::codes;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_document::{Tree, json};
use boson_manifest::labels;
use boson_manifest::syntax::is_data_key;

/// Keys that Kubernetes requires in a Secret of a type.
const REQUIRED_KEYS: [(&str, &str); 3] = [
    ("kubernetes.io/tls", "tls.crt"),
    ("kubernetes.io/tls", "tls.key"),
    ("kubernetes.io/basic-auth", "username"),
];

/// The variable of a QuarksSecret, by its name in the manifest.
pub fn variable(object: &Tree) -> Option<&str> {
    let member = |map: &str, key: &str| object.get("metadata")?.get(map)?.str(key);
    member("annotations", labels::VARIABLE).or_else(|| member("labels", labels::VARIABLE_NAME))
}

/// The Secret of a QuarksSecret, with the value that was generated for it or given by the user.
///
/// # Errors
/// A type without its own value, invalid keys, or more data than a Secret holds.
pub fn secret(object: &Tree, value: &Tree) -> Result<Tree, Diagnostic> {
    let spec = object.get("spec").unwrap_or(&Tree::Null);
    let name = spec.str("secretName").unwrap_or_else(|| crate::object::name(object));
    let (kind, entries) = entries(object, spec, value)?;
    let own = map(object, "labels").get(labels::DEPLOYMENT_NAME).cloned();
    let labels: Tree = own.map(|own| (labels::DEPLOYMENT_NAME, own)).into_iter().collect();
    let labels = merge(labels, spec.get("secretLabels").unwrap_or(&Tree::Null));
    let labels = labels.with(labels::SECRET_KIND, labels::secret_kind::GENERATED);
    let mut annotations = annotations(object);
    // It controls when a value is generated, and does not describe the value.
    remove(&mut annotations, labels::UPDATE_MODE);
    let annotations = merge(annotations, spec.get("secretAnnotations").unwrap_or(&Tree::Null));
    let metadata = metadata(name, namespace(object), labels, annotations);
    let secret = new_object("v1", "Secret", metadata).with("type", kind);
    let is_missing = |key: &str| entries.iter().all(|(name, _)| name != key);
    if let Some((_, key)) = REQUIRED_KEYS.iter().find(|(of, key)| *of == kind && is_missing(key)) {
        let why = format!("its value has no member for the key '{key}'");
        return Err(object_error(object, codes::PLAIN_INVALID_VALUE, &why));
    }
    with_data(secret, &entries)
}

/// Key and text.
type Entries = Vec<(String, String)>;

/// Type of the Secret and its entries, as text.
fn entries(object: &Tree, spec: &Tree, value: &Tree) -> Result<(&'static str, Entries), Diagnostic> {
    let renamed = |names: &[(&str, &str)]| {
        let present = names
            .iter()
            .filter_map(|(from, to)| Some(((*to).to_string(), text(value.get(from)?))));
        present.collect::<Vec<_>>()
    };
    match spec.str("type").unwrap_or_default() {
        "tls" => Ok((
            "kubernetes.io/tls",
            renamed(&[("certificate", "tls.crt"), ("private_key", "tls.key"), ("ca", "ca")]),
        )),
        "basic-auth" => Ok((
            "kubernetes.io/basic-auth",
            renamed(&[("username", "username"), ("password", "password")]),
        )),
        "certificate" => {
            let mut entries = members(value);
            let is_ca = spec.find(&["request", "certificate", "isCA"]) == Some(&Tree::Bool(true));
            if value.as_object().is_some() && value.get("is_ca").is_none() {
                entries.push(("is_ca".into(), is_ca.to_string()));
            }
            Ok(("Opaque", entries))
        }
        "dockerconfigjson" | "templatedconfig" | "copy" => Err(object_error(
            object,
            codes::PLAIN_UNSUPPORTED_SECRET,
            "only the operator can create a Secret of this type, from others in the cluster",
        )),
        _ => Ok(("Opaque", members(value))),
    }
}

/// A scalar is the entry `password`, `((x))`; members are `((x.key))`.
fn members(value: &Tree) -> Entries {
    match value {
        Tree::Object(map) => map.iter().map(|(key, value)| (key.clone(), text(value))).collect(),
        scalar => vec![("password".into(), text(scalar))],
    }
}

fn text(value: &Tree) -> String {
    match value {
        Tree::String(text) => text.clone(),
        Tree::Null => String::new(),
        other => json::to_text(other),
    }
}

/// Sets `data` to values that pods read: compressed if they are large.
pub(crate) fn with_packed_data(mut secret: Tree, entries: Vec<(String, String)>) -> Result<Tree, Diagnostic> {
    let mut entries: Vec<(String, Vec<u8>)> = entries
        .into_iter()
        .map(|(key, value)| (key, value.into_bytes()))
        .collect();
    let packed = encoding::pack(entries.iter_mut().map(|(_, value)| value))
        .map_err(|error| object_error(&secret, codes::PLAIN_SECRET_TOO_LARGE, &error.to_string()))?;
    if packed {
        let annotations = map(&secret, "annotations").with(labels::ENCODING, encoding::GZIP);
        set_map(&mut secret, "annotations", annotations);
    }
    Ok(secret.with("data", encoded(&entries)))
}

/// Sets `data` to values that users read: never compressed.
fn with_data(secret: Tree, entries: &[(String, String)]) -> Result<Tree, Diagnostic> {
    if let Some((key, _)) = entries.iter().find(|(key, _)| !is_data_key(key)) {
        let why = format!("Kubernetes does not accept the key '{key}' in a Secret");
        return Err(object_error(&secret, codes::PLAIN_INVALID_KEY, &why));
    }
    let size: usize = entries.iter().map(|(_, value)| value.len()).sum();
    if size > MAX_DATA_BYTES {
        let why = format!("it would have {size} bytes, but a Secret may have at most {MAX_DATA_BYTES}");
        return Err(object_error(&secret, codes::PLAIN_SECRET_TOO_LARGE, &why));
    }
    Ok(secret.with("data", encoded(entries)))
}

fn encoded(entries: &[(String, impl AsRef<[u8]>)]) -> Tree {
    let entry = |(key, value): &(String, _)| (key.clone(), STANDARD.encode(value));
    entries.iter().map(entry).collect()
}
