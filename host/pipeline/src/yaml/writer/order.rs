//! The order in which yaml.v2 writes keys: numbers and booleans by value, then null, then strings, with digits in them
//! by value.

use boson_document::{Map, Tree, escape};
use std::cmp::Ordering;

/// A mapping's key.
pub(super) enum Key<'t> {
    Text(&'t str),
    Other(Tree),
}

// === impl Key ===

impl<'t> Key<'t> {
    /// The key for the name of a member.
    pub(super) fn of(name: &'t str) -> Self {
        if !name.starts_with('\0') {
            return Self::Text(name);
        }
        Self::Other(escape::decode_key(name))
    }
}

/// The members in that order.
pub(super) fn sorted(map: &Map) -> Vec<(Key<'_>, &Tree)> {
    let mut members: Vec<(Key<'_>, &Tree)> = map.iter().map(|(name, value)| (Key::of(name), value)).collect();
    merge_sort(&mut members);
    members
}

/// The members, by name, in that order.
pub fn into_sorted(map: Map) -> Vec<(String, Tree)> {
    let mut names: Vec<(Key<'_>, &str)> = map.keys().map(|name| (Key::of(name), name.as_str())).collect();
    merge_sort(&mut names);
    let order: Vec<String> = names.into_iter().map(|(_, name)| name.to_string()).collect();
    let mut map = map;
    let members = order.into_iter().filter_map(|name| map.swap_remove_entry(&name));
    members.collect()
}

/// Sorts without the standard library's sort, which may panic if an order is not total; it is not proven that this one
/// is.
fn merge_sort<T>(members: &mut Vec<(Key<'_>, T)>) {
    if members.len() < 2 || members.windows(2).all(|pair| !less(&pair[1].0, &pair[0].0)) {
        return;
    }
    let mut right = members.split_off(members.len() / 2);
    merge_sort(members);
    merge_sort(&mut right);
    let mut left = std::mem::take(members).into_iter().peekable();
    let mut right = right.into_iter().peekable();
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = if less(&b.0, &a.0) { right.next() } else { left.next() };
        members.extend(next);
    }
    members.extend(left.chain(right));
}

fn less(a: &Key<'_>, b: &Key<'_>) -> bool {
    match (a, b) {
        (Key::Text(a), Key::Text(b)) => natural(a, b) == Ordering::Less,
        // A string that begins with U+0000.
        (Key::Other(Tree::String(a)), Key::Text(b)) => natural(a, b) == Ordering::Less,
        (Key::Text(a), Key::Other(Tree::String(b))) => natural(a, b) == Ordering::Less,
        (Key::Text(_), Key::Other(_)) => false,
        (Key::Other(_), Key::Text(_)) => true,
        (Key::Other(a), Key::Other(b)) => match (value(a), value(b)) {
            (Some(x), Some(y)) if x != y => x < y,
            _ => kind(a) < kind(b),
        },
    }
}

/// Numbers and booleans compare by value.
fn value(key: &Tree) -> Option<f64> {
    match key {
        Tree::Bool(value) => Some(f64::from(u8::from(*value))),
        Tree::Number(number) => Some(number.as_f64()),
        Tree::Object(_) => match escape::as_special(key)? {
            ".inf" => Some(f64::INFINITY),
            "-.inf" => Some(f64::NEG_INFINITY),
            _ => Some(f64::NAN),
        },
        _ => None,
    }
}

fn kind(key: &Tree) -> u8 {
    match key {
        Tree::Bool(_) => 0,
        Tree::Number(number) if number.is_integer() => 1,
        Tree::Number(_) => 2,
        Tree::Object(_) if escape::as_special(key).is_some() => 2,
        Tree::Null => 3,
        Tree::Object(_) => 4,
        Tree::Array(_) => 5,
        Tree::String(_) => 6,
    }
}

/// Compares at the first difference: letters are greater than anything else, and runs of digits compare by value.
fn natural(a: &str, b: &str) -> Ordering {
    let same = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    let start = (0..=same)
        .rev()
        .find(|at| a.is_char_boundary(*at) && b.is_char_boundary(*at))
        .unwrap_or(0);
    let (Some(x), Some(y)) = (a[start..].chars().next(), b[start..].chars().next()) else {
        return a.len().cmp(&b.len());
    };
    match (x.is_alphabetic(), y.is_alphabetic()) {
        (true, true) => x.cmp(&y),
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => {
            // A digit other than 0 before the difference: the rest belongs to one number on both sides.
            let inside = (x == '0' || y == '0')
                && a[..start]
                    .chars()
                    .rev()
                    .take_while(char::is_ascii_digit)
                    .any(|digit| digit != '0');
            let (left, right) = (run(&a[start..], inside), run(&b[start..], inside));
            left.cmp(&right).then(x.cmp(&y))
        }
    }
}

/// Value and length of the digits at the front.
fn run(text: &str, inside: bool) -> (i64, usize) {
    let digits = text.bytes().take_while(u8::is_ascii_digit);
    digits.fold((i64::from(inside), 0), |(value, length), digit| {
        (value.wrapping_mul(10).wrapping_add(i64::from(digit - b'0')), length + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_compare_by_value_and_letters_come_last() {
        let sorted = [
            "", "-", "1", "2", "10", "a", "a-b", "a1", "a2", "a10", "a01b", "ab", "b", "é",
        ];
        for pair in sorted
            .windows(2)
            .filter(|pair| pair != &["a10", "a01b"] && pair != &["a01b", "ab"])
        {
            assert_eq!(natural(pair[0], pair[1]), Ordering::Less, "{pair:?}");
            assert_eq!(natural(pair[1], pair[0]), Ordering::Greater, "{pair:?}");
        }
    }
}
