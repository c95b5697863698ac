//! Reads the members of an object by BOSH's rules: required keys and types.

use crate::types::{self, Type};
use boson_document::{Code, Map, Place, Report, Tree, ruby};

/// The codes under which a stage reports errors.
#[derive(Clone, Copy, Debug)]
pub struct Codes {
    /// A value has another type.
    pub wrong_type: &'static Code,
    /// A required key is missing.
    pub missing_key: &'static Code,
}

/// Codes for a reader that reports nothing.
pub(crate) const UNREPORTED: &Codes = &Codes {
    wrong_type: &Code::new("", "", ""),
    missing_key: &Code::new("", "", ""),
};

/// A report that nobody reads.
pub fn unreported() -> Report {
    Report::limited(0)
}

/// Reads the members of one object; errors are added to the report.
#[derive(Clone, Debug)]
pub struct Members<'m> {
    map: &'m Map,
    codes: &'static Codes,
    /// Place of the object.
    pub place: Place,
}

// === impl Members ===

impl<'m> Members<'m> {
    /// The members of a value that must be an object.
    pub fn of(tree: &'m Tree, place: impl Into<Place>, codes: &'static Codes, report: &mut Report) -> Option<Self> {
        let place = place.into();
        if let Some(map) = tree.as_map() {
            return Some(Self { map, codes, place });
        }
        report.error(codes.wrong_type, place, types::not_a_hash(tree));
        None
    }

    /// The member, of any type.
    pub fn get(&self, key: &str) -> Option<&'m Tree> {
        self.map.get(key)
    }

    pub fn all(&self) -> &'m Map {
        self.map
    }

    /// A string; a number becomes one.
    pub fn string(&self, key: &str, report: &mut Report) -> Option<String> {
        let value = self.get(key)?;
        let text = ruby::string(value);
        if text.is_none() {
            self.report_mismatch(key, value, Type::String, report);
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
            Some(value) => self.report_mismatch(key, value, Type::Integer, report),
        }
        None
    }

    /// A list; none where the key is absent.
    pub fn list(&self, key: &str, report: &mut Report) -> &'m [Tree] {
        match self.get(key) {
            None => &[],
            Some(Tree::Array(items)) => items,
            Some(value) => {
                self.report_mismatch(key, value, Type::Array, report);
                &[]
            }
        }
    }

    /// The items of a list, each with its place.
    pub fn items(&self, key: &str, report: &mut Report) -> impl Iterator<Item = (Place, &'m Tree)> + use<'m> {
        let (items, place) = (self.list(key, report), self.place.at(key));
        let placed = items.iter().enumerate();
        placed.map(move |(index, item)| (place.at(index), item))
    }

    /// An object, if given.
    pub fn object(&self, key: &str, report: &mut Report) -> Option<&'m Map> {
        let value = self.get(key)?;
        if value.as_map().is_none() {
            self.report_mismatch(key, value, Type::Hash, report);
        }
        value.as_map()
    }

    /// Reports a missing key.
    pub fn missing(&self, key: &str, report: &mut Report) {
        report.error(self.codes.missing_key, &self.place, types::missing(key, self.map));
    }

    /// Reports a value of the wrong type.
    pub fn report_mismatch(&self, key: &str, value: &Tree, wanted: Type, report: &mut Report) {
        report.error(self.codes.wrong_type, self.place.at(key), wanted.mismatch(key, value));
    }
}
