//! Values by the rules of BOSH's director: names of classes, and what is a String to it.

use crate::{Number, Tree, escape};

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

/// A value that BOSH accepts as String: a string, or a number, converted by its `to_s`.
pub fn string(value: &Tree) -> Option<String> {
    match value {
        Tree::String(text) => Some(text.clone()),
        Tree::Number(value) => Some(number(value)),
        _ => None,
    }
}

/// The text of a member that is a String to BOSH.
pub fn member(tree: &Tree, key: &str) -> Option<String> {
    tree.get(key).and_then(string)
}

/// A member that counts as true to Ruby: anything but null and `false`.
pub fn given<'t>(tree: &'t Tree, key: &str) -> Option<&'t Tree> {
    tree.get(key)
        .filter(|value| !matches!(value, Tree::Null | Tree::Bool(false)))
}

/// A number as it is printed after it was read: `1.10` is `1.1`.
pub fn number(number: &Number) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

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
