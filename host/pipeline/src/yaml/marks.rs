//! The places of every value and key of a document in its text.

use boson_document::{Pointer, Tree};

/// A range within one line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1, in characters.
    pub column: u32,
    /// Characters, on this line; 0 where there is nothing to underline.
    pub length: u32,
}

/// Places of a value and its content, in the shape of the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// The member's key; the value's own place where it is no member.
    pub key: Span,
    /// The value. Of an alias: the alias, while its content is at the anchor.
    pub value: Span,
    /// One for each item or member, in the tree's order.
    pub children: Vec<Mark>,
}

// === impl Mark ===

impl Mark {
    /// A value that holds nothing, or nothing yet.
    pub(super) fn leaf(value: Span) -> Self {
        Self {
            key: value,
            value,
            children: Vec::new(),
        }
    }

    /// The mark at a pointer, or of the deepest part of it that exists.
    pub(super) fn find(&self, tree: &Tree, pointer: &Pointer) -> &Self {
        let (mut mark, mut tree) = (self, tree);
        for token in pointer.tokens() {
            let step = match tree {
                Tree::Object(map) => map.get_full(token).map(|(index, _, below)| (index, below)),
                Tree::Array(items) => token
                    .parse()
                    .ok()
                    .and_then(|index: usize| Some((index, items.get(index)?))),
                _ => None,
            };
            match step.and_then(|(index, below)| Some((mark.children.get(index)?, below))) {
                Some(below) => (mark, tree) = below,
                None => return mark,
            }
        }
        mark
    }
}
