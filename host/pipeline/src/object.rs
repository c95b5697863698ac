//! Parts that all Kubernetes objects have.

use crate::Diagnostic;
use crate::name_rule::NameRule;
use boson_document::Code;
use boson_document::Tree;
use boson_manifest::names::{MAX_LABEL_LENGTH, MAX_SUBDOMAIN_LENGTH};

/// An error about an object.
pub(crate) fn fault(object: &Tree, code: &Code, why: &str) -> Box<Diagnostic> {
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

/// Whether the text is valid as the value of a label: at most 63 letters, digits, `-`, `_`, `.`, a letter or digit at
/// both ends; may be empty.
pub(crate) fn is_label_value(text: &str) -> bool {
    let outside = |byte: u8| byte.is_ascii_alphanumeric();
    let ends = [text.bytes().next(), text.bytes().last()];
    text.len() <= MAX_LABEL_LENGTH
        && text
            .bytes()
            .all(|byte| outside(byte) || matches!(byte, b'-' | b'_' | b'.'))
        && ends.into_iter().flatten().all(outside)
}

/// `[prefix/]name`, as keys of labels and annotations are.
pub(crate) fn is_qualified(key: &str) -> bool {
    let (prefix, name) = key
        .split_once('/')
        .map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let dns = |prefix: &str| NameRule::Subdomain(MAX_SUBDOMAIN_LENGTH).check(prefix).is_ok();
    !name.is_empty() && is_label_value(name) && prefix.is_none_or(dns)
}
