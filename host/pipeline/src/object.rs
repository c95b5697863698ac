//! Parts that all Kubernetes objects have.

use crate::Diagnostic;
use boson_document::Code;
use boson_document::Tree;

pub(crate) fn object_error(object: &Tree, code: &Code, why: &str) -> Diagnostic {
    let message = format!("{} '{}': {why}", object.str("kind").unwrap_or("object"), name(object));
    Diagnostic::error(code, message)
}

/// `metadata.name`.
pub(crate) fn name(object: &Tree) -> &str {
    let name = object.find(&["metadata", "name"]);
    name.and_then(Tree::as_str).unwrap_or_default()
}

/// An object with this `metadata`.
pub(crate) fn new_object(api_version: &str, kind: &str, metadata: Tree) -> Tree {
    Tree::object()
        .with("apiVersion", api_version)
        .with("kind", kind)
        .with("metadata", metadata)
}

/// A member that is a map, or an empty map.
pub(crate) fn member(tree: &Tree, key: &str) -> Tree {
    let found = tree.get(key).filter(|found| found.as_object().is_some());
    found.cloned().unwrap_or_else(Tree::object)
}

/// A map of `metadata`, or an empty one.
pub(crate) fn map(object: &Tree, key: &str) -> Tree {
    member(object.get("metadata").unwrap_or(&Tree::Null), key)
}

/// Sets a map of `metadata`.
pub(crate) fn set_map(object: &mut Tree, key: &str, map: Tree) {
    let metadata = object.get("metadata").cloned().unwrap_or_default();
    object.set("metadata", metadata.with(key, map));
}

pub(crate) fn remove(tree: &mut Tree, key: &str) {
    if let Some(map) = tree.as_object_mut() {
        map.shift_remove(key);
    }
}

/// Annotations that an object passes on to the objects created from it.
pub(crate) fn annotations(object: &Tree) -> Tree {
    let mut annotations = map(object, "annotations");
    if let Some(map) = annotations.as_object_mut() {
        // The annotation by which kubectl remembers one object would make it undo changes of the other.
        map.retain(|key, _| !key.starts_with("kubectl.kubernetes.io/"));
    }
    annotations
}

/// Members of the second are set in the first.
pub(crate) fn merge(mut into: Tree, from: &Tree) -> Tree {
    for (key, value) in from.as_object().into_iter().flatten() {
        into.set(key, value.clone());
    }
    into
}

/// `metadata` of a name, labels and annotations; empty ones are left out.
pub(crate) fn metadata(name: &str, namespace: Option<&str>, labels: Tree, annotations: Tree) -> Tree {
    let mut metadata = Tree::object().with("name", name).with_some("namespace", namespace);
    for (member, map) in [("labels", labels), ("annotations", annotations)] {
        if map.as_object().is_some_and(|map| !map.is_empty()) {
            metadata.set(member, map);
        }
    }
    metadata
}

/// `metadata.namespace`.
pub(crate) fn namespace(object: &Tree) -> Option<&str> {
    object.get("metadata")?.str("namespace")
}
