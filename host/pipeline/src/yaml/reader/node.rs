//! Values that were read.

use crate::yaml::Mark;
use boson_document::Tree;

/// A value that was read.
#[derive(Clone)]
pub(super) struct Node {
    pub(super) tree: Tree,
    pub(super) mark: Mark,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Scalar,
    /// The key `<<`.
    Merge,
    List,
    Mapping,
}
