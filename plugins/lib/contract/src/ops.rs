//! `wit/ops`.

use boson_document::Tree;

/// Origin of a part of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// RFC 6901 pointer into the result.
    pub pointer: String,
    /// Name of the document that the value comes from.
    pub document: String,
    /// RFC 6901 pointer into that document.
    pub source: String,
}

/// Reply of ops.apply.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// The document with all operations applied.
    pub document: Tree,
    /// Parts that do not come from the same pointer of the input document.
    pub origins: Vec<Origin>,
}
