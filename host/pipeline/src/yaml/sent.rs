//! A document as the director reads it: `bosh deploy` writes it with yaml.v2, and the director reads that with Psych.

use super::reader::value;
use super::scalar::{Scalar, format_float, psych};
use super::writer::order;
use super::writer::style::{self, Readers, Style};
use boson_document::{Tree, escape};

/// A document as `bosh deploy` sends it to the director, and as the director reads it.
///
/// The keys of each map are sorted, also of maps in lists: templates iterate over keys, and print maps, in this order.
/// A float without a fraction is an integer (`1.0`), or a string (`1e6`, which is written as `1e+06`), and some strings
/// are numbers, booleans or null (`1,000`, `nO`), because they lose their quotes. Symbols and dates stay strings.
pub fn as_sent(tree: Tree) -> Tree {
    match tree {
        Tree::String(text) => string(text, false),
        Tree::Number(number) if !number.is_integer() => float(number.as_f64()),
        number if escape::as_special(&number).is_some() => number,
        Tree::Array(items) => Tree::Array(items.into_iter().map(as_sent).collect()),
        Tree::Object(map) => {
            let members = order::into_sorted(map).into_iter();
            members.map(|(name, value)| (key(name), as_sent(value))).collect()
        }
        scalar => scalar,
    }
}

fn key(name: String) -> String {
    let key = match escape::decode_key(&name) {
        Tree::String(text) => string(text, true),
        Tree::Number(number) if !number.is_integer() => float(number.as_f64()),
        _ => return name,
    };
    escape::key(&key)
}

fn string(text: String, key: bool) -> Tree {
    let meaning = match psych::resolve(&text) {
        Scalar::String | Scalar::Symbol(_) | Scalar::Timestamp | Scalar::Merge => return Tree::String(text),
        meaning => meaning,
    };
    match style::of_string(&text, key, Readers::YamlV2) {
        Style::Plain => of_meaning(meaning, text),
        _ => Tree::String(text),
    }
}

fn float(number: f64) -> Tree {
    let text = format_float(number);
    of_meaning(psych::resolve(&text), text)
}

fn of_meaning(meaning: Scalar, text: String) -> Tree {
    match meaning {
        Scalar::Float(number) => value::float(number),
        meaning => value::of_meaning(meaning, text.into()).0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    #[test]
    fn a_manifest_is_sent_with_sorted_keys_also_in_lists() {
        let given = r#"{"z": [{"b": 1, "a10": 2, "a2": {"y": [], "x": null}}], "\u00007": 1, "B": {}, "a": 0}"#;
        let sent = r#"{"\u00007":1,"B":{},"a":0,"z":[{"a2":{"x":null,"y":[]},"a10":2,"b":1}]}"#;
        assert_eq!(json::to_text(&as_sent(json::parse(given).unwrap())), sent);
    }
}
