//! The objects that edits change. Pure.

use crate::bundle::{codes, limits, patch};
use crate::diagnostic::Diagnostic;
use crate::object::{name, object_error};
use crate::stage::{Edit, ObjectReference};
use boson_document::Tree;
use std::collections::{BTreeMap, BTreeSet};

/// Changed objects; none: removed.
pub(super) type Edited = BTreeMap<Key, Option<Tree>>;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    kind: String,
    name: String,
}

/// What edits make of these objects: only those that they name.
///
/// # Errors
/// The first edit that does not apply, or an object that is too large.
pub(super) fn edited(objects: &[Tree], edits: Vec<Edit>) -> Result<Edited, Diagnostic> {
    let mut edited = Edited::new();
    let mut budget = patch::Budget::default();
    for edit in edits {
        match edit {
            Edit::JsonPatch(object, patch) => {
                change(&mut edited, objects, &object, |tree| {
                    patch::apply(tree, &patch, &mut budget)
                })?;
            }
            Edit::MergePatch(object, patch) => {
                change(&mut edited, objects, &object, |tree| {
                    patch::merge(tree, &patch, &mut budget)
                })?;
            }
            Edit::Add(object) => {
                limits::check(&object)?;
                let key = Key {
                    kind: object.str("kind").unwrap_or_default().into(),
                    name: name(&object).into(),
                };
                edited.insert(key, Some(object));
            }
            Edit::Remove(object) => {
                let (kind, name) = (object.kind, object.name);
                edited.insert(Key { kind, name }, None);
            }
        }
    }
    Ok(edited)
}

fn change(
    edited: &mut Edited,
    objects: &[Tree],
    reference: &ObjectReference,
    apply: impl FnOnce(&mut Tree) -> Result<(), patch::Error>,
) -> Result<(), Diagnostic> {
    let key = Key {
        kind: reference.kind.clone(),
        name: reference.name.clone(),
    };
    let Some(present) = current(edited, objects, &key) else {
        let message = format!("there is no {} '{}' to change", reference.kind, reference.name);
        return Err(Diagnostic::error(codes::BUNDLE_NO_SUCH_OBJECT, message));
    };
    let mut object = present.clone();
    apply(&mut object).map_err(|error| object_error(present, codes::BUNDLE_PATCH_FAILED, &error.to_string()))?;
    limits::check(&object)?;
    edited.insert(key, Some(object));
    Ok(())
}

/// The object of this kind and name, as the edits leave it.
fn current<'t>(edited: &'t Edited, objects: &'t [Tree], key: &Key) -> Option<&'t Tree> {
    let is_it = |object: &&Tree| object.str("kind") == Some(key.kind.as_str()) && name(object) == key.name;
    match edited.get(key) {
        Some(present) => present.as_ref(),
        None => objects.iter().find(is_it),
    }
}

/// The objects that either of two changes, as each leaves them.
pub(super) fn both(objects: &[Tree], old: &Edited, new: &Edited) -> (Vec<Tree>, Vec<Tree>) {
    let all: BTreeSet<&Key> = old.keys().chain(new.keys()).collect();
    let left = |edited: &Edited, key: &Key| current(edited, objects, key).cloned();
    let of = |edited: &Edited| all.iter().filter_map(|key| left(edited, key)).collect();
    (of(old), of(new))
}
