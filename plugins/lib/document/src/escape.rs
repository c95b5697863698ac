//! What YAML has and JSON lacks, escaped with U+0000 as `wit/types` says.

use crate::tree::MARK;
use crate::{Map, Tree, json};

/// The member name for a mapping key that is any scalar or collection.
pub fn key(value: &Tree) -> String {
    match value {
        Tree::String(text) if !text.starts_with(MARK) => text.clone(),
        other => format!("{MARK}{}", json::to_text(other)),
    }
}

/// The mapping key that a member name represents.
pub fn decode_key(name: &str) -> Tree {
    match name.strip_prefix(MARK) {
        None => name.into(),
        Some(text) => json::parse(text).unwrap_or_else(|_| name.into()),
    }
}

/// The keys of a map that are strings, sorted by bytes.
pub fn text_keys(map: &Map) -> Vec<String> {
    let texts = map.keys().filter_map(|name| match decode_key(name) {
        Tree::String(key) => Some(key),
        _ => None,
    });
    let mut keys: Vec<String> = texts.collect();
    keys.sort_unstable();
    keys
}

/// A number that JSON lacks: `.nan`, `.inf` or `-.inf`.
pub fn special(text: &str) -> Tree {
    Tree::Object(Map::from([(MARK.to_string(), text.into())]))
}

/// `.nan`, `.inf` or `-.inf`, where the tree is such a number.
pub fn as_special(value: &Tree) -> Option<&str> {
    value.as_special()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_every_kind_come_back() {
        for text in ["\"plain\"", "\"\\u0000x\"", "false", "7", "1.50", "null", "[1]", "\"\""] {
            let value = json::parse(text).unwrap();
            assert_eq!(decode_key(&key(&value)), value, "{text}");
        }
        assert_eq!(key(&Tree::Bool(false)), "\0false");
    }

    #[test]
    fn numbers_that_json_lacks_are_distinguished() {
        assert_eq!(as_special(&special(".inf")), Some(".inf"));
        assert_eq!(as_special(&Tree::object()), None);
    }
}
