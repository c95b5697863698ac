//! A mapping that is being read: keys that are not strings, duplicate keys, members of merged mappings.

use super::marks::{Mark, Span};
use super::node::{Kind, Node};
use super::value;
use crate::diagnostic::Diagnostic;
use crate::yaml::codes;
use boson_document::{Map, Tree, escape};
use std::collections::HashSet;

/// Members so far.
pub(super) struct Members {
    map: Map,
    mark: Mark,
    /// Indexes of members that come only from a merged mapping.
    merged: HashSet<usize>,
}

// === impl Members ===

impl Members {
    pub(super) fn new(at: Span) -> Self {
        Self {
            map: Map::new(),
            mark: Mark::leaf(at),
            merged: HashSet::new(),
        }
    }

    pub(super) fn into_node(mut self) -> Node {
        self.map.shrink_to_fit();
        self.mark.children.shrink_to_fit();
        Node {
            tree: Tree::Object(self.map),
            mark: self.mark,
            kind: Kind::Mapping,
        }
    }

    /// Adds a member of the mapping itself. Returns a warning if it is a duplicate.
    pub(super) fn add(&mut self, key: Node, mut value: Node) -> Option<Diagnostic> {
        value.mark.key = key.mark.value;
        let first = self.insert(name(key.tree), value.tree, value.mark, true)?;
        let warning = Diagnostic::warning(
            codes::YAML_DUPLICATE_KEY,
            "this key stands twice in one mapping; the last one counts",
        );
        Some(warning.help(format!("the first one is on line {}", first.line)))
    }

    /// Adds the members of another mapping. As in yaml.v2 they override the members before `<<`, and the members after
    /// it override them.
    pub(super) fn merge(&mut self, tree: Tree, mark: Mark) {
        let Tree::Object(map) = tree else { return };
        for ((name, tree), mark) in map.into_iter().zip(mark.children) {
            self.insert(name, tree, mark, false);
        }
    }

    /// Returns the place of the key if the mapping itself had it already.
    fn insert(&mut self, name: String, tree: Tree, mark: Mark, own: bool) -> Option<Span> {
        let (index, old) = self.map.insert_full(name, tree);
        let was_merged = if own {
            self.merged.remove(&index)
        } else {
            !self.merged.insert(index)
        };
        if old.is_none() {
            self.mark.children.push(mark);
            return None;
        }
        let first = std::mem::replace(&mut self.mark.children[index], mark).key;
        (own && !was_merged).then_some(first)
    }
}

/// The name of the member with this key. Spellings of one number are one key.
fn name(key: Tree) -> String {
    match key {
        Tree::String(text) if !text.starts_with('\0') => text,
        Tree::Number(number) if !number.is_integer() => escape::key(&value::float(number.as_f64())),
        other => escape::key(&other),
    }
}
