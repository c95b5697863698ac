//! Definitions and references, which are needed before placeholders can be replaced.

use crate::{definitions, limit, names, validation};
use boson_contract::Reply;
use boson_contract::variables::{Reference, Rules, VariablesPlan};
use boson_document::placeholder::{Part, each_string, roots};
use boson_document::{Pointer, Report, Tree};
use std::collections::BTreeMap;

/// Reads definitions and references.
///
/// # Errors
/// A section that the rules refuse; with the director's rules, names that it refuses too, wherever they are.
pub fn plan(document: &Tree, rules: Rules) -> Reply<VariablesPlan> {
    let (definitions, references, diagnostics) = match rules {
        Rules::Cli => (definitions::read(document)?, roots(document), Vec::new()),
        Rules::Director => {
            let mut report = limit::report();
            let definitions = validation::read(document, &mut report);
            let references = references(document, &mut report);
            (definitions, references, limit::finish(report)?)
        }
    };
    let plan = VariablesPlan {
        definitions,
        references: listed(references),
    };
    Ok((plan, diagnostics))
}

/// References by their names and places.
pub fn listed(found: BTreeMap<String, Pointer>) -> Vec<Reference> {
    let reference = |(name, pointer): (String, Pointer)| Reference {
        name,
        pointer: pointer.to_string(),
    };
    found.into_iter().map(reference).collect()
}

/// The director's placeholders; those that it refuses are reported.
fn references(document: &Tree, report: &mut Report) -> BTreeMap<String, Pointer> {
    let mut found = BTreeMap::new();
    each_string(document, &mut Pointer::root(), &mut |text, place, part| {
        for placeholder in names::scan(text) {
            if part == Part::Key && !placeholder.is_whole_key(text) {
                continue;
            }
            match names::in_placeholder(placeholder.inner) {
                Ok(name) => {
                    let root = name.split('.').next().unwrap_or(name);
                    found.entry(root.to_string()).or_insert_with(|| place.clone());
                }
                Err(error) => {
                    report.push(error.at(place));
                }
            }
        }
    });
    found
}
