//! Labels and annotations. Those of the operator are reserved: a plugin may set only the ones that the built-in plugins
//! set. With the others it could make the operator load a ConfigMap as a plugin, use a Secret as a version, or rotate
//! other Secrets. An administrator may restrict all others.

use super::permissions::{KeyPattern, Rights};
use super::{MANAGED_BY, PART_OF};
use crate::Diagnostic;
use crate::bundle::codes;
use crate::object::object_error;
use boson_document::Tree;
use boson_manifest::labels;
use std::collections::BTreeSet;

/// Checks all labels and annotations of an object and of its templates. `deployment`: the deployment that the object
/// belongs to.
///
/// # Errors
/// The first label or annotation that a plugin may not set.
pub(crate) fn check(object: &Tree, deployment: &str) -> Result<(), Diagnostic> {
    for mark in of(object) {
        if mark.key == labels::DEPLOYMENT_NAME {
            if mark.value.as_str() != Some(deployment) {
                let why = format!("its '{}' names another deployment", mark.key);
                return Err(object_error(object, codes::BUNDLE_FOREIGN_OBJECT, &why));
            }
        } else if mark.is_of_operator() && !labels::SET_BY_RULES.contains(&mark.key) {
            let why = format!("the label or annotation '{}' is reserved for the operator", mark.key);
            return Err(object_error(object, codes::BUNDLE_RESERVED_MARK, &why));
        }
    }
    Ok(())
}

/// Checks the labels and annotations that a plugin has added or changed. `before`: the object before that;
/// `requested`: keys that the manifest sets.
///
/// # Errors
/// The first one that an administrator does not allow it.
pub(crate) fn check_allowed(
    object: &Tree,
    before: Option<&Tree>,
    rights: &Rights<'_>,
    requested: &BTreeSet<String>,
) -> Result<(), Diagnostic> {
    if rights.labels.is_none() && rights.annotations.is_none() {
        return Ok(());
    }
    let before: BTreeSet<(String, &str, String)> =
        before.map_or_else(BTreeSet::new, |before| of(before).iter().map(Mark::identity).collect());
    let set_by_plugin = |mark: &Mark<'_>| {
        !mark.is_of_operator()
            && ![MANAGED_BY, PART_OF].contains(&mark.key)
            && !requested.contains(mark.key)
            && !before.contains(&mark.identity())
    };
    for mark in of(object).into_iter().filter(set_by_plugin) {
        let (allowed, what) = if mark.is_annotation {
            (&rights.annotations, "annotation")
        } else {
            (&rights.labels, "label")
        };
        let allows = |patterns: &Vec<KeyPattern>| patterns.iter().any(|pattern| pattern.allows(mark.key));
        if allowed.as_ref().is_none_or(allows) {
            continue;
        }
        let why = format!("it sets the {what} '{}' in {}", mark.key, mark.place);
        let error = object_error(object, codes::BUNDLE_KEY_NOT_ALLOWED, &why);
        let help = format!(
            "an administrator can allow it with --allow-{what} {}{}",
            rights.author.prefix(),
            mark.key
        );
        return Err(error.help(help));
    }
    Ok(())
}

/// The keys that a manifest sets: `tags`, and `labels` and `annotations` of groups and of the cloud config. Properties
/// of jobs set none.
pub(crate) fn requested(manifest: &Tree) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    note_requested(manifest, &mut keys);
    keys
}

fn note_requested(tree: &Tree, keys: &mut BTreeSet<String>) {
    match tree {
        Tree::Array(items) => items.iter().for_each(|item| note_requested(item, keys)),
        Tree::Object(map) => {
            for (member, value) in map.iter().filter(|(member, _)| *member != "properties") {
                match (member.as_str(), value.as_object()) {
                    ("labels" | "annotations" | "tags", Some(map)) => keys.extend(map.keys().cloned()),
                    _ => note_requested(value, keys),
                }
            }
        }
        _ => {}
    }
}

/// A label or annotation.
struct Mark<'t> {
    /// The map that it is in: `spec.template.metadata.labels`.
    place: String,
    is_annotation: bool,
    key: &'t str,
    value: &'t Tree,
}

// === impl Mark ===

impl<'t> Mark<'t> {
    fn is_of_operator(&self) -> bool {
        let domain = self.key.split_once('/').map_or("", |(domain, _)| domain);
        domain == labels::GROUP || domain.ends_with(labels::SUBDOMAINS)
    }

    /// What has to be the same for a mark to be unchanged.
    fn identity(&self) -> (String, &'t str, String) {
        let value = boson_document::json::to_text(self.value);
        (self.place.clone(), self.key, value)
    }
}

/// All labels and annotations of an object, its templates and the objects that it describes.
fn of(object: &Tree) -> Vec<Mark<'_>> {
    let mut found = Vec::new();
    collect(object, &mut Vec::new(), &mut found);
    found
}

fn collect<'t>(tree: &'t Tree, path: &mut Vec<&'t str>, found: &mut Vec<Mark<'t>>) {
    match tree {
        // Without the position: an item that is inserted before must not make the others look changed.
        Tree::Array(items) => items.iter().for_each(|item| collect(item, path, found)),
        Tree::Object(map) => {
            for (member, value) in map {
                path.push(member);
                if are_marks(member) {
                    found.extend(value.as_object().into_iter().flatten().map(|(key, value)| Mark {
                        place: path.join("."),
                        is_annotation: member.to_lowercase().ends_with("annotations"),
                        key,
                        value,
                    }))
                } else {
                    collect(value, path, found)
                }
                path.pop();
            }
        }
        _ => {}
    }
}

/// `labels`, `annotations`, and members such as `secretLabels`, which become labels of another object. Selectors are
/// not included: they set no labels.
fn are_marks(member: &str) -> bool {
    let ends = |end: &str| member.strip_suffix(end).is_some_and(|rest| rest != "match");
    ["labels", "annotations", "Labels", "Annotations"].into_iter().any(ends)
}
