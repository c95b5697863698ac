//! Definitions and references, which are needed before placeholders can be replaced.

use crate::definitions::{self, Definition};
use crate::{Rules, limit, names, validation};
use boson_document::placeholder::{Part, each_string, roots};
use boson_document::{Diagnostic, Pointer, Report, Tree};
use std::collections::BTreeMap;

/// A variable that the document refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Name, without sub-keys.
    pub name: String,
    /// First place that refers to it.
    pub pointer: Pointer,
}

/// Definitions and references of a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// In the order of the document.
    pub definitions: Vec<Definition>,
    /// Sorted, each name once.
    pub references: Vec<Reference>,
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads definitions and references.
///
/// # Errors
/// A section that the rules refuse; with the director's rules, names that it refuses too, wherever they are.
pub fn plan(document: &Tree, rules: Rules) -> Result<Plan, Vec<Diagnostic>> {
    let (definitions, references, diagnostics) = match rules {
        Rules::Cli => (definitions::read(document)?, roots(document), Vec::new()),
        Rules::Director => {
            let mut report = limit::report();
            let definitions = validation::read(document, &mut report);
            let references = references(document, &mut report);
            (definitions, references, limit::finish(report)?)
        }
    };
    let references = references
        .into_iter()
        .map(|(name, pointer)| Reference { name, pointer })
        .collect();
    Ok(Plan {
        definitions,
        references,
        diagnostics,
    })
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
                Err(failure) => {
                    report.push(failure.at(place));
                }
            }
        }
    });
    found
}
