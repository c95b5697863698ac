//! How large objects may be, and the parts of them that Kubernetes checks by hand.

use crate::Diagnostic;
use crate::object::{fault, is_label_value, is_qualified, map};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_document::{Tree, json};

/// Bytes in all values of a Secret or ConfigMap: Kubernetes refuses more.
pub const DATA_LIMIT: usize = 1 << 20;
/// Bytes of an object as JSON: etcd refuses requests above 1.5 MiB, of which the server needs some. Base64 makes 4/3 of a full Secret.
pub const OBJECT_LIMIT: usize = 1_500_000;
/// Objects of a deployment; one of 1,000 groups has fewer. Keeps a runaway plugin from filling a cluster.
pub const OBJECTS: usize = 20_000;
/// Bytes of all annotations of an object.
pub const ANNOTATIONS_LIMIT: usize = 256 << 10;

/// Is the object within all limits?
pub(crate) fn check(object: &Tree) -> Result<(), Box<Diagnostic>> {
    let too_large = |why: String| Err(fault(object, "bundle-object-too-large", &why));
    if let Some(kind @ ("Secret" | "ConfigMap")) = object.str("kind") {
        let size = data_size(object, kind)?;
        if size > DATA_LIMIT {
            return too_large(format!(
                "it holds {size} bytes, and objects of this kind hold at most {DATA_LIMIT}"
            ));
        }
    }
    if !is_json(object) {
        return Err(fault(
            object,
            "bundle-not-json",
            "it holds a key or a number that YAML has and JSON lacks",
        ));
    }
    let size = json::to_text(object).len();
    if size > OBJECT_LIMIT {
        return too_large(format!(
            "it has {size} bytes, and Kubernetes stores at most {OBJECT_LIMIT}"
        ));
    }
    check_metadata(object)?;
    let annotations = map(object, "annotations");
    let entries = annotations.as_object().into_iter().flatten();
    let size: usize = entries
        .map(|(key, value)| key.len() + value.as_str().map_or(0, str::len))
        .sum();
    if size > ANNOTATIONS_LIMIT {
        return too_large(format!(
            "its annotations have {size} bytes, and Kubernetes takes at most {ANNOTATIONS_LIMIT}"
        ));
    }
    Ok(())
}

/// Keys and values of labels and annotations.
fn check_metadata(object: &Tree) -> Result<(), Box<Diagnostic>> {
    for (member, what) in [("labels", "label"), ("annotations", "annotation")] {
        for (key, value) in map(object, member).as_object().into_iter().flatten() {
            let good = value
                .as_str()
                .is_some_and(|text| member == "annotations" || is_label_value(text));
            if !good || !is_qualified(key) {
                let why = format!("Kubernetes does not take the {what} '{key}', or not with this value");
                return Err(fault(object, "bundle-invalid-metadata", &why));
            }
        }
    }
    Ok(())
}

/// Is nothing in it escaped as `wit/types` says? Kubernetes would store the escape.
fn is_json(tree: &Tree) -> bool {
    match tree {
        Tree::Array(items) => items.iter().all(is_json),
        Tree::Object(map) => map.iter().all(|(key, value)| !key.starts_with('\0') && is_json(value)),
        _ => true,
    }
}

/// Bytes of all values.
fn data_size(object: &Tree, kind: &str) -> Result<usize, Box<Diagnostic>> {
    let invalid = |why: &str| fault(object, "bundle-invalid-data", why);
    let is_base64 = |member: &str| (kind == "Secret" && member == "data") || member == "binaryData";
    let mut size = 0;
    for member in ["data", "stringData", "binaryData"] {
        for (key, value) in object.get(member).and_then(Tree::as_object).into_iter().flatten() {
            if !is_data_key(key) {
                return Err(invalid(&format!("Kubernetes takes no key '{key}'")));
            }
            let text = value
                .as_str()
                .ok_or_else(|| invalid(&format!("the value of its key '{key}' is no text")))?;
            size += match is_base64(member) {
                true => STANDARD
                    .decode(text)
                    .map_err(|_| invalid(&format!("the value of its key '{key}' is not base64")))?
                    .len(),
                false => text.len(),
            };
        }
    }
    Ok(size)
}

/// At most 253 letters, digits, `-`, `_`, `.`; neither `.` nor `..` nor what begins with the latter.
pub(crate) fn is_data_key(key: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=253).contains(&key.len()) && key.bytes().all(inside) && key != "." && !key.starts_with("..")
}
