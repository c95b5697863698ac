//! Removes entries of `variables` whose variable has a value.

use crate::codes;
use boson_document::{Diagnostic, Pointer, Tree};
use std::collections::HashMap;

/// Removes the entries of these names, one each, as the operation `remove` with the path `/variables/name=<name>` does.
///
/// # Errors
/// A name without exactly one entry. Entries whose name is not a string have no name.
pub fn remove(document: &mut Tree, names: &[&str]) -> Result<(), Diagnostic> {
    if names.is_empty() {
        return Ok(());
    }
    let place = Pointer::root().at("variables");
    let Some(entries) = document.get_mut("variables").and_then(Tree::as_array_mut) else {
        let message = "Expected to find an array at path '/variables'";
        return Err(Diagnostic::error(codes::MALFORMED_SECTION, message).at(place));
    };
    let mut holders: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, entry) in entries.iter().enumerate() {
        if let Some(name) = entry.str("name") {
            holders.entry(name).or_default().push(index);
        }
    }
    let mut keep = vec![true; entries.len()];
    for name in names {
        let found = holders.remove(name).unwrap_or_default();
        let [index] = found[..] else {
            let path = name.replace('~', "~0").replace('/', "~1").replace(':', "~7");
            let expected = "Expected to find exactly one matching array item for path";
            let message = format!("{expected} '/variables/name={path}' but found {}", found.len());
            let place = found.last().map_or(place.clone(), |index| place.at(index));
            return Err(Diagnostic::error(codes::NO_SINGLE_DEFINITION, message).at(place));
        };
        keep[index] = false;
    }
    let mut keep = keep.into_iter();
    entries.retain(|_| keep.next().unwrap_or(true));
    Ok(())
}
