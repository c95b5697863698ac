//! The flat table of given values, with dotted names folded: `a.b` is the member `b` of `a`.

use crate::diagnostic::Diagnostic;
use crate::variables::codes;
use boson_document::{Map, Tree, escape};

/// Longest dotted name, in segments. Deeper values could not be part of a document.
const MAX_SEGMENTS: usize = 64;

/// Values by name. No name holds a dot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table(Map);

// === impl Table ===

impl Table {
    /// Folds dotted names.
    ///
    /// # Errors
    /// Names that contradict each other: `a.b` if `a` is not a map, or if its member `b` is given already.
    pub fn fold(flat: Map) -> Result<Self, Vec<Diagnostic>> {
        let (mut folded, mut errors) = (Map::new(), Vec::new());
        let (dotted, plain): (Vec<_>, Vec<_>) = flat.into_iter().partition(|(name, _)| name.contains('.'));
        folded.extend(plain);
        for (name, value) in dotted {
            if let Err(message) = insert(&mut folded, &name, value) {
                let error = Diagnostic::error(codes::VARIABLES_CONFLICTING_NAMES, message);
                errors.push(error.help("set one value of the variable, with one name"));
            }
        }
        if errors.is_empty() {
            Ok(Self(folded))
        } else {
            Err(errors)
        }
    }

    pub fn get(&self, name: &str) -> Option<&Tree> {
        self.0.get(name)
    }

    /// All of it, as one object.
    pub fn to_tree(&self) -> Tree {
        Tree::Object(self.0.clone())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names, in no particular order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

fn insert(folded: &mut Map, name: &str, value: Tree) -> Result<(), String> {
    if name.split('.').count() > MAX_SEGMENTS {
        return Err(format!(
            "Expected variable '{name}' to have at most {MAX_SEGMENTS} segments"
        ));
    }
    let (mut map, mut rest) = (folded, name);
    while let Some((segment, below)) = rest.split_once('.') {
        let so_far = &name[..name.len() - below.len() - 1];
        let inner = map.entry(segment.to_string()).or_insert_with(Tree::object);
        map = match inner {
            // An escaped number is also an object, but not a map.
            inner if escape::as_special(inner).is_some() => return Err(conflict(name, so_far)),
            Tree::Object(inner) => inner,
            _ => return Err(conflict(name, so_far)),
        };
        rest = below;
    }
    if let Some(held) = map.get_mut(rest) {
        return merge(held, value).ok_or_else(|| format!("Expected variable '{name}' to be given once"));
    }
    map.insert(rest.to_string(), value);
    Ok(())
}

/// Merges maps; `None` if they share a member, or one is no map.
fn merge(held: &mut Tree, value: Tree) -> Option<()> {
    held.as_map()?;
    value.as_map()?;
    let (Tree::Object(held), Tree::Object(value)) = (held, value) else {
        return None;
    };
    for (key, value) in value {
        match held.get_mut(&key) {
            Some(held) => merge(held, value)?,
            None => drop(held.insert(key, value)),
        }
    }
    Some(())
}

fn conflict(name: &str, parent: &str) -> String {
    format!("Expected variable '{parent}' to be a map, because '{name}' is given, too")
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    fn fold(text: &str) -> Result<String, Vec<String>> {
        let flat = json::parse(text).unwrap().as_object().unwrap().clone();
        let sorted = |mut map: Map| {
            map.sort_keys();
            json::to_text(&Tree::Object(map))
        };
        let messages = |all: Vec<Diagnostic>| all.into_iter().map(|d| d.message).collect();
        Table::fold(flat).map(|table| sorted(table.0)).map_err(messages)
    }

    #[test]
    fn dotted_names_become_maps_in_any_order() {
        for (flat, want) in [
            (r#"{"a.b": 1, "c": 2}"#, r#"{"a":{"b":1},"c":2}"#),
            (
                r#"{"a.b.c": 1, "a.b.d": 2, "a.e": 3}"#,
                r#"{"a":{"b":{"c":1,"d":2},"e":3}}"#,
            ),
            (r#"{"a.b": 1, "a": {"c": 2}}"#, r#"{"a":{"c":2,"b":1}}"#),
            (
                r#"{"a": {"c": 2}, "a.b": {"x": 1}, "a.b.y": 2}"#,
                r#"{"a":{"c":2,"b":{"x":1,"y":2}}}"#,
            ),
            (r#"{"a.b.y": 2, "a.b": {"x": 1}}"#, r#"{"a":{"b":{"y":2,"x":1}}}"#),
            (r#"{".b": 1, "a.": 2}"#, r#"{"":{"b":1},"a":{"":2}}"#),
        ] {
            assert_eq!(fold(flat).unwrap(), want, "{flat}");
        }
    }

    #[test]
    fn names_that_contradict_each_other_are_refused() {
        for (flat, want) in [
            (
                r#"{"a": 1, "a.b": 2}"#,
                "Expected variable 'a' to be a map, because 'a.b' is given, too",
            ),
            (
                r#"{"a.b": 2, "a": null}"#,
                "Expected variable 'a' to be a map, because 'a.b' is given, too",
            ),
            (
                r#"{"a": {"\u0000": ".inf"}, "a.b": 2}"#,
                "Expected variable 'a' to be a map, because 'a.b' is given, too",
            ),
            (
                r#"{"a": {"b": 1}, "a.b": 2}"#,
                "Expected variable 'a.b' to be given once",
            ),
            (r#"{"a.b.c": 1, "a.b": 2}"#, "Expected variable 'a.b' to be given once"),
            (
                r#"{"a.b": 2, "a.b.c": 1}"#,
                "Expected variable 'a.b' to be a map, because 'a.b.c' is given, too",
            ),
        ] {
            assert_eq!(fold(flat).unwrap_err(), [want], "{flat}");
        }
        assert!(fold(&format!(r#"{{"{}": 1}}"#, "a.".repeat(100))).is_err());
    }
}
