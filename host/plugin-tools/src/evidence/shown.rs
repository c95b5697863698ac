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
    let subjects = item.subjects.iter().map(|subject| Tree::from(subject.as_str()));
    let mut tree = match &item.kind {
        Kind::Signature => Tree::object().with("kind", "signature"),
        Kind::Sbom(sbom) => {
            let mut tree = Tree::object().with("kind", "sbom").with("format", sbom.format.as_str());
            if let Some(components) = sbom.components {
                tree.set("components", components);
            }
            tree
        }
        Kind::Statement(kind, builder) => {
            let mut tree = Tree::object().with("kind", "attestation").with("type", kind.as_str());
            if let Some(builder) = builder {
                tree.set("builder", builder.as_str());
            }
            tree
        }
        Kind::Unreadable(media_type) => Tree::object()
            .with("kind", "unreadable")
            .with("type", media_type.as_str()),
    };
    tree.set("subjects", Tree::Array(subjects.collect()));
    tree.set("place", item.place.as_str());
    tree.set("state", item.state.word());
    if let State::Verified(author) = &item.state {
        names.add_to(&mut tree, author);
    }
    tree
}
