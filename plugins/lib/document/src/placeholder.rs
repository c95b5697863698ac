//! Placeholders in strings, `((name))`, by the grammar of `bosh interpolate`: two parentheses, at most one space, at
//! most one `!`, a name of letters, digits and `-/._`, at most one space, two parentheses. Anything else is plain text.
//!
//! # Caveats
//! BOSH's letters are Unicode's category L. `char::is_alphabetic`, less the letter numbers, is what the standard
//! library has: it takes in vowel signs, other combining letters and the circled Latin letters as well (1,458
//! characters more), and the letters of a newer Unicode than that of BOSH's compiler. A name that holds one of these is
//! a placeholder here and plain text for BOSH.

use crate::{Map, Pointer, Tree, escape};
use std::collections::BTreeMap;
use std::ops::Range;

/// A placeholder in a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placeholder<'t> {
    /// Its bytes in the string, parentheses included.
    pub range: Range<usize>,
    /// Name and sub-keys, without `!`: `a.b.c`.
    pub name: &'t str,
    /// Whether there is a space inside. BOSH replaces such a placeholder only where it is the whole string.
    pub spaced: bool,
}

/// The role of a string in its document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The key of a member.
    Key,
    Value,
}

/// The placeholders of a string, from left to right. Takes time linear in its length.
pub fn scan(text: &str) -> impl Iterator<Item = Placeholder<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let start = from + text.get(from..)?.find("((")?;
            match placeholder_at(text, start) {
                Ok(found) => {
                    from = found.range.end;
                    return Some(found);
                }
                Err(stop) => from = stop,
            }
        }
    })
}

/// The placeholder that is the entire string.
pub fn whole(text: &str) -> Option<Placeholder<'_>> {
    if !text.starts_with("((") {
        return None;
    }
    placeholder_at(text, 0)
        .ok()
        .filter(|found| found.range.end == text.len())
}

/// The names of all variables that a document refers to, in keys and values, and the first place of each. The place of
/// a key is its member's.
///
/// # Assumptions
/// The document is no deeper than [`crate::MAX_DEPTH`].
pub fn roots(tree: &Tree) -> BTreeMap<String, Pointer> {
    let mut found = BTreeMap::new();
    each_string(tree, &mut Pointer::root(), &mut |text, place, _| {
        for placeholder in scan(text) {
            if !found.contains_key(placeholder.root()) {
                found.insert(placeholder.root().to_string(), place.clone());
            }
        }
    });
    found
}

/// Visits every string of a document: a member's key (where it is a string) before its value, both at the member's
/// place.
pub fn each_string(tree: &Tree, place: &mut Pointer, visit: &mut dyn FnMut(&str, &Pointer, Part)) {
    match tree {
        Tree::String(text) => visit(text, place, Part::Value),
        Tree::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                place.push(index);
                each_string(item, place, visit);
                place.pop();
            }
        }
        // The text of such a number is no text of the user's.
        Tree::Object(_) if escape::as_special(tree).is_some() => {}
        Tree::Object(map) => each_member(map, place, visit),
        Tree::Null | Tree::Bool(_) | Tree::Number(_) => {}
    }
}

fn each_member(map: &Map, place: &mut Pointer, visit: &mut dyn FnMut(&str, &Pointer, Part)) {
    for (name, value) in map {
        place.push(name);
        if let Tree::String(key) = escape::decode_key(name) {
            visit(&key, place, Part::Key);
        }
        each_string(value, place, visit);
        place.pop();
    }
}

// === impl Placeholder ===

impl<'t> Placeholder<'t> {
    /// Name of the variable: up to the first dot.
    pub fn root(&self) -> &'t str {
        self.name.split_once('.').map_or(self.name, |(root, _)| root)
    }

    /// The keys to follow in the variable's value, none for the value itself. A slash separates as a dot does.
    pub fn sub_keys(&self) -> impl Iterator<Item = &'t str> {
        let keys = self.name.split_once('.').map(|(_, keys)| keys.split(['.', '/']));
        keys.into_iter().flatten()
    }
}

/// Reads a placeholder that begins at `start`, where there is `((`; otherwise returns where to continue.
fn placeholder_at(text: &str, start: usize) -> Result<Placeholder<'_>, usize> {
    let rest = &text[start + 2..];
    let inner = rest.strip_prefix(' ').unwrap_or(rest);
    let after_mark = inner.strip_prefix('!').unwrap_or(inner);
    let length = after_mark.find(|c| !is_name_character(c)).unwrap_or(after_mark.len());
    let (name, tail) = after_mark.split_at(length);
    let end = tail.strip_prefix(' ').unwrap_or(tail);
    match end.strip_prefix("))") {
        Some(after) if !name.is_empty() => Ok(Placeholder {
            range: start..text.len() - after.len(),
            name,
            spaced: inner.len() < rest.len() || end.len() < tail.len(),
        }),
        // A name holds no parenthesis: none of the text up to its end begins a placeholder, except in `(((`.
        _ => Err((text.len() - tail.len()).max(start + 2) - usize::from(inner.len() == rest.len() && name.is_empty())),
    }
}

