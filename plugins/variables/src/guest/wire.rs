//! Conversions between the contract's records and this stage's types.

use super::{wit, world};
use crate::{Code, Diagnostic, Rules};
use boson_document::{Codes, Map, Pointer, Tree, json};

/// A result, or diagnostics.
pub type WireResult<T> = Result<T, Vec<wit::Diagnostic>>;

/// A definition of the plan.
pub fn definition(definition: crate::Definition) -> world::Definition {
    world::Definition {
        name: definition.name,
        kind: definition.kind,
        options: json::to_text(&definition.options),
        update_mode: definition.update_mode,
        consumes: json::to_text(&definition.consumes),
        pointer: definition.pointer.to_string(),
        extensions: Vec::new(),
    }
}

/// A reference, of the plan or without a value.
pub fn reference(reference: crate::Reference) -> world::Reference {
    world::Reference {
        name: reference.name,
        pointer: reference.pointer.to_string(),
    }
}

/// The values.
pub fn members(values: Tree, name: &str) -> WireResult<Map> {
    let wrong = || Diagnostic::new(Code::MalformedDocument, "the values are no object", Pointer::root());
    if let Tree::Object(map) = values {
        Ok(map)
    } else {
        Err(to_wire(vec![wrong()], name))
    }
}

/// The rules that settings ask for.
pub fn rules(settings: &str, name: &str) -> WireResult<Rules> {
    Rules::from_settings(&parse(settings, name)?).map_err(|diagnostic| to_wire(vec![diagnostic], name))
}

/// A document.
pub fn parse(text: &str, name: &str) -> WireResult<Tree> {
    let malformed = |error: json::Error| Diagnostic::new(Code::MalformedDocument, error.to_string(), Pointer::root());
    json::parse(text).map_err(|error| to_wire(vec![malformed(error)], name))
}

/// Diagnostics, about this document.
pub fn to_wire(diagnostics: Vec<Diagnostic>, name: &str) -> Vec<wit::Diagnostic> {
    let tell = |diagnostic: Diagnostic| wit::Diagnostic {
        severity: if diagnostic.code.is_warning() {
            wit::Severity::Warning
        } else {
            wit::Severity::Error
        },
        code: diagnostic.code.name().into(),
        help: diagnostic.code.help().map(Into::into),
        message: diagnostic.message,
        document: Some(name.into()),
        pointer: Some(diagnostic.pointer.to_string()),
        line: None,
        extensions: Vec::new(),
    };
    diagnostics.into_iter().map(tell).collect()
}
