//! Names of variables in a YAML mapping: the text of each key as written, as Go reads keys into strings.

use crate::diagnostic::Diagnostic;
use crate::variables::codes;
use crate::yaml::{Document, Span};
use boson_document::{Map, Pointer, Tree, escape, go};

/// The members of a document that maps names to values; an empty document has none.
///
/// # Errors
/// The document is something else. `context` is BOSH's prefix of the error: `Deserializing variables file 'p'`.
pub fn members(document: &Document, context: &str) -> Result<Map, Diagnostic> {
    let root = Diagnostic::error(codes::VARIABLES_MALFORMED_FILE, "")
        .in_document(&document.name)
        .at("");
    let map = match &document.tree {
        Tree::Null => return Ok(Map::new()),
        Tree::Object(map) if document.tree.as_map().is_some() => map,
        other => {
            let why = format!(
                "yaml: unmarshal errors: cannot unmarshal {} into template.StaticVariables",
                go::tag(other)
            );
            let message = format!("{context}: {why}");
            return Err(Diagnostic { message, ..root }.help("write a map: the name of each variable and its value"));
        }
    };
    Ok(map
        .iter()
        .map(|(name, value)| (text(document, name), value.clone()))
        .collect())
}

/// The text of a key. `y: 7` gives a value to the variable `y`, though the key is a boolean.
fn text(document: &Document, name: &str) -> String {
    if !name.starts_with('\0') {
        return name.to_string();
    }
    match escape::decode_key(name) {
        Tree::String(key) => key,
        Tree::Null => String::new(),
        other => written(&document.text, document.key_place(&Pointer::root().at(name)))
            .unwrap_or_else(|| boson_document::json::to_text(&other)),
    }
}

/// The text at a place, if it can be the plain text of a key.
fn written(text: &str, place: Span) -> Option<String> {
    let line = text.lines().nth(usize::try_from(place.line.checked_sub(1)?).ok()?)?;
    let skip = usize::try_from(place.column.checked_sub(1)?).ok()?;
    let key: String = line
        .chars()
        .skip(skip)
        .take(usize::try_from(place.length).ok()?)
        .collect();
    let plain = |c: char| c.is_ascii_alphanumeric() || "+-._~:".contains(c);
    (!key.is_empty() && key.chars().all(plain)).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;

    #[test]
    fn names_are_the_texts_of_keys() {
        let text = "y: 7\nn: 1\n? no\n: 2\n0x1f: 3\n1.50: 4\n'7': 5\n~: 6\n  \nplain: {n: 1}\n";
        let members = members(&yaml::read("v.yml", text).unwrap(), "x").unwrap();
        let names: Vec<_> = members.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            ["y", "no", "0x1f", "1.50", "7", "", "plain"],
            "n and no are one key: the last wins"
        );
        assert_eq!(boson_document::json::to_text(&members["plain"]), r#"{"\u0000false":1}"#);
    }

    #[test]
    fn keys_of_every_style_keep_their_text() {
        let text = "{y: 1, 'n': 2, 0o17 : 3,\n  yes: 4}";
        let members = members(&yaml::read("v.yml", text).unwrap(), "x").unwrap();
        let names: Vec<_> = members.keys().map(String::as_str).collect();
        assert_eq!(names, ["yes", "n", "0o17"], "y and yes are one key");
    }

    #[test]
    fn only_mappings_hold_variables() {
        for (text, tag) in [
            ("- a", "!!seq"),
            ("from a file", "!!str"),
            ("7", "!!int"),
            (".inf", "!!float"),
            ("1.5", "!!float"),
        ] {
            let error = members(
                &yaml::read("v.yml", text).unwrap(),
                "Deserializing variables file 'v.yml'",
            )
            .unwrap_err();
            let why = format!("yaml: unmarshal errors: cannot unmarshal {tag} into template.StaticVariables");
            assert_eq!(error.message, format!("Deserializing variables file 'v.yml': {why}"));
        }
        assert!(members(&yaml::read("v.yml", "---\n").unwrap(), "").unwrap().is_empty());
    }
}
