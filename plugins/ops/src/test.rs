//! Test: the value at a path is the expected one, or is absent.

use crate::codes;
use crate::error::{Attempt, Error};
use crate::find::find;
use crate::go;
use crate::path::Path;
use crate::scan::Scan;
use boson_document::{Pointer, Tree};

/// Passes where the value at the path equals `expected`.
pub fn value(document: &Tree, path: &Path, expected: &Tree, scan: &Scan) -> Attempt<()> {
    let found = find(document, path, &mut Pointer::root(), scan)?;
    if go::equal(&found, expected) {
        return Ok(());
    }
    let message = "Found value does not match expected value";
    Err(Error::new(codes::VALUE_DIFFERS, message))
}

/// Passes where the very last token of the path is a key or an index that is missing. A missing parent, a wrong type
/// and a matcher without match fail with their own words: as go-patch has it.
pub fn absent(document: &Tree, path: &Path, scan: &Scan) -> Attempt<()> {
    let mut reached = Pointer::root();
    match find(document, path, &mut reached, scan) {
        Ok(_) => Err(Error::new(codes::NOT_ABSENT, format!("Expected to not find '{path}'"))),
        Err(error) if is_missing(&error) && reached.tokens().len() + 1 == path.tokens().len() => Ok(()),
        Err(error) => Err(error),
    }
}

fn is_missing(error: &Error) -> bool {
    [codes::MISSING_KEY, codes::MISSING_INDEX].contains(&error.code)
}
