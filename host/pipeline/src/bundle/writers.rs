//! Records which plugin of the stage `resources` wrote which field. Two plugins that set one field to different values
//! depend on their order: without an explicit order this is an error, otherwise a warning.

use super::ObjectKey;
use crate::Diagnostic;
use crate::author::Author;
use crate::bundle::codes;
use boson_document::{Pointer, Tree};
use indexmap::IndexMap;
use std::collections::HashMap;

/// A plugin that edits a bundle.
#[derive(Clone, Copy, Debug)]
pub struct Writer<'a> {
    pub author: &'a Author,
    /// Its place among the others was set explicitly.
    pub is_ordered: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Writers {
    /// By object, and by the field's place in it. An object that was added, or removed, is also recorded as a whole, at
    /// the root.
    written: HashMap<ObjectKey, HashMap<Pointer, Written>>,
}

#[derive(Clone, Debug)]
struct Written {
    by: String,
    is_ordered: bool,
    /// `None`: it was removed.
    value: Option<Tree>,
}

// === impl Writers ===

impl Writers {
    /// Records that a plugin turned `before` into `after`; `None`: there is no such object. Reports fields that another
    /// plugin had set to another value.
    pub fn record(
        &mut self,
        object: &ObjectKey,
        before: Option<&Tree>,
        after: Option<&Tree>,
        writer: Writer<'_>,
    ) -> Vec<Diagnostic> {
        let written = self.written.entry(object.clone()).or_default();
        let mut reported = Vec::new();
        let presence = |tree: Option<&Tree>| tree.map(|_| Tree::Null);
        if before.is_some() != after.is_some() {
            let whole = Written::new(presence(after), writer);
            // A removed object takes along what others wrote in it.
            let earlier = match after {
                None => written
                    .values()
                    .find(|one| one.by != writer.author.called && one.value.is_some()),
                Some(_) => written
                    .get(&Pointer::root())
                    .filter(|one| one.by != writer.author.called),
            };
            reported.extend(earlier.map(|earlier| removal(object, earlier, &whole)));
            if after.is_none() {
                written.clear();
            }
            written.insert(Pointer::root(), whole);
        }
        let mut changes = Vec::new();
        let nothing = Tree::object();
        if let Some(after) = after {
            compare(before.unwrap_or(&nothing), after, &mut Pointer::root(), &mut changes);
        }
        for (place, value) in changes {
            let new = Written::new(value, writer);
            let earlier = written.get(&place);
            let earlier = earlier.filter(|one| one.by != new.by && !contains(new.value.as_ref(), one.value.as_ref()));
            reported.extend(earlier.map(|earlier| conflict(object, &place, earlier, &new)));
            written.insert(place, new);
        }
        reported
    }
}

// === impl Written ===

impl Written {
    fn new(value: Option<Tree>, writer: Writer<'_>) -> Self {
        Self {
            by: writer.author.called.clone(),
            is_ordered: writer.is_ordered,
            value,
        }
    }
}

/// The fields in which two values differ, with what is there afterwards. Items of a list are compared by their names,
/// where all have one, as Kubernetes merges such lists; another list is one field.
fn compare(before: &Tree, after: &Tree, place: &mut Pointer, found: &mut Vec<(Pointer, Option<Tree>)>) {
    if before == after {
        return;
    }
    match (parts(before), parts(after)) {
        (Some(before), Some(after)) => members(&before, &after, place, found),
        (None, Some(after)) => members(&Fields::new(), &after, place, found),
        (before, None) => {
            before
                .iter()
                .for_each(|before| members(before, &Fields::new(), place, found));
            found.push((place.clone(), Some(after.clone())));
        }
    }
}

/// What is in a value, if it is more than one field.
fn parts(value: &Tree) -> Option<Fields<'_>> {
    match value {
        Tree::Object(map) if !map.is_empty() => Some(map.iter().map(|(name, value)| (name.clone(), value)).collect()),
        Tree::Array(items) if !items.is_empty() => by_name(items),
        _ => None,
    }
}

type Fields<'t> = IndexMap<String, &'t Tree>;

fn members(before: &Fields<'_>, after: &Fields<'_>, place: &mut Pointer, found: &mut Vec<(Pointer, Option<Tree>)>) {
    for (name, value) in after {
        place.push(name);
        let before = before.get(name).copied().unwrap_or(&Tree::Null);
        compare(before, value, place, found);
        place.pop();
    }
    for (name, value) in before.iter().filter(|(name, _)| !after.contains_key(*name)) {
        place.push(name);
        parts(value)
            .iter()
            .for_each(|value| members(value, &Fields::new(), place, found));
        found.push((place.clone(), None));
        place.pop();
    }
}

/// The items by their names; `None` if one has none, or two have the same.
fn by_name(items: &[Tree]) -> Option<Fields<'_>> {
    let named = items
        .iter()
        .map(|item| Some((format!("name={}", item.str("name")?), item)));
    let named: Fields<'_> = named.collect::<Option<_>>()?;
    (named.len() == items.len()).then_some(named)
}

/// Whether the new value keeps the earlier one: it is the same, or a list that has all its items in their order.
fn contains(new: Option<&Tree>, earlier: Option<&Tree>) -> bool {
    match (new, earlier) {
        (Some(Tree::Array(new)), Some(Tree::Array(earlier))) => {
            let mut rest = new.iter();
            earlier.iter().all(|item| rest.any(|other| other == item))
        }
        _ => new == earlier,
    }
}

fn conflict(object: &ObjectKey, place: &Pointer, first: &Written, second: &Written) -> Diagnostic {
    let ObjectKey { kind, name, .. } = object;
    report(first, second, |first, second| {
        format!("{kind} '{name}': {first} and {second} set '{place}' to different values")
    })
}

fn removal(object: &ObjectKey, first: &Written, second: &Written) -> Diagnostic {
    let ObjectKey { kind, name, .. } = object;
    let [first_does, second_does] = match second.value {
        None => ["sets fields of it", "removes it"],
        Some(_) => ["removes it", "adds it"],
    };
    report(first, second, |first, second| {
        format!("{kind} '{name}': {first} {first_does}, {second} {second_does}")
    })
}

fn report(first: &Written, second: &Written, message: impl Fn(&str, &str) -> String) -> Diagnostic {
    let what = message(&first.by, &second.by);
    if first.is_ordered && second.is_ordered {
        Diagnostic::warning(codes::BUNDLE_FIELD_CONFLICT, format!("{what}; {} wins", second.by))
            .help("let one of the two plugins set it, or give both the same value in their settings")
    } else {
        Diagnostic::error(codes::BUNDLE_FIELD_CONFLICT, what).help(
            "let one of the two plugins set it, or set the order of both: `order` in plugin.yaml, or list them in \
         `spec.conversion.plugins`; then the last one wins",
        )
    }
}
