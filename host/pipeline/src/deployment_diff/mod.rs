//! What a change of a deployment does, before it is made: how its manifest differs, in BOSH's form; which instances
//! restart, and why; which objects and generated values differ. Values are not part of any answer, except for what BOSH
//! shows of a manifest.

mod causes;
mod changeset;
mod instances;
mod lines;
mod manifest;
mod redacted;
mod shape;
mod variables;

pub use instances::{Action, InstanceChange, Reason, Side};
pub use lines::{Line, Status};
pub use manifest::{Properties, manifest};
pub use variables::VariableChange;

use crate::changes::{Change, changes};
use std::collections::BTreeMap;

/// What two conversions differ in.
#[derive(Debug, Default)]
pub struct Effects {
    /// In the order of the update.
    pub instances: Vec<InstanceChange>,
    /// By name.
    pub variables: BTreeMap<String, VariableChange>,
    /// By kind and name; not those of variables.
    pub objects: Vec<ObjectChange>,
}

#[derive(Debug)]
pub struct ObjectChange {
    /// Kind and name.
    pub object: String,
    /// `added`, `removed` or `changed`.
    pub change: &'static str,
    /// Pointers to the fields that differ.
    pub fields: Vec<String>,
}

// === impl Effects ===

impl Effects {
    /// Of changing `old` to `new`.
    pub fn of(old: Side<'_>, new: Side<'_>) -> Self {
        Self {
            instances: instances::instances(old, new),
            variables: variables::variables(old.objects, new.objects),
            objects: objects(old, new),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.instances.is_empty() && self.variables.is_empty() && self.objects.is_empty()
    }
}

fn objects(old: Side<'_>, new: Side<'_>) -> Vec<ObjectChange> {
    let changes = changes(old.objects, new.objects).into_iter();
    let others = changes.filter(|one| !one.object.starts_with("QuarksSecret/"));
    let object = |one: crate::changes::Changed<'_>| {
        let (change, fields) = match one.change {
            Change::Added => ("added", Vec::new()),
            Change::Removed => ("removed", Vec::new()),
            Change::Fields(fields) => (
                "changed",
                fields.iter().map(|field| field.pointer.to_string()).collect(),
            ),
        };
        ObjectChange {
            object: one.object,
            change,
            fields,
        }
    };
    others.map(object).collect()
}
