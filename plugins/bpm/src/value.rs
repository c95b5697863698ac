//! Values of manifests by BOSH's rules: types, and Ruby's way to print them, without what may be secret.

use boson_document::{Tree, escape};

/// A type that BOSH asks for.
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

    /// Does the value have this type?
    pub fn takes(self, value: &Tree) -> bool {
        match (self, value) {
            (Self::Any, _)
            | (Self::String, Tree::String(_) | Tree::Number(_))
            | (Self::Boolean, Tree::Bool(_))
            | (Self::Array, Tree::Array(_))
            | (Self::Number, Tree::Number(_)) => true,
            (Self::Integer, Tree::Number(number)) => number.is_integer(),
            (Self::Hash, Tree::Object(_)) => escape::as_special(value).is_none(),
            _ => false,
        }
    }
}

/// The text of a scalar, as Ruby's `to_s` and YAML decoders into strings give it; none for lists and objects.
pub fn scalar(value: &Tree) -> Option<String> {
    match value {
        Tree::Null => Some(String::new()),
        Tree::Bool(value) => Some(value.to_string()),
        Tree::Number(number) => Some(number.text().to_string()),
        Tree::String(text) => Some(text.clone()),
        Tree::Object(_) => escape::as_special(value).map(str::to_string),
        Tree::Array(_) => None,
    }
}

/// The text of a member that is a string or a number.
pub fn text(tree: &Tree, key: &str) -> Option<String> {
    tree.get(key).filter(|value| Kind::String.takes(value)).and_then(scalar)
}

/// Name of a value's Ruby class.
pub fn class(value: &Tree) -> &'static str {
    match value {
        Tree::Null => "NilClass",
        Tree::Bool(true) => "TrueClass",
        Tree::Bool(false) => "FalseClass",
        Tree::Number(number) if number.is_integer() => "Integer",
        Tree::Number(_) => "Float",
        Tree::String(_) => "String",
        Tree::Array(_) => "Array",
        Tree::Object(_) if escape::as_special(value).is_some() => "Float",
        Tree::Object(_) => "Hash",
    }
}

/// Members whose scalars say how a deployment is built and are no secrets.
const PLAIN: [&str; 9] = [
    "name",
    "release",
    "version",
    "alias",
    "os",
    "lifecycle",
    "instances",
    "type",
    "stemcell",
];
/// Longest list or object that is printed whole.
const SHOWN: usize = 8;

/// As Ruby's `inspect` prints it, but for what may be secret or long: that is `...`.
pub fn inspect(value: &Tree) -> String {
    match value {
        Tree::Array(items) => format!("[{}]", shown(items.iter().map(|item| brief(item, false)))),
        Tree::Object(map) if escape::as_special(value).is_none() => {
            let members = map
                .iter()
                .map(|(key, value)| format!("{key:?}=>{}", brief(value, PLAIN.contains(&key.as_str()))));
            format!("{{{}}}", shown(members))
        }
        other => brief(other, true),
    }
}

fn brief(value: &Tree, plain: bool) -> String {
    match value {
        Tree::Null => "nil".into(),
        Tree::Bool(value) => value.to_string(),
        Tree::Number(number) if plain => number.text().into(),
        Tree::String(text) if plain && text.len() <= 64 => format!("{text:?}"),
        _ => "...".into(),
    }
}

fn shown(parts: impl Iterator<Item = String>) -> String {
    let mut parts: Vec<String> = parts.take(SHOWN + 1).collect();
    if parts.len() > SHOWN {
        parts[SHOWN] = "...".into();
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    #[test]
    fn values_are_printed_as_ruby_does_without_secrets() {
        for (json, expected) in [
            (
                r#"{"name": "api", "instances": 2, "properties": {"password": "x"}}"#,
                r#"{"name"=>"api", "instances"=>2, "properties"=>...}"#,
            ),
            (r#"["s3cret"]"#, "[...]"),
            ("null", "nil"),
            ("\"two\"", "\"two\""),
            (r#"{"credentials": "s3cret"}"#, r#"{"credentials"=>...}"#),
            ("[1,2,3,4,5,6,7,8,9]", "[..., ..., ..., ..., ..., ..., ..., ..., ...]"),
        ] {
            assert_eq!(inspect(&json::parse(json).unwrap()), expected);
        }
    }

    #[test]
    fn types_are_boshs() {
        let number = json::parse("1.5").unwrap();
        assert!(Kind::String.takes(&number) && !Kind::Integer.takes(&number) && !Kind::Boolean.takes(&Tree::Null));
        assert!(!Kind::Hash.takes(&escape::special(".inf")));
    }
}
