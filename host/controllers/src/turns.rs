//! Places for conversions and reviews. No namespace gets more than half of them, so that one with many deployments does not delay those of others.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Places by namespace. Copies share them.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    most: usize,
    taken: Arc<Mutex<BTreeMap<String, usize>>>,
}

/// A place; released on drop.
#[derive(Debug)]
#[must_use = "it is released at once"]
pub(crate) struct Turn {
    turns: Turns,
    namespace: String,
}

// === impl Turns ===

impl Turns {
    /// With this many places; each namespace gets half, at least one.
    pub(crate) fn of(places: usize) -> Self {
        Self {
            most: (places / 2).max(1),
            taken: Arc::default(),
        }
    }

    /// Takes a place for this namespace, unless it has its half.
    pub(crate) fn take(&self, namespace: &str) -> Option<Turn> {
        let mut taken = self.taken();
        let count = taken.entry(namespace.to_string()).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(Turn {
            turns: self.clone(),
            namespace: namespace.to_string(),
        })
    }

    fn taken(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Turn ===

impl Drop for Turn {
    fn drop(&mut self) {
        let mut taken = self.turns.taken();
        if let Some(count) = taken.get_mut(&self.namespace) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                taken.remove(&self.namespace);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_has_half_of_the_places() {
        let turns = Turns::of(4);
        let held = [turns.take("a"), turns.take("a")];
        assert!(held.iter().all(Option::is_some));
        assert!(turns.take("a").is_none(), "the other half is for others");
        let other = turns.take("b");
        assert!(other.is_some());
        drop(held);
        assert!(turns.take("a").is_some());
        drop(other);
        assert!(turns.taken().is_empty(), "nothing remains of released places");
        assert!(Turns::of(1).take("a").is_some());
    }
}
