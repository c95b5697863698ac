//! The operations of an ops file, read and checked before any is applied.

use crate::definition::{Definition, decode, unused};
use crate::error::Error;
use crate::path::Path;
use crate::{codes, definition_json};
use boson_document::{Diagnostic, Pointer, Tree};

/// One operation, ready to be applied.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    pub path: Path,
    pub action: Action,
    /// The ops file's own message for a failed operation.
    pub error: Option<String>,
}

/// What an operation does at its path.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Sets, inserts or appends the value.
    Replace(Tree),
    /// Removes the value.
    Remove,
    /// Compares with the value.
    Test(Tree),
    /// Checks that nothing is there.
    TestAbsent,
}

/// Reads the operations of a file. Warnings about parts without effect are added to `warnings`.
///
/// # Errors
/// All parts of a wrong type, or else the first operation whose definition is wrong: as BOSH reports them.
pub fn read(name: &str, operations: Tree, warnings: &mut Vec<Diagnostic>) -> Result<Vec<Operation>, Vec<Diagnostic>> {
    let definitions = decode(name, operations)?;
    let mut out = Vec::with_capacity(definitions.len());
    for (position, definition) in definitions.into_iter().enumerate() {
        warnings.extend(unused(name, position, &definition));
        out.push(check(definition, name, position).map_err(|diagnostic| vec![diagnostic])?);
    }
    Ok(out)
}

/// The name of a failed operation: BOSH's words for the position and the file.
pub fn label(name: &str, position: usize) -> String {
    format!("operation [{position}] in {name} failed")
}

fn check(definition: Definition, name: &str, position: usize) -> Result<Operation, Diagnostic> {
    let error = match definition.kind.as_str() {
        "replace" | "remove" | "test" => definition_error(&definition),
        _ => Some((Error::new(codes::UNKNOWN_TYPE, ""), "type")),
    };
    if let Some((error, part)) = error {
        return Err(diagnostic(&definition, error, part, name, position));
    }
    let path = Path::parse(definition.path.as_deref().unwrap_or_default()).map_err(|error| {
        let error = Error::new(error.code, format!("Invalid path: {}", error.message));
        diagnostic(&definition, error, "path", name, position)
    })?;
    let error = definition.error.filter(|error| !error.trim().is_empty());
    let value = definition.value.unwrap_or_default();
    let action = match definition.kind.as_str() {
        "replace" => Action::Replace(value),
        "remove" => Action::Remove,
        _ if definition.absent == Some(true) => Action::TestAbsent,
        _ => Action::Test(value),
    };
    Ok(Operation { path, action, error })
}

/// The error in the definition, and the part of the operation that has it.
fn definition_error(definition: &Definition) -> Option<(Error, &'static str)> {
    let error = |code, message: &str, part| Some((Error::new(code, message), part));
    match (definition.kind.as_str(), &definition.path, &definition.value) {
        (_, None, _) => error(codes::MISSING_PATH, "Missing path", ""),
        ("replace", _, None) => error(codes::MISSING_VALUE, "Missing value", ""),
        ("remove", _, Some(_)) => error(codes::VALUE_NOT_ALLOWED, "Cannot specify value", "value"),
        ("test", _, None) if definition.absent.is_none() => error(codes::MISSING_VALUE, "Missing value or absent", ""),
        _ => None,
    }
}

fn diagnostic(definition: &Definition, error: Error, part: &str, name: &str, position: usize) -> Diagnostic {
    let subject = match definition.kind.as_str() {
        "replace" => format!("Replace operation [{position}]: {}", error.message),
        "remove" => format!("Remove operation [{position}]: {}", error.message),
        "test" => format!("Test operation [{position}]: {}", error.message),
        other => format!("Unknown operation [{position}] with type '{other}'"),
    };
    let shown = definition_json::json(definition, &label(name, position));
    let mut at = Pointer::root().at(position);
    // Without a part, the place is the whole operation.
    let missing = part.is_empty() || (part == "type" && definition.kind.is_empty());
    if !missing {
        at.push(part);
    }
    let message = format!("Building ops: {subject} within\n{shown}");
    Diagnostic::error(error.code, message).in_document(name).at(at)
}
