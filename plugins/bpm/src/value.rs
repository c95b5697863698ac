//! BOSH's types of values in manifests.

use boson_document::{Tree, ruby};

/// A type that BOSH requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text; a number is turned into one.
    String,
    /// An integer.
    Integer,
    /// `true` or `false`.
    Boolean,
    /// An object.
    Hash,
    /// A list.
    Array,
    /// An integer, or a number with a fraction. Ours.
    Number,
    /// Anything.
    Any,
}

// === impl Kind ===

impl Kind {
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
}

/// The text of a member that is a string or a number.
pub fn text(tree: &Tree, key: &str) -> Option<String> {
    tree.get(key).and_then(ruby::string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::{escape, json};

    #[test]
    fn types_are_boshs() {
        let number = json::parse("1.5").unwrap();
        assert!(Kind::String.takes(&number) && !Kind::Integer.takes(&number) && !Kind::Boolean.takes(&Tree::Null));
        assert!(!Kind::Hash.takes(&escape::special(".inf")));
    }
}
