//! The `variables` section as `bosh interpolate` reads it: name, type and options, scalars as texts, nothing else
//! checked.

use crate::{codes, limit};
use boson_contract::variables::Definition;
use boson_document::{Diagnostic, Map, Pointer, Report, Tree, go};

/// Reads the section; empty if the document is not a map or has no section.
///
/// # Errors
/// All parts that cannot be read as such a list.
pub fn read(document: &Tree) -> Result<Vec<Definition>, Vec<Diagnostic>> {
    let place = Pointer::root().at("variables");
    let entries = match document.get("variables") {
        None | Some(Tree::Null) => return Ok(Vec::new()),
        Some(Tree::Array(entries)) => entries,
        Some(other) => return Err(vec![malformed(other, "[]template.VariableDefinition", place)]),
    };
    let mut report = limit::report();
    let mut definitions = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        definitions.extend(definition(entry, place.at(index), &mut report));
    }
    limit::finish(report).map(|_| definitions)
}

fn definition(entry: &Tree, place: Pointer, report: &mut Report) -> Option<Definition> {
    let empty = Map::new();
    let map = match (entry, entry.as_map()) {
        (_, Some(map)) => map,
        (Tree::Null, None) => &empty,
        _ => {
            report.push(malformed(entry, "template.VariableDefinition", place));
            return None;
        }
    };
    let mut text = |key: &str| {
        let value = map.get(key).unwrap_or(&Tree::Null);
        let text = go::text(value);
        if text.is_none() {
            report.push(malformed(value, "string", place.at(key)));
        }
        text
    };
    let (name, kind) = (text("name"), text("type"));
    let any = |key: &str| map.get(key).cloned().unwrap_or_default();
    Some(Definition {
        name: name?,
        kind: kind.filter(|kind| !kind.is_empty()),
        options: any("options"),
        update_mode: map.get("update_mode").and_then(Tree::as_str).map(str::to_string),
        consumes: any("consumes"),
        pointer: place.to_string(),
    })
}

fn malformed(found: &Tree, wanted: &str, place: Pointer) -> Diagnostic {
    let tag = go::tag(found);
    let message = format!("yaml: unmarshal errors: cannot unmarshal {tag} into {wanted}");
    Diagnostic::error(codes::MALFORMED_SECTION, message).at(place)
}
