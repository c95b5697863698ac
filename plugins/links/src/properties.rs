//! Properties of a job: binds the manifest's values to the declared properties, by BOSH's rules.
//!
//! Every property that the spec declares exists afterwards, in the spec's order: with the manifest's value, or the
//! default where that is absent or null. Hashes are replaced as a whole and sorted by key. Undeclared properties are
//! not visible to templates.

use boson_document::{Map, Tree, escape, ruby};
use boson_manifest::spec::Spec;
use std::cmp::Ordering;
use std::collections::HashMap;

/// A property that cannot be bound.
#[derive(Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// In BOSH's words.
    pub message: String,
    /// Where the value is that should be a hash: tokens below the manifest's properties, or none where the spec's
    /// defaults contradict each other.
    pub given: Option<Vec<String>>,
    /// Dotted name of the property.
    pub property: String,
}

/// Most pieces of a dotted name: more than a document can be deep.
const MAX_PIECES: usize = 120;

/// The pieces of a dotted name, as Ruby splits it: empty ones at the end do not count.
pub fn pieces(name: &str) -> Vec<&str> {
    let mut pieces: Vec<&str> = name.split('.').collect();
    while pieces.last().is_some_and(|piece| piece.is_empty()) {
        pieces.pop();
    }
    pieces
}

/// The bound properties of a job.
///
/// # Errors
/// Values where a declared name needs a hash; all of them.
pub fn bind(given: &Map, spec: &Spec<'_>) -> Result<Map, Vec<Mismatch>> {
    let (mut bound, mut mismatches) = (Map::new(), Vec::new());
    for property in &spec.properties {
        let pieces = pieces(property.name);
        let mismatch = |class: &str, given: Option<Vec<String>>| Mismatch {
            message: format!("Property '{}' expects a hash, but received '{class}'", property.name),
            given,
            property: property.name.into(),
        };
        if pieces.len() > MAX_PIECES {
            mismatches.push(mismatch("NilClass", None));
            continue;
        }
        match provided(given, &pieces) {
            Ok(value) => {
                let value = value.or(property.default).map_or(Tree::Null, sorted);
                if let Err(class) = place(&mut bound, &pieces, value) {
                    mismatches.push(mismatch(class, None));
                }
            }
            Err((depth, class)) => {
                let path = pieces[..depth].iter().map(|piece| piece.to_string()).collect();
                mismatches.push(mismatch(class, Some(path)));
            }
        }
    }
    if mismatches.is_empty() {
        Ok(bound)
    } else {
        Err(mismatches)
    }
}

/// The value at a path, unless null; else how many pieces lead to the value that should be a hash, and its class.
fn provided<'m>(given: &'m Map, pieces: &[&str]) -> Result<Option<&'m Tree>, (usize, &'static str)> {
    let mut map = given;
    for (index, piece) in pieces.iter().enumerate() {
        match map.get(*piece) {
            None | Some(Tree::Null) => return Ok(None),
            found if index + 1 == pieces.len() => return Ok(found),
            Some(value) => map = value.as_map().ok_or((index + 1, ruby::class(value)))?,
        }
    }
    Ok(None)
}

/// Sets a value at a path; hashes on the way are made where there is nothing, null or false.
///
/// # Errors
/// The class of a value on the way that is no hash.
pub fn place(into: &mut Map, pieces: &[&str], value: Tree) -> Result<(), &'static str> {
    let Some((last, way)) = pieces.split_last() else {
        return Ok(());
    };
    let mut map = into;
    for piece in way {
        let next = map.entry((*piece).to_string()).or_default();
        if matches!(next, Tree::Null | Tree::Bool(false)) {
            *next = Tree::object();
        }
        let class = ruby::class(next);
        map = next.as_object_mut().filter(|_| class == "Hash").ok_or(class)?;
    }
    map.insert((*last).to_string(), value);
    Ok(())
}

