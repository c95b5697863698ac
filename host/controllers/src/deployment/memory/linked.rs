//! Which other deployments each deployment takes links from: a change of their links is a change of its inputs.

use super::Key;
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap};

/// The deployments that each named in its links at its last conversion.
#[derive(Debug, Default)]
pub struct LinkedDeployments {
    all: Mutex<HashMap<Key, BTreeSet<String>>>,
}

// === impl LinkedDeployments ===

impl LinkedDeployments {
    /// What a deployment names now.
    pub fn remember(&self, key: Key, named: BTreeSet<String>) {
        let mut all = self.all.lock();
        if named.is_empty() {
            drop(all.remove(&key))
        } else {
            drop(all.insert(key, named))
        }
    }

    /// What it named last.
    pub fn of(&self, key: &Key) -> BTreeSet<String> {
        let all = self.all.lock();
        all.get(key).cloned().unwrap_or_default()
    }
}
