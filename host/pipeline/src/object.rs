//! Parts that all Kubernetes objects have.

use crate::Diagnostic;
use boson_document::Tree;

/// An error about an object.
pub(crate) fn fault(object: &Tree, code: &str, why: &str) -> Box<Diagnostic> {
    let message = format!("{} '{}': {why}", object.str("kind").unwrap_or("object"), name(object));
    Box::new(Diagnostic::error(code, message))
}

/// `metadata.name`.
pub(crate) fn name(object: &Tree) -> &str {
    object
        .get("metadata")
        .and_then(|metadata| metadata.str("name"))
        .unwrap_or_default()
}

/// A map of `metadata`, or an empty one.
pub(crate) fn map(object: &Tree, member: &str) -> Tree {
    let found = object.get("metadata").and_then(|metadata| metadata.get(member));
    found
        .filter(|tree| tree.as_object().is_some())
        .cloned()
        .unwrap_or_else(Tree::object)
}

/// Annotations that an object passes on to those made from it.
pub(crate) fn annotations(object: &Tree) -> Tree {
    let mut annotations = map(object, "annotations");
    if let Some(map) = annotations.as_object_mut() {
        // What kubectl remembers of one object would make it undo changes of the other.
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
    let mut metadata = Tree::object().with("name", name);
    if let Some(namespace) = namespace {
        metadata.set("namespace", namespace);
    }
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
