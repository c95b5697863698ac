//! What `bosh deploy` does before it sends the manifest: given values are put in by the command line's rules. Spaces in
//! placeholders and indices of lists work for them, and placeholders in the values are left to the director.

use super::table::Table;
use crate::stage::{Interpolated, Named, Reply, Stages, VariableRules};
use boson_document::{Map, Tree};

const SECTION: &str = "variables";

/// Puts given values into a manifest, except into its definitions: these do not change, so that their places stay the
/// same.
///
/// # Errors
/// Errors of the variables stage.
pub fn put_in(stages: &dyn Stages, document: Named<'_>, table: &Table) -> Reply<Interpolated> {
    if table.is_empty() {
        return Ok((untouched(document), Vec::new()));
    }
    let (rest, section) = without_section(document.tree);
    let rest = Named::new(document.name, &rest);
    let (mut done, reported) = stages.interpolate(rest, &table.to_tree(), VariableRules::Cli)?;
    if let (Some((index, section)), Tree::Object(map)) = (section, &mut done.document) {
        map.shift_insert(index.min(map.len()), SECTION.to_string(), section);
    }
    Ok((done, reported))
}

/// The unchanged manifest.
pub fn untouched(document: Named<'_>) -> Interpolated {
    Interpolated {
        document: document.tree.clone(),
        missing: Vec::new(),
        used: Vec::new(),
    }
}

/// The document without its definitions, and the definitions with their position among the members.
fn without_section(document: &Tree) -> (Tree, Option<(usize, Tree)>) {
    let Tree::Object(map) = document else {
        return (document.clone(), None);
    };
    let section = map
        .get_full(SECTION)
        .map(|(index, _, section)| (index, section.clone()));
    let others = map.iter().filter(|(name, _)| *name != SECTION);
    let others: Map = others.map(|(name, value)| (name.clone(), value.clone())).collect();
    (Tree::Object(others), section)
}