fn is_name_character(c: char) -> bool {
    match c {
        '-' | '/' | '.' | '_' => true,
        _ if c.is_ascii() => c.is_ascii_alphanumeric(),
        _ => c.is_alphabetic() && !c.is_numeric(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;
    use proptest::prelude::*;

    fn names(text: &str) -> Vec<&str> {
        scan(text).map(|found| found.name).collect()
    }

    #[test]
    fn what_is_a_placeholder() {
        let cases: [(&str, &[&str]); 24] = [
            ("((a))", &["a"]),
            ("((!a))", &["a"]),
            ("(( a ))", &["a"]),
            ("((a ))(( b))(( !c ))", &["a", "b", "c"]),
            ("((a.b.c))", &["a.b.c"]),
            ("((/abs/x.k))", &["/abs/x.k"]),
            ("((x-y_1))", &["x-y_1"]),
            ("((ü))((日本))", &["ü", "日本"]),
            ("((a))((a))", &["a", "a"]),
            ("(((a)))", &["a"]),
            ("((((a))", &["a"]),
            ("((a((b))", &["b"]),
            ("((a)((b))", &["b"]),
            ("(( ((a))", &["a"]),
            ("((!((a))", &["a"]),
            ("((a b))", &[]),
            ("((  a))", &[]),
            ("((! a))", &[]),
            ("((!!a))", &[]),
            ("(())((!))(( ))", &[]),
            ("((a:b))((a=b))((a?))((Ⅷ))", &[]),
            ("((a", &[]),
            ("((", &[]),
            ("(a)", &[]),
        ];
        for (text, want) in cases {
            assert_eq!(names(text), want, "{text}");
        }
    }

    #[test]
    fn whole_strings_are_distinguished() {
        for (text, name) in [
            ("((a))", Some("a")),
            ("(( !a ))", Some("a")),
            ("((a)) ", None),
            ("((a))((b))", None),
            ("", None),
        ] {
            assert_eq!(whole(text).map(|found| found.name), name, "{text}");
        }
    }

    #[test]
    fn names_split_at_the_first_dot_and_sub_keys_at_slashes_too() {
        let keys = |text| whole(text).unwrap().sub_keys().collect::<Vec<_>>();
        let root = |text| whole(text).unwrap().root();
        assert_eq!((root("((a))"), keys("((a))")), ("a", vec![]));
        assert_eq!((root("((/n/a.b.1))"), keys("((/n/a.b.1))")), ("/n/a", vec!["b", "1"]));
        assert_eq!(keys("((a.b/c))"), ["b", "c"]);
        assert_eq!((root("((.a.))"), keys("((.a.))")), ("", vec!["a", ""]));
    }

    #[test]
    fn roots_are_found_in_keys_and_values_at_their_first_place() {
        let tree = json::parse(
            r#"{"a": ["((y.k))", "-((x))-((y))"], "((z))": 1, "\u0000[\"((no))\"]": 2, "n": {"\u0000": ".inf"}}"#,
        );
        let found = roots(&tree.unwrap());
        let found: Vec<_> = found.iter().map(|(name, place)| format!("{name} {place}")).collect();
        assert_eq!(found, ["x /a/1", "y /a/0", "z /((z))"]);
    }

    #[test]
    fn the_first_place_is_kept() {
        let tree = json::parse(r#"["((b))", "((a))", "((b))"]"#).unwrap();
        assert_eq!(roots(&tree)["b"].to_string(), "/0");
    }

    #[test]
    fn hostile_strings_take_linear_time() {
        for text in [
            "((".repeat(500_000),
            "((a".repeat(300_000),
            "(( !".repeat(250_000),
            format!("(({}", "a".repeat(1_000_000)),
        ] {
            assert_eq!(scan(&text).count(), 0);
        }
    }

    proptest! {
        #[test]
        fn ranges_hold_what_was_found(text in "[(!) a-c.ü]{0,40}") {
            let mut end = 0;
            for found in scan(&text) {
                prop_assert!(found.range.start >= end);
                end = found.range.end;
                prop_assert_eq!(whole(&text[found.range.clone()]).map(|again| again.name), Some(found.name));
            }
        }

        /// The grammar once more, by trying every place.
        #[test]
        fn nothing_is_missed(text in "[(!) ab]{0,24}") {
            let (mut want, mut at) = (Vec::new(), 0);
            while at < text.len() {
                match text[at..].starts_with("((").then(|| placeholder_at(&text, at).ok()).flatten() {
                    Some(found) => { at = found.range.end; want.push(found) }
                    None => at += 1,
                }
            }
            prop_assert_eq!(scan(&text).collect::<Vec<_>>(), want);
        }
    }
}
