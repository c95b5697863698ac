//! Interpolation in steps, for values that another program generates later, as in a cluster: first the values that the manifest needs, and when all
//! exist, the result.

use super::circle;
use super::flow::{self, Check, Inputs, Interpolation, Options};
use super::given;
use super::store::Store;
use super::table::Table;
use crate::stage::{Named, Reference, Reply, Stages, Variable, VariableRules};
use boson_document::Tree;
use std::collections::HashSet;

/// The values that a manifest needs.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The manifest with the given values in place, except in its definitions.
    pub document: Tree,
    /// Variables with a type and no given value, in the order of the manifest: these are to be generated. Given values are already in their options.
    pub variables: Vec<Variable>,
    /// Variables that are referred to and have neither a type nor a given value.
    pub implicit: Vec<Reference>,
}

/// The values that the manifest needs in addition to the given ones.
///
/// # Errors
/// Errors of the variables stage: invalid definitions or placeholders, and CAs that sign each other.
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
        // Sections of definitions are not changed above, so that places in them stay the same.
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

/// The manifest with all values, given or generated, by name.
///
/// # Errors
/// As [`flow::interpolate`]; also if a variable has no value yet.
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
        // The program that generated the values has checked them.
        update_modes: false,
        ..Options::convert()
    };
    flow::interpolate(stages, document, inputs, &options)
}
