//! Values as BOSH's Go sees them: names of types, what is a map, what can be part of a string.

use boson_document::{Map, Tree, escape};

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

/// The members, where the value is a map and not an escaped number.
pub fn as_map(value: &Tree) -> Option<&Map> {
    if escape::as_special(value).is_some() {
        None
    } else {
        value.as_object()
    }
}

/// The text of a string or of an integer of 64 bits; nothing else can be part of a string.
pub fn embeddable(value: &Tree) -> Option<String> {
    match value {
        Tree::String(text) => Some(text.clone()),
        Tree::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(integer), _) => Some(integer.to_string()),
            (None, Some(integer)) => Some(integer.to_string()),
            (None, None) => None,
        },
        _ => None,
    }
}

/// The text a scalar has where Go reads it into a string; null is the empty one.
pub fn scalar_text(value: &Tree) -> Option<String> {
    match value {
        Tree::Null => Some(String::new()),
        Tree::Bool(value) => Some(value.to_string()),
        Tree::Number(number) => Some(embeddable(value).unwrap_or_else(|| number.text().to_string())),
        Tree::String(text) => Some(text.clone()),
        Tree::Object(_) => escape::as_special(value).map(str::to_string),
        Tree::Array(_) => None,
    }
}

/// The YAML tag of a value, as yaml.v2 names it in errors.
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
