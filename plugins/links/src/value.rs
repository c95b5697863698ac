//! Values of documents: their classes, names in messages, and their sizes.

use boson_document::Tree;

pub use boson_document::ruby::{class, string as text};

pub use boson_manifest::redacted::plain;

/// About how many bytes a value has as JSON text.
pub fn weight(value: &Tree) -> usize {
    match value {
        Tree::Null | Tree::Bool(_) => 5,
        Tree::Number(number) => number.text().len() + 1,
        Tree::String(text) => text.len() + 3,
        Tree::Array(items) => items.iter().map(weight).sum::<usize>() + 3,
        Tree::Object(map) => {
            map.iter()
                .map(|(name, value)| name.len() + 4 + weight(value))
                .sum::<usize>()
                + 3
        }
    }
}
