//! The lines in which two maps differ: a translation of BOSH's `Changeset`.

use super::lines::{Line, Status, of_tree};
use boson_document::{Tree, escape, json, ruby};

/// Keys by which items of a list belong together.
const ID_KEYS: [&str; 2] = ["name", "range"];

/// A value, and the same value as it is shown.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Shown<'t> {
    pub value: &'t Tree,
    pub shown: &'t Tree,
}

// === impl Shown ===

impl<'t> Shown<'t> {
    /// A member that is not null.
    fn get(self, key: &str) -> Option<Self> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        let shown = self.shown.get(key)?;
        Some(Self { value, shown })
    }

    fn items(self) -> Option<Vec<Self>> {
        let shown = self.shown.as_array()?.iter();
        let items = self.value.as_array()?.iter().zip(shown);
        Some(items.map(|(value, shown)| Self { value, shown }).collect())
    }

    fn lines_of_member(self, key: &str, level: usize, status: Status) -> Vec<Line> {
        of_tree(&Tree::object().with(key, self.shown.clone()), level, status)
    }
}

/// The lines in which two maps differ, in the order of the keys of `old`, then of `new`.
pub(super) fn lines(old: Shown<'_>, new: Shown<'_>, level: usize) -> Vec<Line> {
    let (before, after) = (old.value.as_map(), new.value.as_map());
    let is_new = |key: &&String| before.is_none_or(|before| !before.contains_key(*key));
    let new_keys = after.into_iter().flat_map(|after| after.keys()).filter(is_new);
    let keys = before.into_iter().flat_map(|before| before.keys()).chain(new_keys);
    keys.flat_map(|key| of_key(key, old.get(key), new.get(key), level))
        .collect()
}

fn of_key(key: &str, old: Option<Shown<'_>>, new: Option<Shown<'_>>, level: usize) -> Vec<Line> {
    let (old, new) = match (old, new) {
        (Some(old), Some(new)) if old.value == new.value => return Vec::new(),
        (Some(old), Some(new)) => (old, new),
        (None, new) => return new.map_or(Vec::new(), |new| new.lines_of_member(key, level, Status::Added)),
        (Some(old), None) => return old.lines_of_member(key, level, Status::Removed),
    };
    if let (Some(before), Some(after)) = (old.items(), new.items()) {
        return below(title(key, level), items(&before, &after, level));
    }
    if old.value.as_map().is_some() && new.value.as_map().is_some() {
        return below(title(key, level), lines(old, new, level + 1));
    }
    let removed = old.lines_of_member(key, level, Status::Removed);
    removed
        .into_iter()
        .chain(new.lines_of_member(key, level, Status::Added))
        .collect()
}

/// The key alone, as Ruby's `to_s` has it.
fn title(key: &str, level: usize) -> Line {
    let key = match escape::decode_key(key) {
        Tree::String(text) => text,
        Tree::Null => String::new(),
        other => json::to_text(&other),
    };
    Line::new(level, &format!("{key}:"), Status::Context)
}

/// The lines after their parent; nothing without lines.
fn below(parent: Line, mut lines: Vec<Line>) -> Vec<Line> {
    if !lines.is_empty() {
        lines.insert(0, parent);
    }
    lines
}

/// Items that only one list has. Of two that belong together, what differs.
fn items(old: &[Shown<'_>], new: &[Shown<'_>], level: usize) -> Vec<Line> {
    let added: Vec<_> = new.iter().filter(|item| !old.contains(item)).copied().collect();
    let mut removed: Vec<_> = old.iter().filter(|item| !new.contains(item)).copied().collect();
    let mut lines = Vec::new();
    for item in &added {
        // The director decides this again for each item.
        let have = |key: &str| {
            added
                .iter()
                .chain(&removed)
                .all(|one| one.value.is_null() || has(one.value, key))
        };
        let key = ID_KEYS
            .into_iter()
            .find(|key| item.value.as_map().is_some() && have(key));
        let partner = key.and_then(|key| {
            removed
                .iter()
                .find(|one| one.value.get(key) == item.value.get(key))
                .copied()
        });
        match (key, partner) {
            (Some(key), Some(partner)) => {
                removed.retain(|one| *one != partner);
                lines.extend(lines_of_pair(key, partner, *item, level));
            }
            _ => lines.extend(of_tree(&Tree::Array(vec![item.shown.clone()]), level, Status::Added)),
        }
    }
    if !removed.is_empty() {
        let shown = removed.iter().map(|item| item.shown.clone()).collect();
        lines.extend(of_tree(&Tree::Array(shown), level, Status::Removed));
    }
    lines
}

/// Whether `item[key]` is true in Ruby, where a string has its parts.
fn has(item: &Tree, key: &str) -> bool {
    match item {
        Tree::String(text) => text.contains(key),
        item => ruby::given(item, key).is_some(),
    }
}

fn lines_of_pair(key: &str, old: Shown<'_>, new: Shown<'_>, level: usize) -> Vec<Line> {
    let lines = lines(old, new, level + 1);
    if lines.is_empty() {
        return lines;
    }
    let name = new.shown.get(key).cloned().unwrap_or_default();
    let title = Tree::Array(vec![Tree::object().with(key, name)]);
    let title = of_tree(&title, level, Status::Context);
    title.into_iter().chain(lines).collect()
}
