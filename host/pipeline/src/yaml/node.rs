//! Values that were read.

use super::marks::Mark;
use boson_document::Tree;

/// A value that was read.
#[derive(Clone)]
pub(super) struct Node {
    pub(super) tree: Tree,
    pub(super) mark: Mark,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Scalar,
    /// The key `<<`.
    Merge,
    List,
    Mapping,
}
