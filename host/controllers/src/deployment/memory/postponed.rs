//! The deployments whose garbage is collected later, after a rollout of their StatefulSets.

use super::Key;
use parking_lot::Mutex;
use std::collections::HashSet;

#[derive(Debug, Default)]
pub struct Postponed {
    later: Mutex<HashSet<Key>>,
}

// === impl Postponed ===

impl Postponed {
    /// Whether garbage of this deployment is left for later.
    pub fn note(&self, key: &Key, later: bool) {
        let mut all = self.later.lock();
        if later {
            all.insert(key.clone())
        } else {
            all.remove(key)
        };
    }

    /// Whether something is left for later.
    pub fn holds(&self, key: &Key) -> bool {
        self.later.lock().contains(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_for_later_is_remembered_until_it_is_done() {
        let (postponed, key) = (Postponed::default(), ("n".to_string(), "d".to_string()));
        postponed.note(&key, true);
        assert!(postponed.holds(&key) && !postponed.holds(&("n".into(), "e".into())));
        postponed.note(&key, false);
        assert!(!postponed.holds(&key));
    }
}
