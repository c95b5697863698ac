//! Checks of variables: those without a value, and values that nothing uses.

pub(super) mod ahead;
pub(super) mod exposed;

use crate::diagnostic::Diagnostic;
use crate::stage::Reference;
use crate::variables::{Check, Store, Table, codes};
use std::collections::BTreeSet;

/// Diagnostics about variables without a value. `known`: names of those that have one.
pub fn missing(references: &[Reference], document: &str, check: Check, known: &BTreeSet<&str>) -> Vec<Diagnostic> {
    let help = "define it in `variables`, or set its value with -v, -l or --vars-store";
    let each = |reference: &Reference| {
        let message = format!("Failed to find variable '{}'", reference.name);
        let error = Diagnostic::error(codes::VARIABLES_MISSING, message).in_document(document);
        let error = error.at(&reference.pointer).help(help);
        error.suggest(&reference.name, known.iter().copied())
    };
    match (check, references) {
        (Check::Ignore, _) | (_, []) => Vec::new(),
        (Check::Each, _) => references.iter().map(each).collect(),
        (Check::Together, [first, ..]) => {
            let names: BTreeSet<&str> = references.iter().map(|reference| reference.name.as_str()).collect();
            let message = format!("Expected to find variables:{}", listed(&names));
            let error = Diagnostic::error(codes::VARIABLES_MISSING, message).in_document(document);
            vec![error.at(&first.pointer).help(help)]
        }
    }
}

/// Diagnostics about values that nothing refers to: one error about all of them, as in BOSH, or a warning about each
/// given one (a generated value may be needed again).
pub fn unused(table: &Table, store: &Store, used: &BTreeSet<&str>, check: Check) -> Vec<Diagnostic> {
    let given: BTreeSet<&str> = table.names().filter(|name| !used.contains(name)).collect();
    match check {
        Check::Ignore => Vec::new(),
        Check::Each => {
            let warn = |name: &&str| {
                let text = format!("Variable '{name}' has a value, but nothing refers to it");
                Diagnostic::warning(codes::VARIABLES_UNUSED, text).help("check its name, or remove it")
            };
            given.iter().map(warn).collect()
        }
        Check::Together => {
            let stored = store.names().filter(|name| !used.contains(name));
            let all: BTreeSet<&str> = given.iter().copied().chain(stored).collect();
            if all.is_empty() {
                return Vec::new();
            }
            let message = format!("Expected to use variables:{}", listed(&all));
            vec![
                Diagnostic::error(codes::VARIABLES_UNUSED, message)
                    .help("remove these variables, or the flag --var-errs-unused"),
            ]
        }
    }
}

/// Each name on its own line, as BOSH's command line prints them.
fn listed(names: &BTreeSet<&str>) -> String {
    names.iter().map(|name| format!("\n- {name}")).collect()
}
