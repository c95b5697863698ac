//! The progress of a conversion, which is reported also if it stops.

use boson_api::deployment::Input;
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeSet;

/// Written by the parts of a reconcile, read for the status.
#[derive(Debug, Default)]
pub struct Progress(Mutex<Known>);

/// What is known so far.
#[derive(Debug, Default)]
pub struct Known {
    /// How many steps of the conversion are done.
    pub steps: i32,
    /// How many instance groups are services; none before the manifest is read.
    pub groups: Option<i32>,
    pub inputs: BTreeSet<Input>,
    /// Digest of the documents and given values; none before they are read.
    pub inputs_digest: Option<String>,
}

// === impl Progress ===

impl Progress {
    pub fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock()
    }

    pub fn uses(&self, inputs: impl IntoIterator<Item = Input>) {
        self.known().inputs.extend(inputs);
    }
}
