//! Given values, and what `bosh deploy` does with them before it sends the manifest: they are put in by the command
//! line's rules. Spaces in placeholders and indices of lists work for them, and placeholders in the values are left to
//! the director.

pub(super) mod flags;
pub(super) mod names;
mod plain;
pub(super) mod sources;
pub(super) mod table;
pub(super) mod words;

use crate::stage::{Interpolated, Named, Reply, Stages, VariableRules};
use boson_document::Tree;
use table::Table;

const VARIABLES_KEY: &str = "variables";

/// Puts given values into a manifest, except into its definitions: these do not change, so that their places stay the
/// same.
///
/// # Errors
/// Errors of the variables stage.
pub fn put_in(stages: &dyn Stages, document: Named<'_>, table: &Table) -> Reply<Interpolated> {
    if table.is_empty() {
        return Ok((unchanged(document), Vec::new()));
    }
    let mut rest = document.tree.clone();
    let members = rest.as_object_mut();
    let section = members.and_then(|members| members.shift_remove_full(VARIABLES_KEY));
    let rest = Named::new(document.name, &rest);
    let (mut done, reported) = stages.interpolate(rest, &table.to_tree(), VariableRules::Cli)?;
    if let (Some((index, key, section)), Tree::Object(map)) = (section, &mut done.document) {
        map.shift_insert(index.min(map.len()), key, section);
    }
    Ok((done, reported))
}

pub fn unchanged(document: Named<'_>) -> Interpolated {
    Interpolated {
        document: document.tree.clone(),
        missing: Vec::new(),
        used: Vec::new(),
    }
}
