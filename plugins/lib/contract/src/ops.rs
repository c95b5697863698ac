//! `wit/ops`.

use boson_document::Tree;

/// One ops file.
#[derive(Clone, Debug)]
pub struct OperationsFile {
    /// Name of the document, for diagnostics.
    pub name: String,
    /// A list of operations, or null for an empty file.
    pub operations: Tree,
}

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

/// [Converts](crate::bindings) the records of this module to those of generated bindings, and back.
#[macro_export]
macro_rules! ops_records {
    ($wit:ident) => {
        $crate::record!(
            $crate::ops::OperationsFile,
            $wit::OperationsFile { name, operations }
        );
        $crate::record!(
            $crate::ops::Origin,
            $wit::Origin {
                pointer,
                document,
                source
            }
        );
    };
}
