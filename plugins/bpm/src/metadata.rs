//! Labels and annotations of objects: those of the operator and of the user, and Kubernetes' rules for them.

use crate::codes;
use crate::object::{compact, object};
use boson_document::{Map, Place, Report, Tree, go};
use boson_manifest::labels;

/// Labels and annotations that all objects of a deployment or a group carry.
#[derive(Clone, Debug, Default)]
pub struct Metadata {
    pub labels: Map,
    pub annotations: Map,
}

// === impl Metadata ===

impl Metadata {
    /// `metadata` of an object.
    pub fn named(&self, name: &str) -> Tree {
        let mut tree = object! { "name" => name };
        if let Tree::Object(rest) = self.unnamed() {
            rest.into_iter().for_each(|(key, value)| {
                tree.set(key, value);
            });
        }
        tree
    }

    /// `metadata` of a template.
    pub fn unnamed(&self) -> Tree {
        compact(object! { "labels" => self.labels.clone(), "annotations" => self.annotations.clone() })
    }

    /// Adds a label.
    #[must_use]
    pub fn label(mut self, key: &str, value: impl Into<Tree>) -> Self {
        self.labels.insert(key.into(), value.into());
        self
    }

    /// Adds an annotation.
    #[must_use]
    pub fn annotate(mut self, key: &str, value: impl Into<Tree>) -> Self {
        self.annotations.insert(key.into(), value.into());
        self
    }
}

/// The use of a user's map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Labels,
    /// Annotations: `tags`, `annotations`.
    Annotations,
}

/// Labels in selectors of Services, StatefulSets and controllers.
const OWN: [&str; 10] = [
    labels::DEPLOYMENT_NAME,
    labels::INSTANCE_GROUP_NAME,
    labels::AZ_INDEX,
    labels::AZ_NAME,
    labels::STATEFUL_SET_NAME,
    labels::POD_ACTIVE,
    labels::QUARKS_JOB_NAME,
    labels::KUBERNETES_POD_INDEX,
    labels::POD_ORDINAL,
    labels::DEPLOYMENT_VERSION,
];

/// The entries of a user's map that are valid in Kubernetes; the others are errors.
pub fn user_map(tree: Option<&Tree>, kind: Use, place: &Place, report: &mut Report) -> Map {
    let mut out = Map::new();
    for (key, value) in tree.and_then(Tree::as_object).into_iter().flatten() {
        match entry(key, value, kind) {
            Ok(text) => {
                out.insert(key.clone(), text.into());
            }
            Err(why) => {
                report.error(codes::METADATA, place.at(key), why);
            }
        }
    }
    out
}

fn entry(key: &str, value: &Tree, kind: Use) -> Result<String, String> {
    let what = if kind == Use::Labels {
        "label"
    } else {
        "tag or annotation"
    };
    if !is_qualified(key) {
        return Err(format!("'{key}' is not a valid name of a {what} in Kubernetes"));
    }
    if kind == Use::Labels && OWN.contains(&key) {
        return Err(format!("The label '{key}' is reserved for the operator"));
    }
    let Some(text) = go::text(value) else {
        return Err(format!("The value of '{key}' is not a string"));
    };
    if kind == Use::Labels && !is_label_value(&text) {
        return Err(format!("The value of the label '{key}' is not valid in Kubernetes"));
    }
    Ok(text)
}

/// `[prefix/]name`, as keys of labels and annotations are.
pub fn is_qualified(key: &str) -> bool {
    let (prefix, name) = key
        .rsplit_once('/')
        .map_or((None, key), |(prefix, name)| (Some(prefix), name));
    !name.is_empty() && is_label_value(name) && prefix.is_none_or(is_subdomain)
}

/// Whether the text is valid as the value of a label: at most 63 letters, digits, `-`, `_`, `.`, a letter or digit at
/// both ends; may be empty.
pub fn is_label_value(text: &str) -> bool {
    let inside = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    text.len() <= 63 && text.bytes().all(inside) && ends_well(text, |b| b.is_ascii_alphanumeric())
}

/// A DNS name of lower-case labels.
pub fn is_subdomain(text: &str) -> bool {
    let inside = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let label =
        |part: &str| !part.is_empty() && part.bytes().all(|b| inside(b) || b == b'-') && ends_well(part, inside);
    text.len() <= 253 && text.split('.').all(label)
}

/// One label of a DNS name, as names of volumes and namespaces are.
pub fn is_label(text: &str) -> bool {
    text.len() <= 63 && !text.contains('.') && is_subdomain(text)
}

fn ends_well(text: &str, good: impl Fn(u8) -> bool) -> bool {
    [text.bytes().next(), text.bytes().last()]
        .into_iter()
        .flatten()
        .all(good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_obey_kubernetes() {
        for (key, good) in [
            ("app", true),
            ("a.b/c_D", true),
            ("A/b", false),
            ("a/b/c", false),
            ("a b", false),
            ("", false),
            ("a/", false),
        ] {
            assert_eq!(is_qualified(key), good, "{key}");
        }
        for (value, good) in [
            ("", true),
            ("v1.2_x", true),
            ("-a", false),
            ("a b", false),
            (&"x".repeat(64), false),
        ] {
            assert_eq!(is_label_value(value), good, "{value}");
        }
    }
}
