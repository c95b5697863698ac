//! Values as go-patch treats them: when two are the same, what a copy of one is, how keys are named.

use boson_document::{Map, Number, Tree, escape};
use std::borrow::Cow;

/// A number by Go's types: an integer that fits 64 bits is one, all else is a double.
#[derive(Clone, Copy, Debug, PartialEq)]
enum GoNumber {
    Int(i64),
    Uint(u64),
    Float(f64),
}

/// The member name that represents a key with this string.
pub fn member(key: &str) -> Cow<'_, str> {
    if key.starts_with('\0') {
        escape::key(&key.into()).into()
    } else {
        key.into()
    }
}

/// Whether Go holds the two for deeply equal: integers and floats differ, the order of keys does not matter, NaN equals
/// nothing.
pub fn equal(a: &Tree, b: &Tree) -> bool {
    match (a, b) {
        (Tree::Number(a), Tree::Number(b)) => go_number(a) == go_number(b),
        (Tree::Array(a), Tree::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Tree::Object(one), Tree::Object(other)) => match (escape::as_special(a), escape::as_special(b)) {
            (Some(a), Some(b)) => a == b && a != ".nan",
            (None, None) => equal_maps(one, other),
            _ => false,
        },
        _ => a == b,
    }
}

fn equal_maps(a: &Map, b: &Map) -> bool {
    if a.keys().chain(b.keys()).any(|name| name.starts_with('\0')) {
        return equal_members(&canonical(a), &canonical(b));
    }
    equal_members(a, b)
}

fn equal_members(a: &Map, b: &Map) -> bool {
    a.len() == b.len()
        && a.iter()
            .all(|(name, value)| b.get(name).is_some_and(|other| equal(value, other)))
}

/// The map with each key that is a number spelled in one way, so that 1.0 finds 1.00.
fn canonical(map: &Map) -> Map {
    let spell = |name: &str| match escape::decode_key(name) {
        Tree::Number(number) => match go_number(&number) {
            GoNumber::Float(value) => format!("\0{value:e}"),
            _ => name.to_string(),
        },
        _ => name.to_string(),
    };
    map.iter().map(|(name, value)| (spell(name), value.clone())).collect()
}

fn go_number(number: &Number) -> GoNumber {
    match (number.as_i64(), number.as_u64()) {
        (Some(value), _) => GoNumber::Int(value),
        (None, Some(value)) => GoNumber::Uint(value),
        (None, None) => GoNumber::Float(number.as_f64()),
    }
}

/// A value after go-patch has copied it through YAML text: yaml.v2 writes a double without fraction below a million as
/// an integer, and that is how it comes back. Keys stay as they are: `1.0` and `1` would become one.
pub fn copied(value: Tree) -> Tree {
    match value {
        Tree::Number(number) => Tree::Number(copied_number(number)),
        Tree::Array(items) => Tree::Array(items.into_iter().map(copied).collect()),
        Tree::Object(map) => map.into_iter().map(|(name, value)| (name, copied(value))).collect(),
        other => other,
    }
}

fn copied_number(number: Number) -> Number {
    match go_number(&number) {
        // The bounds make the cast exact.
        #[allow(clippy::cast_possible_truncation, reason = "within bounds and without fraction")]
        GoNumber::Float(value) if value.fract() == 0.0 && value.abs() < 1e6 => Number::from(value as i64),
        _ => number,
    }
}
