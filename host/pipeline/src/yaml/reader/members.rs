//! A mapping that is being read: keys that are not strings, duplicate keys, members of merged mappings.

use super::node::{Kind, Node};
use super::value;
use crate::diagnostic::Diagnostic;
use crate::yaml::{Dialect, Mark, Span, codes};
use boson_document::{Map, Tree, escape, ruby};
use std::collections::HashSet;

pub(super) struct Members {
    dialect: Dialect,
    map: Map,
    mark: Mark,
    /// Indexes of members that come only from a merged mapping.
    merged: HashSet<usize>,
}

// === impl Members ===

impl Members {
    pub(super) fn new(at: Span, dialect: Dialect) -> Self {
        Self {
            dialect,
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

    /// Adds a member of the mapping itself. Returns a warning, or an error, if it is a duplicate.
    pub(super) fn add(&mut self, key: Node, mut value: Node) -> Option<Diagnostic> {
        value.mark.key = key.mark.value;
        let first = self.insert(name(key.tree, self.dialect), value.tree, value.mark, true)?;
        let found = match self.dialect {
            Dialect::YamlV2 | Dialect::Psych => Diagnostic::warning(
                codes::YAML_DUPLICATE_KEY,
                "this key stands twice in one mapping; the last one counts",
            ),
            Dialect::Bpm => Diagnostic::error(
                codes::YAML_DUPLICATE_KEY,
                "this key stands twice in one mapping, which BPM refuses",
            ),
        };
        Some(found.help(format!("the first one is on line {}", first.line)))
    }

    /// Adds the members of another mapping. They override the members before `<<`, and the members after it override
    /// them; in yaml.v3, they never override a member.
    pub(super) fn merge(&mut self, tree: Tree, mark: Mark) {
        let Tree::Object(map) = tree else { return };
        for ((name, tree), mark) in map.into_iter().zip(mark.children) {
            if self.dialect != Dialect::Bpm || !self.map.contains_key(&name) {
                self.insert(name, tree, mark, false);
            }
        }
    }

    /// Adds the members of several mappings: the first one listed wins.
    pub(super) fn merge_all(&mut self, trees: Vec<Tree>, marks: Vec<Mark>) {
        let listed = trees.into_iter().zip(marks);
        match self.dialect {
            Dialect::Bpm => listed.for_each(|(tree, mark)| self.merge(tree, mark)),
            Dialect::YamlV2 | Dialect::Psych => listed.rev().for_each(|(tree, mark)| self.merge(tree, mark)),
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
fn name(key: Tree, dialect: Dialect) -> String {
    let text = match (dialect, &key) {
        (Dialect::Bpm, _) => escape::as_special(&key).map(str::to_string),
        // A director stores a job's spec as JSON, which has no other keys than strings.
        (Dialect::Psych, Tree::Null) => Some(String::new()),
        (Dialect::Psych, Tree::Bool(value)) => Some(value.to_string()),
        (Dialect::Psych, _) => match escape::as_special(&key) {
            Some(".nan") => Some("NaN".into()),
            Some(text) => Some(text.replace(".inf", "Infinity")),
            None => ruby::string(&key),
        },
        (Dialect::YamlV2, _) => None,
    };
    match (text, key) {
        (Some(text), _) | (None, Tree::String(text)) if !text.starts_with('\0') => text,
        (_, Tree::Number(number)) if !number.is_integer() => escape::key(&value::float(number.as_f64())),
        (_, other) => escape::key(&other),
    }
}
