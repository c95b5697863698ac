//! Interpolation as the director does it, without the prefix of director and deployment that it gives to names.

use crate::error::Error;
use crate::plan::listed;
use crate::walk::{Evaluate, walk};
use crate::{codes, find, limit, names, satisfied};
use boson_contract::Reply;
use boson_contract::variables::Interpolated;
use boson_document::{Map, Pointer, Report, Tree};
use std::collections::{BTreeMap, BTreeSet};

/// Replaces placeholders, then takes out the definitions of variables that have a value.
pub fn interpolate(mut document: Tree, values: &Map) -> Reply<Interpolated> {
    let defined: Vec<String> = document
        .items("variables")
        .iter()
        .filter_map(|entry| entry.str("name"))
        .map(str::to_string)
        .collect();
    let mut variables = Variables {
        values,
        missing: BTreeMap::new(),
        used: BTreeSet::new(),
    };
    let mut report = limit::report();
    walk(&mut document, &mut variables, &mut report);
    let diagnostics = limit::finish(report)?;
    let found: Vec<&str> = defined
        .iter()
        .map(String::as_str)
        .filter(|name| values.contains_key(*name))
        .collect();
    satisfied::remove(&mut document, &found).map_err(|diagnostic| vec![diagnostic])?;
    variables.used.extend(found.into_iter().map(str::to_string));
    let interpolated = Interpolated {
        document,
        missing: listed(variables.missing),
        used: variables.used.into_iter().collect(),
    };
    Ok((interpolated, diagnostics))
}

struct Variables<'v> {
    values: &'v Map,
    missing: BTreeMap<String, Pointer>,
    used: BTreeSet<String>,
}

// === impl Variables ===

impl<'v> Variables<'v> {
    /// The value of a placeholder; `None` if it has none, which is recorded, or if looking it up fails, which is
    /// reported.
    fn lookup(&mut self, inner: &str, place: &Pointer, report: &mut Report) -> Option<&'v Tree> {
        self.find(inner, place).unwrap_or_else(|error| {
            report.push(error.at(place));
            None
        })
    }

    fn find(&mut self, inner: &str, place: &Pointer) -> Result<Option<&'v Tree>, Error> {
        let name = names::in_placeholder(inner)?;
        let root = name.split('.').next().unwrap_or(name);
        let Some(value) = self.values.get(root) else {
            if !self.missing.contains_key(root) {
                self.missing.insert(root.to_string(), place.clone());
            }
            return Ok(None);
        };
        if !self.used.contains(root) {
            self.used.insert(root.to_string());
        }
        find::in_maps(value, name).map(Some)
    }
}

impl Evaluate for Variables<'_> {
    fn value(&mut self, text: &str, place: &Pointer, report: &mut Report) -> Option<Tree> {
        let (mut out, mut end) = (String::new(), 0);
        for found in names::scan(text) {
            if found.range == (0..text.len()) {
                return self.lookup(found.inner, place, report).cloned();
            }
            let Some(value) = self.lookup(found.inner, place, report) else {
                continue;
            };
            let Some(part) = embeddable(value) else {
                report.push(not_embeddable(found.inner).at(place));
                continue;
            };
            out.push_str(&text[end..found.range.start]);
            out.push_str(&part);
            end = found.range.end;
        }
        (end > 0).then(|| Tree::String(out + &text[end..]))
    }

    /// A key is replaced where a placeholder is all of it; else it is plain text.
    fn key(&mut self, text: &str, place: &Pointer, report: &mut Report) -> Option<Tree> {
        let whole = names::scan(text).next().filter(|found| found.is_whole_key(text));
        self.lookup(whole?.inner, place, report).cloned()
    }
}

/// The text of a string or of an integer of any size.
fn embeddable(value: &Tree) -> Option<String> {
    match value {
        Tree::String(text) => Some(text.clone()),
        Tree::Number(number) if number.is_integer() => {
            let integer = number.as_i64().map(|integer| integer.to_string());
            Some(integer.unwrap_or_else(|| number.text().to_string()))
        }
        _ => None,
    }
}

fn not_embeddable(inner: &str) -> Error {
    let refused = format!("Can not replace '(({inner}))' in '<redacted>'.");
    let message = format!("Failed to substitute variable: {refused} The value should be a String or an Integer.");
    Error::new(codes::NOT_EMBEDDABLE, message)
}
