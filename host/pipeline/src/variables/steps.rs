//! Interpolation where values are made elsewhere and later, as in a cluster: first what the manifest wants, and when all is there, what becomes
//! of it.

use super::circle;
use super::flow::{self, Check, Inputs, Interpolation, Options};
use super::given;
use super::store::Store;
use super::table::Table;
use crate::stage::{Named, Reference, Reply, Stages, Variable, VariableRules};
use boson_document::Tree;
use std::collections::HashSet;

/// What a manifest wants.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The manifest with the given values in place, except in its definitions.
    pub document: Tree,
    /// Variables with a type that nobody has given a value, in the order of the manifest: someone generates these. Given values stand in their options.
    pub variables: Vec<Variable>,
    /// Variables that are referred to and have neither a type nor a given value.
    pub implicit: Vec<Reference>,
}

/// What the manifest wants beyond what was given.
///
/// # Errors
/// Of the variables stage: definitions or placeholders that are none; CAs that sign each other.
pub fn wanted(stages: &dyn Stages, document: Named<'_>, table: &Table) -> Reply<Wanted> {
    let (given, mut diagnostics) = given::put_in(stages, document, table)?;
    let placed = Named {
        tree: &given.document,
        ..document
    };
    let (plan, said) = stages.plan(placed, VariableRules::Director)?;
    diagnostics.extend(said);
    let typed = plan.definitions.iter().filter(|definition| definition.kind.is_some());
    let defined: HashSet<&str> = typed.map(|definition| definition.name.as_str()).collect();
    let has_value = |name: &str| defined.contains(name) || table.get(name).is_some();
    let implicit = plan.references.into_iter().filter(|one| !has_value(&one.name));
    let implicit = implicit.collect();
    let own = plan.definitions.iter().filter(|one| table.get(&one.name).is_none());
    let mut variables = Vec::new();
    for definition in own {
        let Some(kind) = definition.kind.clone() else { continue };
        // Sections of definitions are left alone above, so that places in them stay the same.
        let options = Named {
            name: document.name,
            tree: &definition.options,
        };
        let (done, said) = stages.interpolate(options, &table.to_tree(), VariableRules::Director)?;
        diagnostics.extend(said);
        variables.push(Variable {
            name: definition.name.clone(),
            kind,
            options: done.document,
            update_mode: definition.update_mode.clone(),
            pointer: definition.pointer.clone(),
        });
    }
    diagnostics.extend(circle::circles(&variables, document.name));
    let document = given.document;
    let wanted = Wanted {
        document,
        variables,
        implicit,
    };
    crate::stage::fail_on_errors(wanted, diagnostics)
}

/// The manifest with all values: those that were given, and those that were generated, by name.
///
/// # Errors
/// As [`flow::interpolate`]; a variable that has no value yet among them.
pub fn desired(stages: &dyn Stages, document: Named<'_>, table: &Table, generated: &Tree) -> Reply<Interpolation> {
    let mut store = Store::of(generated);
    let inputs = Inputs {
        table,
        store: &mut store,
        generator: None,
        addresses: None,
        check: None,
    };
    let options = Options {
        unused: Check::Ignore,
        // Whoever generated the values has looked at them.
        update_modes: false,
        ..Options::convert()
    };
    flow::interpolate(stages, document, inputs, &options)
}
