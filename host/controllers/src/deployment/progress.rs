//! How far a reconcile got, which is told also where it stops.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// Written by the flow, read by who tells of it.
#[derive(Debug, Default)]
pub(super) struct Progress {
    steps: AtomicI32,
    groups: OnceLock<i32>,
    wrote: AtomicBool,
}

// === impl Progress ===

impl Progress {
    /// So many steps are done.
    pub fn done(&self, steps: i32) {
        self.steps.store(steps, Ordering::Relaxed);
    }

    /// The manifest has so many instance groups that run for ever.
    pub fn counted(&self, groups: i32) {
        let _ = self.groups.set(groups);
    }

    /// Something is written.
    pub fn writes(&self) {
        self.wrote.store(true, Ordering::Relaxed);
    }

    /// How many steps are done.
    pub fn steps(&self) -> i32 {
        self.steps.load(Ordering::Relaxed)
    }

    /// None before the manifest is read.
    pub fn groups(&self) -> Option<i32> {
        self.groups.get().copied()
    }

    /// Whether anything was written.
    pub fn has_written(&self) -> bool {
        self.wrote.load(Ordering::Relaxed)
    }
}
