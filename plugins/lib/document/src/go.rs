//! Values by the rules of BOSH's Go programs: names of types, tags in errors of YAML readers, the text of a scalar
//! where a string is wanted.

use crate::{Map, Tree, escape};
use std::fmt::Display;

/// Go's name of the value's type, as texts of errors have it.
pub fn type_name(value: &Tree) -> &'static str {
    match value {
        Tree::Null => "<nil>",
        Tree::Bool(_) => "bool",
        Tree::Number(number) if number.as_i64().is_some() => "int",
        Tree::Number(number) if number.as_u64().is_some() => "uint64",
        Tree::Number(_) => "float64",
        Tree::String(_) => "string",
        Tree::Array(_) => "[]interface {}",
        Tree::Object(_) if escape::as_special(value).is_some() => "float64",
        Tree::Object(_) => "map[interface {}]interface {}",
    }
}

/// What go-patch says of a key that a map does not have. A path can address only keys that are strings.
pub fn missing_key(key: &str, path: impl Display, map: &Map) -> String {
    let found = if map.is_empty() {
        "found no other map keys".to_string()
    } else {
        format!("found map keys: '{}'", escape::text_keys(map).join("', '"))
    };
    format!("Expected to find a map key '{key}' for path '{path}' ({found})")
}

/// What go-patch says of an index that a list does not have.
pub fn missing_index(index: i64, length: usize, path: impl Display) -> String {
    format!("Expected to find array index '{index}' but found array of length '{length}' for path '{path}'")
}

/// What go-patch says of a value that a path cannot lead through. `wanted`: `a map` or `an array`.
pub fn mismatch(wanted: &str, path: impl Display, found: &Tree) -> String {
    let found = type_name(found);
    format!("Expected to find {wanted} at path '{path}' but found '{found}'")
}

/// The number of the item that an index of go-patch means in a list of this length: a negative one counts from the end.
pub fn index(index: i64, length: usize) -> Option<usize> {
    let start = if index < 0 { i64::try_from(length).ok()? } else { 0 };
    usize::try_from(start + index).ok().filter(|number| *number < length)
}

/// The YAML tag of a value, as Go's YAML readers name it in errors.
pub fn tag(value: &Tree) -> &'static str {
    match (value, type_name(value)) {
        (Tree::Null, _) => "!!null",
        (Tree::Bool(_), _) => "!!bool",
        (_, "float64") => "!!float",
        (Tree::Number(_), _) => "!!int",
        (Tree::String(_), _) => "!!str",
        (Tree::Array(_), _) => "!!seq",
        (Tree::Object(_), _) => "!!map",
    }
}

/// The text a scalar has where Go reads it into a string: as it is written, null being the empty one. None for lists
/// and maps.
pub fn text(value: &Tree) -> Option<String> {
    match value {
        Tree::Null => Some(String::new()),
        Tree::Bool(value) => Some(value.to_string()),
        Tree::Number(number) => Some(number.text().to_string()),
        Tree::String(text) => Some(text.clone()),
        Tree::Object(_) => escape::as_special(value).map(str::to_string),
        Tree::Array(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn numbers_have_the_types_that_go_reads_them_into() {
        for (json, name, shown) in [
            ("1", "int", "!!int"),
            ("18446744073709551615", "uint64", "!!int"),
            ("18446744073709551616", "float64", "!!float"),
            ("1.0", "float64", "!!float"),
            (r#"{"\u0000":".inf"}"#, "float64", "!!float"),
            ("{}", "map[interface {}]interface {}", "!!map"),
            ("null", "<nil>", "!!null"),
        ] {
            let value = json::parse(json).unwrap();
            assert_eq!((type_name(&value), tag(&value)), (name, shown), "{json}");
        }
    }

    #[test]
    fn scalars_keep_their_spelling_as_texts() {
        for (json, wanted) in [
            ("1.50", Some("1.50")),
            ("null", Some("")),
            ("true", Some("true")),
            ("[]", None),
            ("{}", None),
        ] {
            assert_eq!(text(&json::parse(json).unwrap()).as_deref(), wanted, "{json}");
        }
        assert_eq!(text(&escape::special(".nan")).as_deref(), Some(".nan"));
    }
}
