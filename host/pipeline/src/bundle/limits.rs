//! Limits on the size of objects, and the parts of objects that Kubernetes checks in code rather than by schema.

use crate::Diagnostic;
use crate::bundle::codes;
use crate::object::{map, object_error};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_document::{Tree, json};
use boson_manifest::syntax::{is_data_key, is_label_value, is_qualified};

/// Limit on all values of a Secret or ConfigMap together, in bytes, as in Kubernetes.
pub const MAX_DATA_BYTES: usize = 1 << 20;
/// Limit on an object as JSON, in bytes. etcd refuses requests above 1.5 MiB, and the API server adds some bytes. A
/// full Secret takes 4/3 as base64.
pub const MAX_OBJECT_BYTES: usize = 1_500_000;
/// Limit on the objects of a deployment; one with 1,000 groups has fewer. Keeps a runaway plugin from filling a
/// cluster.
pub const MAX_OBJECTS: usize = 20_000;
/// Limit on all annotations of an object together, in bytes.
pub const MAX_ANNOTATION_BYTES: usize = 256 << 10;

pub(crate) fn check(object: &Tree) -> Result<(), Diagnostic> {
    let too_large = |why: String| Err(object_error(object, codes::BUNDLE_OBJECT_TOO_LARGE, &why));
    if let Some(kind @ ("Secret" | "ConfigMap")) = object.str("kind") {
        let size = data_size(object, kind)?;
        if size > MAX_DATA_BYTES {
            return too_large(format!(
                "it has {size} bytes, but objects of this kind may have at most {MAX_DATA_BYTES}"
            ));
        }
    }
    if !is_json(object) {
        let why = "it contains a key or a number that JSON cannot represent";
        return Err(object_error(object, codes::BUNDLE_NOT_JSON, why));
    }
    let size = json::to_text(object).len();
    if size > MAX_OBJECT_BYTES {
        return too_large(format!(
            "it has {size} bytes, but Kubernetes stores at most {MAX_OBJECT_BYTES}"
        ));
    }
    check_metadata(object)?;
    let annotations = map(object, "annotations");
    let entries = annotations.as_object().into_iter().flatten();
    let size: usize = entries
        .map(|(key, value)| key.len() + value.as_str().map_or(0, str::len))
        .sum();
    if size > MAX_ANNOTATION_BYTES {
        return too_large(format!(
            "its annotations have {size} bytes, but Kubernetes accepts at most {MAX_ANNOTATION_BYTES}"
        ));
    }
    Ok(())
}

/// Keys and values of labels and annotations.
fn check_metadata(object: &Tree) -> Result<(), Diagnostic> {
    for (member, what) in [("labels", "label"), ("annotations", "annotation")] {
        for (key, value) in map(object, member).as_object().into_iter().flatten() {
            let good = value
                .as_str()
                .is_some_and(|text| member == "annotations" || is_label_value(text));
            if !good || !is_qualified(key) {
                let why = format!("Kubernetes does not accept the {what} '{key}', or not with this value");
                return Err(object_error(object, codes::BUNDLE_INVALID_METADATA, &why));
            }
        }
    }
    Ok(())
}

/// Whether the tree is plain JSON, without the escapes of `wit/types`: Kubernetes would store the escape.
pub(crate) fn is_json(tree: &Tree) -> bool {
    match tree {
        Tree::Array(items) => items.iter().all(is_json),
        Tree::Object(map) => map.iter().all(|(key, value)| !key.starts_with('\0') && is_json(value)),
        _ => true,
    }
}

/// Size of all values, in bytes.
fn data_size(object: &Tree, kind: &str) -> Result<usize, Diagnostic> {
    let invalid = |why: &str| object_error(object, codes::BUNDLE_INVALID_DATA, why);
    let is_base64 = |member: &str| (kind == "Secret" && member == "data") || member == "binaryData";
    let mut size = 0;
    for member in ["data", "stringData", "binaryData"] {
        for (key, value) in object.get(member).and_then(Tree::as_object).into_iter().flatten() {
            if !is_data_key(key) {
                return Err(invalid(&format!("Kubernetes does not accept the key '{key}'")));
            }
            let text = value
                .as_str()
                .ok_or_else(|| invalid(&format!("the value of its key '{key}' is no text")))?;
            size += if is_base64(member) {
                STANDARD
                    .decode(text)
                    .map_err(|_| invalid(&format!("the value of its key '{key}' is not base64")))?
                    .len()
            } else {
                text.len()
            };
        }
    }
    Ok(size)
}
