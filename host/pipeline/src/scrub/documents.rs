//! Redacts the secrets in documents.

use super::{Public, REPLACEMENT, Secrets, matches, redacted};
use crate::report::Sources;
use boson_document::{Map, Tree};

// === impl Secrets ===

impl Secrets {
    /// A document with its secrets redacted: in texts, in names of members, and in numbers, which become 0.
    /// `sources` contains the public texts.
    pub fn redact(&self, document: Tree, sources: &Sources) -> Tree {
        let mut texts = Vec::new();
        each_text(&document, &mut texts);
        let found = matches::find(&self.texts, &texts);
        let public = Public::of(sources);
        let cleaned: Vec<Option<String>> = texts
            .iter()
            .zip(&found)
            .map(|(text, matches)| (!matches.is_empty()).then(|| redacted(text, matches, &public)))
            .collect();
        replaced(document, &mut cleaned.into_iter())
    }
}

/// The names, texts and numbers of a document, in its order.
fn each_text<'t>(tree: &'t Tree, texts: &mut Vec<&'t str>) {
    match tree {
        Tree::String(text) => texts.push(text),
        Tree::Number(number) => texts.push(number.text()),
        Tree::Array(items) => items.iter().for_each(|item| each_text(item, texts)),
        Tree::Object(map) => {
            for (name, value) in map {
                texts.push(name);
                each_text(value, texts);
            }
        }
        Tree::Null | Tree::Bool(_) => {}
    }
}

/// The document with other texts. `cleaned`: for each of [`each_text`], what replaces it.
fn replaced(tree: Tree, cleaned: &mut impl Iterator<Item = Option<String>>) -> Tree {
    match tree {
        Tree::String(text) => cleaned.next().flatten().unwrap_or(text).into(),
        Tree::Number(number) => match cleaned.next().flatten() {
            Some(text) if text != number.text() => 0i64.into(),
            _ => Tree::Number(number),
        },
        Tree::Array(items) => Tree::Array(items.into_iter().map(|item| replaced(item, cleaned)).collect()),
        Tree::Object(map) => {
            let mut members = Map::with_capacity(map.len());
            for (name, value) in map {
                let mut name = cleaned.next().flatten().unwrap_or(name);
                // Two names may differ only in what was removed.
                while members.contains_key(&name) {
                    name.push_str(REPLACEMENT);
                }
                members.insert(name, replaced(value, cleaned));
            }
            Tree::Object(members)
        }
        other => other,
    }
}
