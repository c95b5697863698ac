//! Walks over a document: passes every string and key to an evaluator, and replaces it by the result.

use crate::codes;
use boson_document::{MAX_DEPTH, Map, Pointer, Report, Tree, escape, go};

pub trait Evaluate {
    /// The value for a string; none: the string stays.
    fn value(&mut self, text: &str, place: &Pointer, report: &mut Report) -> Option<Tree>;

    /// The value for a map key; none: the key stays.
    fn key(&mut self, text: &str, place: &Pointer, report: &mut Report) -> Option<Tree>;
}

/// Replaces all strings of a document.
pub fn walk(tree: &mut Tree, evaluator: &mut dyn Evaluate, report: &mut Report) {
    Walk {
        evaluator,
        report,
        place: Pointer::root(),
    }
    .tree(tree);
}

struct Walk<'e> {
    evaluator: &'e mut dyn Evaluate,
    report: &'e mut Report,
    place: Pointer,
}

// === impl Walk ===

impl Walk<'_> {
    fn tree(&mut self, tree: &mut Tree) {
        match tree {
            Tree::String(text) => {
                if let Some(value) = self.evaluator.value(text, &self.place, self.report) {
                    self.put(tree, value);
                }
            }
            Tree::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.place.push(index);
                    self.tree(item);
                    self.place.pop();
                }
            }
            // The text of such a number is no text of the user's.
            Tree::Object(_) if escape::as_special(tree).is_some() => {}
            Tree::Object(map) => self.map(map),
            Tree::Null | Tree::Bool(_) | Tree::Number(_) => {}
        }
    }

    /// Puts a value in its place. It is not looked at again: its strings are no text of the document's.
    fn put(&mut self, tree: &mut Tree, value: Tree) {
        if self.place.tokens().len() + value.depth() > MAX_DEPTH {
            let message = format!("Expected the document with its values to be at most {MAX_DEPTH} levels deep");
            self.report.error(codes::TOO_DEEP, self.place.clone(), message);
            return;
        }
        *tree = value;
    }

    fn map(&mut self, map: &mut Map) {
        let mut renamed = Vec::new();
        for (index, (name, value)) in map.iter_mut().enumerate() {
            self.place.push(name);
            if let Some(key) = self.key(name) {
                renamed.push((index, key));
            }
            self.tree(value);
            self.place.pop();
        }
        if !renamed.is_empty() {
            self.rename(map, renamed);
        }
    }

    /// The member's new name, if its key is a string with a placeholder.
    fn key(&mut self, name: &str) -> Option<String> {
        let Tree::String(text) = escape::decode_key(name) else {
            return None;
        };
        let key = self.evaluator.key(&text, &self.place, self.report)?;
        if matches!(key, Tree::Array(_)) || key.as_map().is_some() {
            let kind = go::type_name(&key);
            let message = format!("Expected the value of a map key to be a scalar but found '{kind}'");
            self.report.error(codes::KEY_NOT_SCALAR, self.place.clone(), message);
            return None;
        }
        Some(escape::key(&key))
    }

    /// Renames members. Of members that end up with one name, the one wins that had it; else the one whose name came
    /// first in the alphabet, so that the order of members changes nothing.
    fn rename(&mut self, map: &mut Map, renamed: Vec<(usize, String)>) {
        let mut renamed = renamed.into_iter().peekable();
        let mut members: indexmap::IndexMap<String, (Option<String>, Tree)> = indexmap::IndexMap::new();
        for (index, (name, value)) in std::mem::take(map).into_iter().enumerate() {
            let (name, was) = match renamed.next_if(|(at, _)| *at == index) {
                Some((_, key)) => (key, Some(name)),
                None => (name, None),
            };
            let Some(held) = members.get_mut(&name) else {
                members.insert(name, (was, value));
                continue;
            };
            let place = was
                .as_ref()
                .or(held.0.as_ref())
                .map_or(self.place.clone(), |token| self.place.at(token));
            let message =
                "Two keys of a map are the same once their placeholders are replaced; one of the values is lost";
            self.report.warning(codes::KEY_COLLISION, place, message);
            if was < held.0 {
                *held = (was, value);
            }
        }
        map.extend(members.into_iter().map(|(name, (_, value))| (name, value)));
    }
}
