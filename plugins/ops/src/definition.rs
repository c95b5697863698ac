//! Operations as an ops file writes them, read and checked before any is applied.

use crate::codes;
use crate::failure::Failure;
use crate::path::Path;
use crate::redacted;
use boson_document::{Diagnostic, Map, Pointer, Tree, escape, go};

/// One operation, ready to be applied.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// Where.
    pub path: Path,
    /// What.
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

/// An item of an ops file, its parts by type.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Definition {
    /// Empty where not given.
    pub kind: String,
    /// Where.
    pub path: Option<String>,
    /// Null counts as not given.
    pub value: Option<Tree>,
    /// For `test`.
    pub absent: Option<bool>,
    /// Advice of the ops file's author.
    pub error: Option<String>,
    /// Keys that operations do not have.
    pub unused: Vec<String>,
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
        out.push(
            definition
                .check(name, position)
                .map_err(|diagnostic| vec![diagnostic])?,
        );
    }
    Ok(out)
}

/// The name of a failed operation: BOSH's words for the position and the file.
pub fn label(name: &str, position: usize) -> String {
    format!("operation [{position}] in {name} failed")
}

// === reading by type ===

/// Go's name of an operation's type.
const ITEM: &str = "patch.OpDefinition";

fn decode(name: &str, operations: Tree) -> Result<Vec<Definition>, Vec<Diagnostic>> {
    let items = match operations {
        Tree::Null => return Ok(Vec::new()),
        Tree::Array(items) => items,
        other => return Err(vec![malformed(name, &other, "[]patch.OpDefinition", Pointer::root())]),
    };
    let mut errors = Vec::new();
    let mut definitions = Vec::with_capacity(items.len());
    for (position, item) in items.into_iter().enumerate() {
        let at = Pointer::root().at(position);
        match item {
            Tree::Null => definitions.push(Definition::default()),
            other if escape::as_special(&other).is_some() => errors.push(malformed(name, &other, ITEM, at)),
            Tree::Object(map) => definitions.push(Definition::decode(name, map, &at, &mut errors)),
            other => errors.push(malformed(name, &other, ITEM, at)),
        }
    }
    if errors.is_empty() {
        Ok(definitions)
    } else {
        Err(errors)
    }
}

fn malformed(name: &str, found: &Tree, wanted: &str, at: Pointer) -> Diagnostic {
    let message = format!(
        "Deserializing ops file '{name}': cannot unmarshal {} into {wanted}",
        go::tag(found)
    );
    Diagnostic::error(codes::MALFORMED_FILE, message)
        .in_document(name)
        .at(at)
}

/// A scalar where a string is wanted: its text.
fn text(value: Tree) -> Result<Option<String>, Tree> {
    match value {
        Tree::Null => Ok(None),
        other => go::text(&other).map(Some).ok_or(other),
    }
}

// === impl Definition ===

impl Definition {
    fn decode(name: &str, map: Map, at: &Pointer, errors: &mut Vec<Diagnostic>) -> Self {
        let mut definition = Self::default();
        for (key, value) in map {
            let wrong = match key.as_str() {
                "type" => text(value).map(|kind| definition.kind = kind.unwrap_or_default()).err(),
                "path" => text(value).map(|path| definition.path = path).err(),
                "error" => text(value).map(|error| definition.error = error).err(),
                "value" => {
                    definition.value = (!value.is_null()).then_some(value);
                    None
                }
                "absent" if value.is_null() => None,
                "absent" => {
                    definition.absent = value.as_bool();
                    definition.absent.is_none().then_some(value)
                }
                _ => {
                    definition.unused.push(key.clone());
                    None
                }
            };
            if let Some(value) = wrong {
                let wanted = if key == "absent" { "bool" } else { "string" };
                errors.push(malformed(name, &value, wanted, at.at(&key)));
            }
        }
        definition
    }

    fn check(self, name: &str, position: usize) -> Result<Operation, Diagnostic> {
        let fault = match self.kind.as_str() {
            "replace" | "remove" | "test" => self.fault(),
            _ => Some((Failure::new(codes::UNKNOWN_TYPE, ""), "type")),
        };
        if let Some((failure, part)) = fault {
            return Err(self.diagnostic(failure, part, name, position));
        }
        let path = Path::parse(self.path.as_deref().unwrap_or_default()).map_err(|failure| {
            let failure = Failure::new(failure.code, format!("Invalid path: {}", failure.message));
            self.diagnostic(failure, "path", name, position)
        })?;
        let error = self.error.filter(|error| !error.trim().is_empty());
        let value = self.value.unwrap_or_default();
        let action = match self.kind.as_str() {
            "replace" => Action::Replace(value),
            "remove" => Action::Remove,
            _ if self.absent == Some(true) => Action::TestAbsent,
            _ => Action::Test(value),
        };
        Ok(Operation { path, action, error })
    }

    /// The error in the definition, and the part of the operation that has it.
    fn fault(&self) -> Option<(Failure, &'static str)> {
        let fault = |code, message: &str, part| Some((Failure::new(code, message), part));
        match (self.kind.as_str(), &self.path, &self.value) {
            (_, None, _) => fault(codes::MISSING_PATH, "Missing path", ""),
            ("replace", _, None) => fault(codes::MISSING_VALUE, "Missing value", ""),
            ("remove", _, Some(_)) => fault(codes::VALUE_NOT_ALLOWED, "Cannot specify value", "value"),
            ("test", _, None) if self.absent.is_none() => fault(codes::MISSING_VALUE, "Missing value or absent", ""),
            _ => None,
        }
    }

    fn diagnostic(&self, failure: Failure, part: &str, name: &str, position: usize) -> Diagnostic {
        let subject = match self.kind.as_str() {
            "replace" => format!("Replace operation [{position}]: {}", failure.message),
            "remove" => format!("Remove operation [{position}]: {}", failure.message),
            "test" => format!("Test operation [{position}]: {}", failure.message),
            other => format!("Unknown operation [{position}] with type '{other}'"),
        };
        let shown = redacted::json(self, &label(name, position));
        let mut at = Pointer::root().at(position);
        // Without a part, the place is the whole operation.
        let missing = part.is_empty() || (part == "type" && self.kind.is_empty());
        if !missing {
            at.push(part);
        }
        let message = format!("Building ops: {subject} within\n{shown}");
        Diagnostic::error(failure.code, message).in_document(name).at(at)
    }
}

fn unused(name: &str, position: usize, definition: &Definition) -> Vec<Diagnostic> {
    let at = Pointer::root().at(position);
    let warning = |key: &str, message: String| {
        Diagnostic::warning(codes::UNUSED_KEY, message)
            .in_document(name)
            .at(at.at(key))
    };
    let mut out: Vec<_> = definition
        .unused
        .iter()
        .map(|key| match escape::unkey(key) {
            Tree::String(shown) => warning(key, format!("The key '{shown}' of the operation is not used")),
            _ => warning(
                key,
                "A key of the operation that is not a string is not used".to_string(),
            ),
        })
        .collect();
    if definition.kind != "test" && definition.absent.is_some() {
        out.push(warning(
            "absent",
            format!("The key 'absent' is not used by a {} operation", definition.kind),
        ));
    }
    if definition.kind == "test" && definition.absent == Some(true) && definition.value.is_some() {
        out.push(warning(
            "value",
            "The key 'value' is not used: the operation has 'absent: true'".to_string(),
        ));
    }
    out
}
