//! Values of documents: their classes, names in messages, and their sizes.

use boson_document::{Map, Tree};

/// The members of an object that is a hash in YAML too (not an escaped number).
pub fn hash(value: &Tree) -> Option<&Map> {
    value.as_map()
}

pub use boson_document::ruby::{class, string as text};

pub use boson_manifest::redacted::plain;

/// How many levels a value is nested, scalars being 0.
pub fn depth(value: &Tree) -> usize {
    match value {
        Tree::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Tree::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

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
