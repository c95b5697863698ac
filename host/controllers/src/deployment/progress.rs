//! The progress of a conversion, which is reported also if it stops.

use boson_api::deployment::Input;
use parking_lot::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};

/// Written by the parts of a reconcile, read for the status.
#[derive(Debug, Default)]
pub struct Progress {
    steps: AtomicI32,
    groups: OnceLock<i32>,
    inputs: Mutex<Vec<Input>>,
    inputs_digest: OnceLock<String>,
}

// === impl Progress ===

impl Progress {
    /// Sets how many steps are done.
    pub fn done(&self, steps: i32) {
        self.steps.store(steps, Ordering::Relaxed);
    }

    /// Sets how many instance groups are services.
    pub fn counted(&self, groups: i32) {
        let _ = self.groups.set(groups);
    }

    /// Adds inputs of the deployment.
    pub fn uses(&self, inputs: impl IntoIterator<Item = Input>) {
        let mut all = self.inputs.lock();
        all.extend(inputs);
    }

    /// Sets the digest of the documents and given values.
    pub fn has_read(&self, digest: String) {
        let _ = self.inputs_digest.set(digest);
    }

    /// The inputs of the deployment, sorted.
    pub fn inputs(&self) -> Vec<Input> {
        let mut all = self.inputs.lock().clone();
        all.sort();
        all.dedup();
        all
    }

    /// None before the documents are read.
    pub fn inputs_digest(&self) -> Option<String> {
        self.inputs_digest.get().cloned()
    }

    /// How many steps are done.
    pub fn steps(&self) -> i32 {
        self.steps.load(Ordering::Relaxed)
    }

    /// None before the manifest is read.
    pub fn groups(&self) -> Option<i32> {
        self.groups.get().copied()
    }
}
