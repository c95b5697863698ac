//! Conversions between the contract's records and this stage's types.

use super::{shapes, wit};
use crate::{Rules, codes};
use boson_document::contract::reject_required;
use boson_document::{Diagnostic, Map, Pointer, Tree, contract_types, json};

/// A result, or diagnostics.
pub type WireResult<T> = Result<T, Vec<wit::Diagnostic>>;

/// Rejects a call with a member that this plugin must know.
pub fn known(more: &[wit::Member], context: &wit::Context, name: &str) -> WireResult<()> {
    let names = names(more).chain(names_of_context(context));
    reject_required(codes::REQUIRED_MEMBER, names).map_err(|error| to_wire(vec![error], name))
}

/// A definition of the plan.
pub fn definition(definition: crate::Definition) -> shapes::Definition {
    shapes::Definition {
        name: definition.name,
        kind: definition.kind,
        options: json::to_text(&definition.options),
        update_mode: definition.update_mode,
        consumes: json::to_text(&definition.consumes),
        pointer: definition.pointer,
        more: Vec::new(),
    }
}

/// A reference, of the plan or without a value.
pub fn reference(reference: crate::Reference) -> shapes::Reference {
    shapes::Reference {
        name: reference.name,
        pointer: reference.pointer,
    }
}

pub fn members(values: Tree, name: &str) -> WireResult<Map> {
    let wrong = || Diagnostic::error(codes::MALFORMED_DOCUMENT, "the values are no object").at(Pointer::root());
    if let Tree::Object(map) = values {
        Ok(map)
    } else {
        Err(to_wire(vec![wrong()], name))
    }
}

pub fn parse(text: &str, name: &str) -> WireResult<Tree> {
    let malformed =
        |error: json::Error| Diagnostic::error(codes::MALFORMED_DOCUMENT, error.to_string()).at(Pointer::root());
    json::parse(text).map_err(|error| to_wire(vec![malformed(error)], name))
}

contract_types!(wit);

impl From<shapes::Rules> for Rules {
    fn from(rules: shapes::Rules) -> Self {
        match rules {
            shapes::Rules::Director => Self::Director,
            shapes::Rules::Cli => Self::Cli,
        }
    }
}
