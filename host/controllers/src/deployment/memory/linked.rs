//! Which other deployments each deployment takes links from: a change of their links is a change of its inputs.

use super::Key;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

/// The deployments that each named in its links at its last conversion.
#[derive(Debug, Default)]
pub struct LinkedDeployments {
    all: Mutex<HashMap<Key, BTreeSet<String>>>,
}

// === impl LinkedDeployments ===

impl LinkedDeployments {
    /// What a deployment names now.
    pub fn remember(&self, key: Key, named: BTreeSet<String>) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        match named.is_empty() {
            true => drop(all.remove(&key)),
            false => drop(all.insert(key, named)),
        }
    }

    /// What it named last.
    pub fn of(&self, key: &Key) -> BTreeSet<String> {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(key).cloned().unwrap_or_default()
    }
}
