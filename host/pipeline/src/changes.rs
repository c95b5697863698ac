//! How the objects of two conversions differ: which objects, which fields, and what the new ones gain.

use crate::bundle::privileges;
use crate::difference::{Difference, differences};
use crate::object::name;
use boson_document::Tree;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug)]
pub struct Changed<'t> {
    /// Kind and name: `StatefulSet/nats`.
    pub object: String,
    pub change: Change<'t>,
    /// It is a Secret: its values must not be shown.
    pub is_secret: bool,
}

/// How an object differs.
#[derive(Clone, Debug)]
pub enum Change<'t> {
    /// Only the new objects have it.
    Added,
    /// Only the old objects have it.
    Removed,
    /// Both have it, with these differences.
    Fields(Vec<Difference<'t>>),
}

/// The objects that differ, by kind and name.
pub fn changes<'t>(old: &'t [Tree], new: &'t [Tree]) -> Vec<Changed<'t>> {
    let (before, after) = (by_identity(old), by_identity(new));
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let change = |name: &String| match (before.get(name), after.get(name)) {
        (None, _) => Some(Change::Added),
        (Some(_), None) => Some(Change::Removed),
        (Some(before), Some(after)) => {
            let found = differences(before, after);
            (!found.is_empty()).then_some(Change::Fields(found))
        }
    };
    let changed = |name: &String| {
        Some(Changed {
            change: change(name)?,
            is_secret: name.starts_with("Secret/"),
            object: name.clone(),
        })
    };
    names.into_iter().filter_map(changed).collect()
}

/// Kinds of objects, and privileges of their pods, that only the new objects have.
pub fn additions(old: &[Tree], new: &[Tree]) -> BTreeSet<String> {
    kinds_and_privileges(new)
        .difference(&kinds_and_privileges(old))
        .cloned()
        .collect()
}

fn kinds_and_privileges(objects: &[Tree]) -> BTreeSet<String> {
    let of_object = |object: &Tree| {
        let kind = format!("objects of the kind {}", object.str("kind").unwrap_or_default());
        let privileges = privileges::of_object(object).into_iter();
        let privileges = privileges.map(|privilege| format!("{privilege} in the pods of {}", identity(object)));
        privileges.chain([kind]).collect::<Vec<String>>()
    };
    objects.iter().flat_map(of_object).collect()
}

fn by_identity(objects: &[Tree]) -> BTreeMap<String, &Tree> {
    objects.iter().map(|object| (identity(object), object)).collect()
}

/// Kind and name of an object.
pub fn identity(object: &Tree) -> String {
    format!("{}/{}", object.str("kind").unwrap_or_default(), name(object))
}