/// A value, its hashes sorted by key, but for those inside lists.
pub fn sorted(value: &Tree) -> Tree {
    let Some(map) = value.as_object() else {
        return value.clone();
    };
    let mut members: Vec<_> = map.iter().collect();
    members.sort_by(|(one, _), (other, _)| by_key(one, other));
    members
        .into_iter()
        .map(|(key, value)| (key.clone(), sorted(value)))
        .collect()
}

fn by_key(one: &str, other: &str) -> Ordering {
    match (escape::decode_key(one), escape::decode_key(other)) {
        (Tree::Number(one), Tree::Number(other)) => one.as_f64().total_cmp(&other.as_f64()),
        _ => one.cmp(other),
    }
}

/// A job's properties with an older, wider set of properties below them: `over` wins, hashes are merged.
pub fn merged(under: &Map, over: &Map) -> Map {
    let mut map = under.clone();
    for (key, value) in over {
        let value = match (map.get(key).and_then(Tree::as_map), value.as_map()) {
            (Some(under), Some(over)) => Tree::Object(merged(under, over)),
            _ => value.clone(),
        };
        map.insert(key.clone(), value);
    }
    map
}

/// The known paths below a job's properties.
#[derive(Debug, Default)]
pub struct Known<'s> {
    whole: bool,
    below: HashMap<&'s str, Known<'s>>,
    /// All names that were added to the root.
    names: Vec<&'s str>,
}

// === impl Known ===

impl<'s> Known<'s> {
    /// Adds a dotted name: its path, and all below it, is known.
    pub fn add(&mut self, name: &'s str) {
        self.names.push(name);
        let node = pieces(name)
            .into_iter()
            .take(MAX_PIECES)
            .fold(self, |node, piece| node.below.entry(piece).or_default());
        node.whole = true;
    }

