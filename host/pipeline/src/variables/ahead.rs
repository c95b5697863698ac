//! What is wrong with a manifest whatever its variables' values are: found before any is made, because keys take seconds and a store that was
//! written for a manifest that cannot be converted helps nobody.

use super::flow::{Inputs, Options};
use super::resolver;
use crate::stage::{Definition, Named, StageError, Stages, VariablesPlan};
use crate::yaml;
use boson_document::Tree;

/// Looks for mistakes in the manifest. Values that are still to be made are in it as texts that name them.
pub type CheckAhead<'a> = dyn Fn(Named<'_>) -> Result<(), StageError> + 'a;

/// The members that a value of a type has; other types have none.
const MEMBERS: [(&str, &[&str]); 4] = [
    ("certificate", &["ca", "certificate", "private_key"]),
    ("rsa", &["private_key", "public_key"]),
    ("ssh", &["private_key", "public_key", "public_key_fingerprint"]),
    ("user", &["username", "password", "password_hash"]),
];

/// Checks the document where values will be made. Where all are there, the conversion that follows finds the same.
///
/// # Errors
/// What the check finds.
pub fn check(
    stages: &dyn Stages,
    document: Named<'_>,
    inputs: &Inputs<'_>,
    options: &Options,
    plan: &VariablesPlan,
) -> Result<(), StageError> {
    let wanted = resolver::wanted(&plan.definitions, inputs.table, inputs.store);
    let Some(check) = inputs.check.filter(|_| !wanted.is_empty()) else {
        return Ok(());
    };
    let there = plan.definitions.iter().map(|definition| &definition.name);
    let names = there.chain(plan.references.iter().map(|reference| &reference.name));
    let known = names.filter_map(|name| {
        let value = inputs.table.get(name).or_else(|| inputs.store.get(name))?;
        Some((name.clone(), value.clone()))
    });
    let stand_ins = wanted
        .iter()
        .map(|definition| (definition.name.clone(), stand_in(definition)));
    let values: Tree = known.chain(stand_ins).collect();
    match stages.interpolate(document, &values, options.rules) {
        Ok((done, _)) => {
            let tree = match options.sent {
                true => yaml::as_sent(done.document),
                false => done.document,
            };
            check(Named {
                tree: &tree,
                ..document
            })
        }
        // Whatever it is, the values themselves will show it.
        Err(StageError::Input(_)) => Ok(()),
        Err(error @ StageError::Plugin(_)) => Err(error),
    }
}

/// A value of the shape that the variable will have.
fn stand_in(definition: &Definition) -> Tree {
    let name = &definition.name;
    let kind = definition.kind.as_deref().unwrap_or_default();
    let members = MEMBERS.iter().find(|(with_members, _)| *with_members == kind);
    match members {
        None => Tree::from(format!("<{name}>")),
        Some((_, members)) => members
            .iter()
            .map(|member| ((*member).to_string(), Tree::from(format!("<{name}.{member}>"))))
            .collect(),
    }
}
