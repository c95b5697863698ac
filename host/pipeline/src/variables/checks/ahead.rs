//! Finds mistakes of a manifest that do not depend on the values of its variables, before any value is generated: keys
//! take seconds, and a store is of no use if the manifest cannot be converted.

use crate::diagnostic::Diagnostic;
use crate::stage::{Definition, Named, StageError, Stages, VariablesPlan};
use crate::variables::definitions::generate::signer_name;
use crate::variables::resolver::{self, references};
use crate::variables::sent::as_read;
use crate::variables::{Inputs, Options};
use boson_document::Tree;
use std::collections::HashSet;

/// The members of a value, by type; other types have none.
const MEMBERS_BY_TYPE: [(&str, &[&str]); 4] = [
    ("certificate", &["ca", "certificate", "private_key"]),
    ("rsa", &["private_key", "public_key"]),
    ("ssh", &["private_key", "public_key", "public_key_fingerprint"]),
    ("user", &["username", "password", "password_hash"]),
];

/// Checks the document if values have to be generated. If all values exist, the conversion finds the same mistakes.
///
/// # Errors
/// The mistakes.
pub fn check(
    stages: &dyn Stages,
    document: Named<'_>,
    inputs: &Inputs<'_>,
    options: &Options,
    plan: &VariablesPlan,
) -> Result<(), StageError> {
    let wanted = resolver::to_generate(&plan.definitions, inputs.table, inputs.store);
    let Some(check) = inputs.check.filter(|_| !wanted.is_empty()) else {
        return Ok(());
    };
    let there = plan.definitions.iter().map(|definition| &definition.name);
    let names = there.chain(plan.references.iter().map(|reference| &reference.name));
    let known = names.filter_map(|name| Some((name.clone(), inputs.value(name)?.clone())));
    let stand_ins = wanted
        .iter()
        .map(|definition| (definition.name.clone(), stand_in(definition)));
    let values: Tree = known.chain(stand_ins).collect();
    match stages.interpolate(document, &values, options.rules) {
        Ok((done, _)) => {
            let tree = as_read(done.document, options.rules);
            check(Named::new(document.name, &tree))
        }
        // Any error would occur with the real values, too.
        Err(StageError::Input(_)) => Ok(()),
        Err(error @ StageError::Plugin(_)) => Err(error),
    }
}

/// The errors of variables from whose options no value can be generated. Options with placeholders are checked once
/// these have values.
pub fn option_errors(document: &str, inputs: &Inputs<'_>, plan: &VariablesPlan) -> Vec<Diagnostic> {
    let Some(generator) = inputs.generator.as_deref() else {
        return Vec::new();
    };
    let wanted = resolver::to_generate(&plan.definitions, inputs.table, inputs.store);
    let names: HashSet<&str> = wanted.iter().map(|definition| definition.name.as_str()).collect();
    let signed = |definition: &Definition| {
        let kind = definition.kind.as_deref().unwrap_or_default();
        signer_name(kind, &definition.options).is_some_and(|name| names.contains(name) || inputs.value(name).is_some())
    };
    let literal = wanted
        .iter()
        .filter(|definition| references(&definition.options).is_empty());
    literal
        .filter_map(|definition| generator.check(definition, signed(definition)).err())
        .map(|error| error.in_document(document))
        .collect()
}

/// Whether a value only stands in for the value of this variable, which is not generated yet.
pub fn is_stand_in(name: &str, value: &Tree) -> bool {
    match value {
        Tree::String(text) => *text == format!("<{name}>"),
        Tree::Object(members) => {
            let is_member = |(member, value): (&String, &Tree)| value.as_str() == Some(&format!("<{name}.{member}>"));
            !members.is_empty() && members.iter().all(is_member)
        }
        _ => false,
    }
}

/// A stand-in of the same shape as the variable's value.
fn stand_in(definition: &Definition) -> Tree {
    let name = &definition.name;
    let kind = definition.kind.as_deref().unwrap_or_default();
    let members = MEMBERS_BY_TYPE.iter().find(|(with_members, _)| *with_members == kind);
    match members {
        None => Tree::from(format!("<{name}>")),
        Some((_, members)) => members
            .iter()
            .map(|member| ((*member).to_string(), Tree::from(format!("<{name}.{member}>"))))
            .collect(),
    }
}