    pub fn names(&self) -> impl Iterator<Item = &'s str> {
        self.names.iter().copied()
    }

    /// The topmost unknown paths, at most `limit`.
    pub fn unknown(&self, given: &Map, limit: usize) -> Vec<Vec<String>> {
        let mut paths = Vec::new();
        self.walk(given, &mut Vec::new(), &mut paths, limit);
        paths
    }

    fn walk(&self, given: &Map, path: &mut Vec<String>, paths: &mut Vec<Vec<String>>, limit: usize) {
        for (key, value) in given {
            if paths.len() >= limit {
                return;
            }
            path.push(key.clone());
            match self.below.get(key.as_str()) {
                None => paths.push(path.clone()),
                Some(node) if node.whole => {}
                Some(node) => {
                    if let Some(map) = value.as_map() {
                        node.walk(map, path, paths, limit);
                    }
                }
            }
            path.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_contract::links::JobSpec;
    use boson_document::{Report, json};
    use std::borrow::Cow;

    fn bound(given: &str, properties: &str) -> Result<String, Vec<Mismatch>> {
        let spec = json::parse(&format!(r#"{{"name": "j", "properties": {properties}}}"#)).unwrap();
        let from = JobSpec {
            release: "r".into(),
            job: "j".into(),
            spec: Cow::Borrowed(&spec),
            document_name: "spec".into(),
        };
        let mut report = Report::default();
        let spec = Spec::read(&from, crate::codes::JOB_SPEC, &mut report);
        assert_eq!(report.into_diagnostics(), []);
        let given = json::parse(given).unwrap();
        bind(given.as_object().unwrap(), &spec).map(|map| json::to_text(&Tree::Object(map)))
    }

    #[test]
    fn every_declared_property_exists_and_no_other() {
        for (given, properties, expected) in [
            (r#"{"a": 1, "b": 2}"#, r#"{"a": {}}"#, r#"{"a":1}"#),
            (
                r#"{}"#,
                r#"{"a": {"default": 5}, "b.c": {}}"#,
                r#"{"a":5,"b":{"c":null}}"#,
            ),
            (r#"{"a": null}"#, r#"{"a": {"default": 5}}"#, r#"{"a":5}"#),
            (r#"{"a": false}"#, r#"{"a": {"default": true}}"#, r#"{"a":false}"#),
            (r#"{"a": {}}"#, r#"{"a": {"default": {"x": 1}}}"#, r#"{"a":{}}"#),
            (
                r#"{"a": {"y": 1}}"#,
                r#"{"a": {"default": {"x": 1}}}"#,
                r#"{"a":{"y":1}}"#,
            ),
            (
                r#"{"a": {"z": {"b": 1, "a": [{"d": 1, "c": 2}]}, "b": 2}}"#,
                r#"{"a": {}}"#,
                r#"{"a":{"b":2,"z":{"a":[{"d":1,"c":2}],"b":1}}}"#,
            ),
            // Both a parent and its child are declared: the child's default fills in a key of the user's hash.
            (
                r#"{"a": {"x": 1}}"#,
                r#"{"a": {}, "a.b": {"default": 7}}"#,
                r#"{"a":{"x":1,"b":7}}"#,
            ),
            (r#"{}"#, r#"{"a": {}, "a.b": {}}"#, r#"{"a":{"b":null}}"#),
            (
                r#"{}"#,
                r#"{"a": {"default": false}, "a.b": {}}"#,
                r#"{"a":{"b":null}}"#,
            ),
            (
                r#"{"a": {"b": 1}}"#,
                r#"{"a.b": {}, "a": {"default": 1}}"#,
                r#"{"a":{"b":1}}"#,
            ),
            (r#"{"a": null}"#, r#"{"a.b": {"default": 1}}"#, r#"{"a":{"b":1}}"#),
            (
                r#"{"n": 123456789012345678901234567890, "f": 1.10}"#,
                r#"{"n": {}, "f": {}}"#,
                r#"{"n":123456789012345678901234567890,"f":1.10}"#,
            ),
            (
                r#"{"a": {"\u000010": 1, "\u00009": 2}}"#,
                r#"{"a": {}}"#,
                "{\"a\":{\"\\u00009\":2,\"\\u000010\":1}}",
            ),
            (r#"{}"#, r#"{"a": "only a description"}"#, r#"{"a":null}"#),
        ] {
            assert_eq!(bound(given, properties).unwrap(), expected, "{given} {properties}");
        }
    }

    #[test]
    fn a_value_where_a_hash_must_be_is_an_error() {
        for (given, properties, class, path) in [
            (r#"{"a": "x"}"#, r#"{"a.b": {}}"#, "String", Some(vec!["a"])),
            (
                r#"{"a": {"b": 7}}"#,
                r#"{"a.b.c": {}}"#,
                "Integer",
                Some(vec!["a", "b"]),
            ),
            (r#"{"a": false}"#, r#"{"a.b": {}}"#, "FalseClass", Some(vec!["a"])),
            (r#"{}"#, r#"{"a": {"default": "x"}, "a.b": {}}"#, "String", None),
        ] {
            let mismatches = bound(given, properties).unwrap_err();
            let mismatch = &mismatches[0];
            assert!(
                mismatch
                    .message
                    .ends_with(&format!("expects a hash, but received '{class}'")),
                "{}",
                mismatch.message
            );
            assert_eq!(
                mismatch.given,
                path.map(|path| path.into_iter().map(String::from).collect())
            );
        }
    }

    #[test]
    fn undeclared_properties_are_found_at_their_topmost_key() {
        let given = json::parse(r#"{"a": {"b": 1, "typo": {"x": 1}}, "whole": {"x": 1}, "other": 1}"#).unwrap();
        let mut known = Known::default();
        known.add("a.b");
        known.add("whole");
        assert_eq!(
            known.unknown(given.as_object().unwrap(), 9),
            [vec!["a", "typo"], vec!["other"]]
        );
    }
}
