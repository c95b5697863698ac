//! What is attached to an image, as text and as JSON.

use super::{Item, Kind, Names, State};
use boson_commands::columns::section;
use boson_document::Tree;

// === impl State ===

impl State {
    fn text(&self, names: &Names) -> String {
        match self {
            Self::Verified(author) => format!("verified, {}", names.name(author)),
            Self::Present => "present, not verified".to_string(),
            Self::OtherKey => "not by a given key or identity".to_string(),
            Self::OtherSubject => "about something else".to_string(),
            Self::Unsigned => "not signed".to_string(),
        }
    }

    /// For programs.
    fn word(&self) -> &'static str {
        match self {
            Self::Verified(_) => "verified",
            Self::Present => "present",
            Self::OtherKey => "other-key",
            Self::OtherSubject => "other-subject",
            Self::Unsigned => "unsigned",
        }
    }
}

/// Sections for people.
pub fn text(items: &[Item], names: &Names) -> String {
    let (mut signatures, mut sboms, mut statements, mut unreadable) = (vec![], vec![], vec![], vec![]);
    for item in items {
        let (state, about) = (item.state.text(names), item.subjects.join(", "));
        match &item.kind {
            Kind::Signature => signatures.push([about, state]),
            Kind::Sbom(sbom) => {
                let components = match sbom.components {
                    None => "unknown components".to_string(),
                    Some(1) => "1 component".to_string(),
                    Some(count) => format!("{count} components"),
                };
                sboms.push([sbom.format.clone(), components, about, state]);
            }
            Kind::Statement(kind, builder) => {
                let builder = builder.as_ref().map(|builder| format!("built by {builder}"));
                statements.push([kind.clone(), builder.unwrap_or_default(), about, state]);
            }
            Kind::Unreadable(media_type) => unreadable.push([media_type.clone(), item.place.clone()]),
        }
    }
    let mut text = section("signatures", &signatures);
    text.push_str(&section("bills of materials", &sboms));
    text.push_str(&section("attestations", &statements));
    if !unreadable.is_empty() {
        text.push_str(&section("not read: too large, missing or malformed", &unreadable));
    }
    text
}

/// A list for programs.
pub fn tree(items: &[Item], names: &Names) -> Tree {
    Tree::Array(items.iter().map(|item| one(item, names)).collect())
}

fn one(item: &Item, names: &Names) -> Tree {
    let tree = match &item.kind {
        Kind::Signature => Tree::object().with("kind", "signature"),
        Kind::Sbom(sbom) => Tree::object()
            .with("kind", "sbom")
            .with("format", sbom.format.as_str())
            .with_some("components", sbom.components),
        Kind::Statement(kind, builder) => Tree::object()
            .with("kind", "attestation")
            .with("type", kind.as_str())
            .with_some("builder", builder.as_deref()),
        Kind::Unreadable(media_type) => Tree::object()
            .with("kind", "unreadable")
            .with("type", media_type.as_str()),
    };
    let tree = tree
        .with("subjects", item.subjects.clone())
        .with("place", item.place.as_str())
        .with("state", item.state.word());
    match &item.state {
        State::Verified(author) => names.add_to(tree, author),
        _ => tree,
    }
}
