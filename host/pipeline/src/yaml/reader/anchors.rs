//! Anchors and the cost of their aliases. Every alias becomes a copy, so the total size of all copies is limited.

use super::node::Node;
use std::collections::HashMap;

/// Limit on the values that aliases may add: a document of a few lines must not fill the memory.
pub(super) const MAX_COPIED_VALUES: usize = 250_000;
/// Limit on the text that aliases may add, in bytes.
pub(super) const MAX_COPIED_BYTES: usize = 32 << 20;

/// Size of a value with its aliases replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) values: usize,
    pub(super) bytes: usize,
}

/// The anchors read so far, by the parser's number.
#[derive(Default)]
pub(super) struct Anchors {
    anchors: HashMap<usize, Anchor>,
    copied: Size,
}

#[derive(Default)]
struct Anchor {
    /// `None` while the anchor's value is being read.
    node: Option<Node>,
    size: Size,
}

/// Why an alias is refused.
pub(super) enum AliasError {
    /// The copies would be too large.
    Excessive,
    /// The alias is inside the anchor's value.
    Itself,
}

// === impl Size ===

impl Size {
    pub(super) fn add(&mut self, other: Self) {
        self.values += other.values;
        self.bytes += other.bytes;
    }

    pub(super) fn max(self, other: Self) -> Self {
        Self {
            values: self.values.max(other.values),
            bytes: self.bytes.max(other.bytes),
        }
    }

    pub(super) fn since(self, before: Self) -> Self {
        Self {
            values: self.values - before.values,
            bytes: self.bytes - before.bytes,
        }
    }
}

// === impl Anchors ===

impl Anchors {
    /// Called when the value of this anchor begins.
    pub(super) fn begin(&mut self, anchor: usize) {
        self.anchors.insert(anchor, Anchor::default());
    }

    /// Called when it ends. The stored value is a copy as well: anchors within anchors are copies of copies.
    pub(super) fn end(&mut self, anchor: usize, node: &Node, size: Size) -> Result<(), AliasError> {
        self.charge(size)?;
        let node = Some(node.clone());
        self.anchors.insert(anchor, Anchor { node, size });
        Ok(())
    }

    /// The value of an alias. Its size is charged before it is copied: the copy may be what fills the memory.
    pub(super) fn find(&mut self, anchor: usize) -> Result<(&Node, Size), AliasError> {
        let size = self.anchors.get(&anchor).map_or(Size::default(), |anchor| anchor.size);
        self.charge(size)?;
        let node = self.anchors.get(&anchor).and_then(|anchor| anchor.node.as_ref());
        node.map(|node| (node, size)).ok_or(AliasError::Itself)
    }

    fn charge(&mut self, size: Size) -> Result<(), AliasError> {
        self.copied.add(size);
        let fits = self.copied.values <= MAX_COPIED_VALUES && self.copied.bytes <= MAX_COPIED_BYTES;
        if fits { Ok(()) } else { Err(AliasError::Excessive) }
    }
}
