//! Documents between two steps of a conversion that cannot be used.

use crate::convert::codes;
use crate::diagnostic::Diagnostic;

/// The error about a document of this name: what is wrong with it.
pub(super) fn foreign_error(document: &str, what: &str) -> Diagnostic {
    Diagnostic::error(codes::CONVERT_FOREIGN_DOCUMENT, what)
        .in_document(document)
        .help("delete this version of the Secret: the operator creates it again")
}
