//! Options as the bosh command line reads them: unknown names are refused, types are YAML's as its parser coerces them.

use crate::ErrorKind;
use boson_document::{Map, Tree, go};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A string; other scalars are converted to their text.
    Text,
    Texts,
    Bool,
    /// An integer, `int` to BOSH; a fraction is cut off.
    Int,
    /// An integer that BOSH reads as `int64`.
    Int64,
}

/// The options of one variable, of the right types.
#[derive(Debug)]
pub(crate) struct Options<'t>(Option<&'t Map>);

// === impl Options ===

impl<'t> Options<'t> {
    /// Checks names and types. `schema` is in alphabetical order.
    pub fn read(kind: &'static str, tree: &'t Tree, schema: &[(&str, Kind)]) -> Result<Self, ErrorKind> {
        let invalid = |reason| ErrorKind::InvalidOptions { kind, reason };
        let map = match tree {
            Tree::Null => return Ok(Self(None)),
            Tree::Object(map) => map,
            other => return Err(invalid(decode_error(&[mismatch(1, other, "map[string]interface {}")]))),
        };
        if let Some(name) = map.keys().find(|name| schema.iter().all(|(known, _)| known != name)) {
            return Err(invalid(format!("Unsupported parameter '{name}'")));
        }
        let mut line = 1;
        let mut mismatches = Vec::new();
        for (name, kind) in schema {
            if let Some(value) = map.get(*name) {
                kind.check(value, line, &mut mismatches);
                line += 1 + items(value);
            }
        }
        if mismatches.is_empty() {
            Ok(Self(Some(map)))
        } else {
            Err(invalid(decode_error(&mismatches)))
        }
    }

    fn get(&self, name: &str) -> &'t Tree {
        self.0.and_then(|map| map.get(name)).unwrap_or(&Tree::Null)
    }

    /// A text, empty where absent.
    pub fn text(&self, name: &str) -> String {
        scalar_text(self.get(name))
    }

    pub fn texts(&self, name: &str) -> Vec<String> {
        let items = self.get(name).as_array().into_iter().flatten();
        items.map(scalar_text).collect()
    }

    /// A switch, off where absent.
    pub fn flag(&self, name: &str) -> bool {
        self.get(name).as_bool().unwrap_or(false)
    }

    /// An integer, 0 where absent.
    pub fn integer(&self, name: &str) -> i64 {
        as_integer(self.get(name)).unwrap_or(0)
    }
}

// === impl Kind ===

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Texts => "[]string",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Int64 => "int64",
        }
    }

    fn check(self, value: &Tree, line: usize, mismatches: &mut Vec<String>) {
        let line = line + usize::from(items(value) > 0);
        match (self, value) {
            (_, Tree::Null) | (Self::Bool, Tree::Bool(_)) => {}
            (Self::Text, Tree::Bool(_) | Tree::Number(_) | Tree::String(_)) => {}
            (Self::Int | Self::Int64, value) if as_integer(value).is_some() => {}
            (Self::Texts, Tree::Array(list)) => {
                let wrong = |item: &Tree| matches!(item, Tree::Array(_) | Tree::Object(_));
                let wrong = list.iter().enumerate().filter(|(_, item)| wrong(item));
                mismatches.extend(wrong.map(|(nth, item)| mismatch(line + nth, item, Self::Text.name())));
            }
            _ => mismatches.push(mismatch(line, value, self.name())),
        }
    }
}

/// One line of the parser's error, without the value that it quotes.
pub(crate) fn mismatch(line: usize, value: &Tree, wanted: &str) -> String {
    let tag = go::tag(value);
    format!("line {line}: cannot unmarshal {tag} into {wanted}")
}

/// The whole error text.
pub(crate) fn unmarshal_message(mismatches: &[String]) -> String {
    format!("yaml: unmarshal errors:\n  {}", mismatches.join("\n  "))
}

fn decode_error(mismatches: &[String]) -> String {
    format!("Expected input to be deserializable: {}", unmarshal_message(mismatches))
}

/// How many lines YAML gives to a collection's items.
fn items(value: &Tree) -> usize {
    match value {
        Tree::Array(list) => list.len(),
        Tree::Object(map) => map.len(),
        _ => 0,
    }
}

/// The text of a scalar; empty for other values, which [`Kind::check`] has refused.
fn scalar_text(value: &Tree) -> String {
    go::text(value).unwrap_or_default()
}

fn as_integer(value: &Tree) -> Option<i64> {
    let Tree::Number(number) = value else { return None };
    if number.is_integer() {
        return number.as_i64();
    }
    let cut = number.as_f64().trunc();
    format!("{cut:.0}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    const SCHEMA: &[(&str, Kind)] = &[
        ("a", Kind::Texts),
        ("b", Kind::Bool),
        ("i", Kind::Int),
        ("t", Kind::Text),
    ];

    fn error_about(text: &str) -> String {
        let tree = json::parse(text).unwrap();
        Options::read("x", &tree, SCHEMA).map_or_else(|cause| cause.to_string(), |_| String::new())
    }

    #[test]
    fn wrong_types_are_named_with_the_line_they_have_in_sorted_yaml() {
        let head = "Failed to generate x, parameters are invalid: ";
        let lines = format!("{head}Expected input to be deserializable: yaml: unmarshal errors:\n  ");
        for (text, wanted) in [
            ("null", String::new()),
            (
                r#"{"a": ["x", 1, true, null], "b": null, "i": 3.9, "t": 1.50}"#,
                String::new(),
            ),
            (r#"{"z": 1}"#, format!("{head}Unsupported parameter 'z'")),
            (
                r#"{"t": [], "i": "7"}"#,
                format!("{lines}line 1: cannot unmarshal !!str into int\n  line 2: cannot unmarshal !!seq into string"),
            ),
            (
                r#"{"a": ["x", {"k": 1}], "b": "yes"}"#,
                format!(
                    "{lines}line 3: cannot unmarshal !!map into string\n  line 4: cannot unmarshal !!str into bool"
                ),
            ),
            (
                r#""text""#,
                format!("{lines}line 1: cannot unmarshal !!str into map[string]interface {{}}"),
            ),
            (
                r#"{"i": 99999999999999999999}"#,
                format!("{lines}line 1: cannot unmarshal !!float into int"),
            ),
        ] {
            assert_eq!(error_about(text), wanted, "{text}");
        }
    }

    #[test]
    fn values_come_as_the_parser_coerces_them() {
        let tree = json::parse(r#"{"a": ["x", 1, true, null], "i": 3.9, "t": 1.50}"#).unwrap();
        let options = Options::read("x", &tree, SCHEMA).unwrap();
        assert_eq!(options.texts("a"), ["x", "1", "true", ""]);
        assert_eq!(
            (options.integer("i"), options.text("t"), options.flag("b")),
            (3, "1.50".to_string(), false)
        );
    }
}
