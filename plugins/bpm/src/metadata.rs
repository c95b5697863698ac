//! Labels and annotations of objects: those of the operator and of the user.

use crate::codes;
use crate::object::{compact, object};
use boson_document::{Map, Place, Report, Tree, go};
use boson_manifest::labels;
use boson_manifest::syntax::{is_label_value, is_qualified};

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
        let (labels, annotations) = (self.labels.clone(), self.annotations.clone());
        compact(object! { "name" => name, "labels" => labels, "annotations" => annotations })
    }

    /// `metadata` of a template.
    pub fn unnamed(&self) -> Tree {
        compact(object! { "labels" => self.labels.clone(), "annotations" => self.annotations.clone() })
    }

    #[must_use]
    pub fn label(mut self, key: &str, value: impl Into<Tree>) -> Self {
        self.labels.insert(key.into(), value.into());
        self
    }

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
const SELECTOR_LABELS: [&str; 10] = [
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
    if kind == Use::Labels && SELECTOR_LABELS.contains(&key) {
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
