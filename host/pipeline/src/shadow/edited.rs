//! The objects that edits change. Pure.

use crate::bundle::{codes, limits, patch};
use crate::diagnostic::Diagnostic;
use crate::object::{fault, name};
use crate::stage::{Edit, ObjectReference};
use boson_document::Tree;
use std::collections::BTreeMap;

/// Changed objects by kind and name; none: removed.
pub(super) type Edited = BTreeMap<(String, String), Option<Tree>>;

/// What edits make of these objects: only those that they name.
///
/// # Errors
/// The first edit that does not apply, or an object that is too large.
pub(super) fn edited(objects: &[Tree], edits: Vec<Edit>) -> Result<Edited, Box<Diagnostic>> {
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
                let key = (
                    object.str("kind").unwrap_or_default().to_string(),
                    name(&object).to_string(),
                );
                edited.insert(key, Some(object));
            }
            Edit::Remove(object) => {
                edited.insert((object.kind, object.name), None);
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
) -> Result<(), Box<Diagnostic>> {
    let key = (reference.kind.clone(), reference.name.clone());
    let present = match edited.get(&key) {
        Some(present) => present.as_ref(),
        None => find(objects, &key),
    };
    let Some(present) = present else {
        let message = format!("there is no {} '{}' to change", reference.kind, reference.name);
        return Err(Box::new(Diagnostic::error(codes::BUNDLE_NO_SUCH_OBJECT, message)));
    };
    let mut object = present.clone();
    apply(&mut object).map_err(|error| fault(present, codes::BUNDLE_PATCH_FAILED, &error.to_string()))?;
    limits::check(&object)?;
    edited.insert(key, Some(object));
    Ok(())
}

fn find<'t>(objects: &'t [Tree], (kind, wanted): &(String, String)) -> Option<&'t Tree> {
    let is_it = |object: &&Tree| object.str("kind") == Some(kind) && name(object) == wanted;
    objects.iter().find(is_it)
}

/// The objects that either of two changes, as each leaves them.
pub(super) fn both(objects: &[Tree], old: &Edited, new: &Edited) -> (Vec<Tree>, Vec<Tree>) {
    let left = |edited: &Edited, key: &(String, String)| match edited.get(key) {
        Some(object) => object.clone(),
        None => find(objects, key).cloned(),
    };
    let mut all: Vec<&(String, String)> = old.keys().chain(new.keys()).collect();
    all.sort();
    all.dedup();
    let of = |edited: &Edited| all.iter().filter_map(|key| left(edited, key)).collect();
    (of(old), of(new))
}
