//! Values by the rules of BOSH's director: names of classes, what is a String to it, and `inspect` without what may be secret.

use crate::{Map, Number, Tree, escape};

/// Members whose scalars describe the structure of a deployment and are not secret.
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
/// Longest list or hash that is printed whole.
const SHOWN: usize = 8;
/// Longest scalar, and longest name of a member, that is printed whole.
const LONGEST: usize = 64;

/// Name of a value's class.
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

/// What BOSH takes where it wants a String: one, or a number by its `to_s`.
pub fn string(value: &Tree) -> Option<String> {
    match value {
        Tree::String(text) => Some(text.clone()),
        Tree::Number(number) => Some(to_s(number)),
        _ => None,
    }
}

/// A number as it is printed after it was read: `1.10` is `1.1`.
fn to_s(number: &Number) -> String {
    if number.is_integer() {
        return number.text().into();
    }
    let text = format!("{:?}", number.as_f64());
    match text.split_once('e') {
        // Two digits of the exponent and a sign, and a mantissa with a fraction.
        Some((mantissa, exponent)) => {
            let fraction = if mantissa.contains('.') { "" } else { ".0" };
            let (sign, digits) = exponent
                .strip_prefix('-')
                .map_or(('+', exponent), |digits| ('-', digits));
            format!("{mantissa}{fraction}e{sign}{digits:0>2}")
        }
        None => text,
    }
}

/// As `inspect` prints it, but for what may be secret or long: that is `...`.
pub fn inspect(value: &Tree) -> String {
    match (value, value.as_map()) {
        (Tree::Array(items), _) => format!("[{}]", shown(items.iter().map(|item| brief(item, false)))),
        (_, Some(map)) => inspect_members(map),
        (other, None) => brief(other, true),
    }
}

/// The value of a member: its scalars are printed where its name says that they are no secrets.
pub fn inspect_member(name: &str, value: &Tree) -> String {
    brief(value, PLAIN.contains(&name))
}

fn inspect_members(map: &Map) -> String {
    let members = map
        .iter()
        .map(|(name, value)| format!("{:?} => {}", name_of(name), inspect_member(name, value)));
    format!("{{{}}}", shown(members))
}

fn brief(value: &Tree, plain: bool) -> String {
    match value {
        Tree::Null => "nil".into(),
        Tree::Bool(value) => value.to_string(),
        Tree::Number(number) if plain && number.text().len() <= LONGEST => number.text().into(),
        Tree::String(text) if plain && text.len() <= LONGEST => format!("{text:?}"),
        Tree::Array(items) if items.is_empty() => "[]".into(),
        Tree::Object(map) if map.is_empty() => "{}".into(),
        _ => "...".into(),
    }
}

/// A member's name without the mark of an escaped one, and not longer than one reads.
fn name_of(name: &str) -> String {
    name.trim_start_matches('\0').chars().take(2 * LONGEST).collect()
}

fn shown(parts: impl Iterator<Item = String>) -> String {
    let mut parts: Vec<String> = parts.take(SHOWN + 1).collect();
    if let Some(last) = parts.get_mut(SHOWN) {
        *last = "...".into();
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn values_are_printed_as_ruby_does_without_secrets() {
        for (json, expected) in [
            (
                r#"{"name": "api", "instances": 2, "properties": {"password": "x"}}"#,
                r#"{"name" => "api", "instances" => 2, "properties" => ...}"#,
            ),
            (r#"["s3cret"]"#, "[...]"),
            ("null", "nil"),
            ("\"two\"", "\"two\""),
            (
                r#"{"credentials": "s3cret", "env": {}}"#,
                r#"{"credentials" => ..., "env" => {}}"#,
            ),
            ("[1,2,3,4,5,6,7,8,9]", "[..., ..., ..., ..., ..., ..., ..., ..., ...]"),
        ] {
            assert_eq!(inspect(&json::parse(json).unwrap()), expected);
        }
    }

    #[test]
    fn numbers_are_strings_as_ruby_prints_them() {
        for (json, expected) in [
            ("1.10", "1.1"),
            ("12345678901234567890", "12345678901234567890"),
            ("1e20", "1.0e+20"),
            ("1.5e-7", "1.5e-07"),
            ("100.0", "100.0"),
        ] {
            assert_eq!(string(&json::parse(json).unwrap()).as_deref(), Some(expected));
        }
        assert_eq!(string(&Tree::Bool(true)), None);
    }
}
