//! Values in messages, in the format of Ruby's `inspect`, with `...` in place of values that may be secret or long.
//!
//! The policy of decision 8, which all messages about a manifest share: keys are shown, and scalars only of members
//! that describe the structure of a deployment. Where a scalar came from does not matter, because a manifest contains
//! passwords once its variables are replaced.

use boson_document::{Map, Tree};

/// Members whose scalars describe the structure of a deployment and are not secret.
const PLAIN: [&str; 10] = [
    "name",
    "release",
    "version",
    "alias",
    "os",
    "lifecycle",
    "instances",
    "type",
    "stemcell",
    "update_mode",
];
/// Most members of a hash that are printed.
const MAX_SHOWN_MEMBERS: usize = 8;
/// Longest scalar, and half of the longest name of a member, that is printed whole.
const MAX_SCALAR_BYTES: usize = 64;

/// The value of a member.
pub fn member(key: &str, value: &Tree) -> String {
    scalar(value, PLAIN.contains(&key))
}

/// A value that should be a name or a word of a fixed list, and is never secret.
pub fn name(value: &Tree) -> String {
    scalar(value, true)
}

pub fn hash(map: &Map) -> String {
    let one = |(key, value): (&String, &Tree)| format!("{:?} => {}", plain(key), member(key, value));
    let mut members: Vec<String> = map.iter().take(MAX_SHOWN_MEMBERS).map(one).collect();
    if map.len() > MAX_SHOWN_MEMBERS {
        members.push("...".into());
    }
    format!("{{{}}}", members.join(", "))
}

fn scalar(value: &Tree, is_shown: bool) -> String {
    match value {
        Tree::Null => "nil".into(),
        Tree::Bool(value) => value.to_string(),
        Tree::Number(number) if is_shown && number.text().len() <= MAX_SCALAR_BYTES => number.text().into(),
        Tree::String(text) if is_shown && text.len() <= MAX_SCALAR_BYTES => format!("{text:?}"),
        Tree::Array(items) if items.is_empty() => "[]".into(),
        Tree::Object(map) if map.is_empty() => "{}".into(),
        _ => "...".into(),
    }
}

/// A name, without the mark of an escaped one.
pub fn plain(key: &str) -> String {
    key.trim_start_matches('\0')
        .chars()
        .take(2 * MAX_SCALAR_BYTES)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    #[test]
    fn hashes_are_printed_as_ruby_does_without_secrets() {
        for (text, expected) in [
            (
                r#"{"name": "api", "instances": 2, "properties": {"password": "x"}}"#,
                r#"{"name" => "api", "instances" => 2, "properties" => ...}"#,
            ),
            (
                r#"{"credentials": "s3cret", "env": {}, "on": true, "x": null}"#,
                r#"{"credentials" => ..., "env" => {}, "on" => true, "x" => nil}"#,
            ),
            ("{}", "{}"),
        ] {
            assert_eq!(hash(json::parse(text).unwrap().as_object().unwrap()), expected);
        }
        let many: Map = (0..9).map(|n| (n.to_string(), Tree::Null)).collect();
        assert!(hash(&many).ends_with("\"7\" => nil, ...}"));
    }

    #[test]
    fn scalars_are_shown_only_of_members_that_cannot_be_secret() {
        let secret = Tree::from("s3cret");
        assert_eq!(member("serial", &secret), "...");
        assert_eq!(member("version", &secret), "\"s3cret\"");
        assert_eq!(name(&secret), "\"s3cret\"");
        assert_eq!(name(&Tree::from("x".repeat(65))), "...");
        assert_eq!(member("version", &json::parse("[1]").unwrap()), "...");
    }
}
