//! BOSH's type check: the types of values in manifests, and the director's messages about values that have another.

use crate::redacted;
use boson_document::{Map, Tree};

/// A type that BOSH requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Text; a number is turned into one.
    String,
    Integer,
    /// `true` or `false`.
    Boolean,
    Hash,
    Array,
    /// An integer, or a number with a fraction. Ours.
    Number,
    Any,
}

// === impl Type ===

impl Type {
    /// As BOSH names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::String => "String",
            Self::Integer => "Integer",
            Self::Boolean => "boolean",
            Self::Hash => "Hash",
            Self::Array => "Array",
            Self::Number => "Numeric",
            Self::Any => "Object",
        }
    }

    /// Whether the value has this type.
    pub fn takes(self, value: &Tree) -> bool {
        match (self, value) {
            (Self::Any, _)
            | (Self::String, Tree::String(_) | Tree::Number(_))
            | (Self::Boolean, Tree::Bool(_))
            | (Self::Array, Tree::Array(_))
            | (Self::Number, Tree::Number(_)) => true,
            (Self::Integer, Tree::Number(number)) => number.is_integer(),
            (Self::Hash, Tree::Object(_)) => value.as_map().is_some(),
            _ => false,
        }
    }

    /// The message about a member that has another type.
    pub fn mismatch(self, key: &str, value: &Tree) -> String {
        self.mismatch_of_class(key, &redacted::member(key, value))
    }

    /// As [`Type::mismatch`], for a value that may be one of a property.
    pub fn mismatch_of_property(self, key: &str, value: &Tree) -> String {
        self.mismatch_of_class(key, &redacted::member("", value))
    }

    /// As [`Type::mismatch`], for a value that is named by its class.
    pub fn mismatch_of_class(self, key: &str, class: &str) -> String {
        let kind = self.name();
        format!("Property '{key}' value ({class}) did not match the required type '{kind}'")
    }
}

/// The message about a value that should be a hash: an item of a list, or a document.
pub fn not_a_hash(value: &Tree) -> String {
    let shown = redacted::member("", value);
    format!("Object ({shown}) did not match the required type 'Hash'")
}

/// The message about a hash without a required member.
pub fn missing(key: &str, map: &Map) -> String {
    let shown = redacted::hash(map);
    format!("Required property '{key}' was not specified in object ({shown})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::{escape, json};

    #[test]
    fn types_are_boshs() {
        let number = json::parse("1.5").unwrap();
        assert!(Type::String.takes(&number) && !Type::Integer.takes(&number) && !Type::Boolean.takes(&Tree::Null));
        assert!(!Type::Hash.takes(&escape::special(".inf")));
    }

    #[test]
    fn messages_are_boshs_without_values() {
        let value = json::parse("\"s3cret\"").unwrap();
        let mismatch = Type::Integer.mismatch("ram", &value);
        assert_eq!(
            mismatch,
            "Property 'ram' value (...) did not match the required type 'Integer'"
        );
        assert!(Type::Integer.mismatch("instances", &value).contains("(\"s3cret\")"));
        assert!(
            Type::Integer
                .mismatch_of_property("instances", &value)
                .contains("(...)")
        );
    }
}
