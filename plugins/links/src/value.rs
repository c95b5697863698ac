//! Values of the manifest by BOSH's rules: required keys, types, and their error texts without what may be secret.

use crate::codes;
use boson_document::{Map, Pointer, Report, Tree};
use boson_manifest::types::{self, Type};

/// Reads the members of one object; errors are added to the report.
pub struct Members<'m> {
    map: &'m Map,
    /// Place of the object.
    pub place: Pointer,
}

// === impl Members ===

impl<'m> Members<'m> {
    /// The members of a value that must be an object.
    pub fn of(tree: &'m Tree, place: Pointer, report: &mut Report) -> Option<Self> {
        if let Some(map) = hash(tree) {
            return Some(Self { map, place });
        }
        report.error(codes::WRONG_TYPE, place, types::not_a_hash(tree));
        None
    }

    /// The member, of any type.
    pub fn get(&self, key: &str) -> Option<&'m Tree> {
        self.map.get(key)
    }

    /// All members.
    pub fn all(&self) -> &'m Map {
        self.map
    }

    /// A string; a number becomes one.
    pub fn string(&self, key: &str, report: &mut Report) -> Option<String> {
        let value = self.get(key)?;
        let text = text(value);
        if text.is_none() {
            self.wrong(key, value, Type::String, report);
        }
        text
    }

    /// A string that must be there.
    pub fn required_string(&self, key: &str, report: &mut Report) -> Option<String> {
        if self.get(key).is_none() {
            self.missing(key, report);
        }
        self.string(key, report)
    }

    /// An integer that must be there.
    pub fn required_integer(&self, key: &str, report: &mut Report) -> Option<i64> {
        match self.get(key) {
            None => self.missing(key, report),
            Some(Tree::Number(number)) if number.is_integer() => {
                // One that does not fit is out of every range too.
                return Some(number.as_i64().unwrap_or(if number.text().starts_with('-') {
                    i64::MIN
                } else {
                    i64::MAX
                }));
            }
            Some(value) => self.wrong(key, value, Type::Integer, report),
        }
        None
    }

    /// A list; none where the key is absent.
    pub fn list(&self, key: &str, report: &mut Report) -> &'m [Tree] {
        match self.get(key) {
            None => &[],
            Some(Tree::Array(items)) => items,
            Some(value) => {
                self.wrong(key, value, Type::Array, report);
                &[]
            }
        }
    }

    /// An object, if given.
    pub fn object(&self, key: &str, report: &mut Report) -> Option<&'m Map> {
        let value = self.get(key)?;
        if hash(value).is_none() {
            self.wrong(key, value, Type::Hash, report);
        }
        hash(value)
    }

    /// Reports a missing key.
    pub fn missing(&self, key: &str, report: &mut Report) {
        report.error(codes::MISSING_KEY, self.place.clone(), types::missing(key, self.map));
    }

    /// Reports a value of the wrong type.
    pub fn wrong(&self, key: &str, value: &Tree, wanted: Type, report: &mut Report) {
        report.error(codes::WRONG_TYPE, self.place.at(key), wanted.mismatch(key, value));
    }
}

/// The members of an object that is a hash in YAML too (not an escaped number).
pub fn hash(value: &Tree) -> Option<&Map> {
    value.as_map()
}

pub use boson_document::ruby::{class, string as text};

/// A member's name, as it may be printed.
pub fn plain(name: &str) -> String {
    name.trim_start_matches('\0').chars().take(128).collect()
}

/// How many levels a value is nested, scalars being 0.
pub fn depth(value: &Tree) -> usize {
    match value {
        Tree::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Tree::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// About how many bytes a value has as JSON text.
pub fn weight(value: &Tree) -> usize {
    match value {
        Tree::Null | Tree::Bool(_) => 5,
        Tree::Number(number) => number.text().len() + 1,
        Tree::String(text) => text.len() + 3,
        Tree::Array(items) => items.iter().map(weight).sum::<usize>() + 3,
        Tree::Object(map) => {
            map.iter()
                .map(|(name, value)| name.len() + 4 + weight(value))
                .sum::<usize>()
                + 3
        }
    }
}
