//! Operations as an ops file writes them: their parts, by type.

use crate::codes;
use boson_document::{Diagnostic, Map, Pointer, Tree, escape, go};

/// An item of an ops file, its parts by type.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Definition {
    /// Empty where not given.
    pub kind: String,
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

/// Go's name of an operation's type.
const ITEM: &str = "patch.OpDefinition";

/// The items of an ops file.
///
/// # Errors
/// All parts of a wrong type.
pub fn decode(name: &str, operations: Tree) -> Result<Vec<Definition>, Vec<Diagnostic>> {
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
    let tag = go::tag(found);
    let message = format!("Deserializing ops file '{name}': cannot unmarshal {tag} into {wanted}");
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
}

/// Warnings about keys without effect.
pub fn unused(name: &str, position: usize, definition: &Definition) -> Vec<Diagnostic> {
    let at = Pointer::root().at(position);
    let warning = |key: &str, message: String| {
        Diagnostic::warning(codes::UNUSED_KEY, message)
            .in_document(name)
            .at(at.at(key))
    };
    let mut out: Vec<_> = definition
        .unused
        .iter()
        .map(|key| match escape::decode_key(key) {
            Tree::String(shown) => warning(key, format!("The key '{shown}' of the operation is not used")),
            _ => warning(
                key,
                "A key of the operation that is not a string is not used".to_string(),
            ),
        })
        .collect();
    if definition.kind != "test" && definition.absent.is_some() {
        let message = format!("The key 'absent' is not used by a {} operation", definition.kind);
        out.push(warning("absent", message));
    }
    if definition.kind == "test" && definition.absent == Some(true) && definition.value.is_some() {
        let message = "The key 'value' is not used: the operation has 'absent: true'".to_string();
        out.push(warning("value", message));
    }
    out
}
