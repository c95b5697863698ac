//! The deployments that roll an instance group to the operator's own image. Their number is limited.

use super::Key;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// A deployment that is not ready after this time no longer blocks the rollouts of others.
const ROLLOUT_TIMEOUT: Duration = Duration::from_secs(600);

/// The deployments that roll at this time.
#[derive(Debug, Default)]
pub struct Rollouts {
    since: Mutex<HashMap<Key, Instant>>,
}

// === impl Rollouts ===

impl Rollouts {
    /// Whether the deployment may roll a group now: at most `most` deployments roll at a time.
    pub fn is_free(&self, key: &Key, most: usize, now: Instant) -> bool {
        let since = self.since.lock();
        let rolls = |began: &Instant| now.saturating_duration_since(*began) < ROLLOUT_TIMEOUT;
        let others = since.iter().filter(|(other, began)| *other != key && rolls(began));
        others.count() < most
    }

    /// Takes a place, if one is free.
    pub fn take(&self, key: Key, most: usize, now: Instant) -> bool {
        let free = self.is_free(&key, most, now);
        if free {
            let mut since = self.since.lock();
            since.insert(key, now);
        }
        free
    }

    /// The deployment is ready with nothing left to roll, or it is deleted.
    pub fn release(&self, key: &Key) {
        self.since.lock().remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_deployments_that_roll_at_a_time_is_limited() {
        let (rollouts, now) = (Rollouts::default(), Instant::now());
        let key = |name: &str| ("n".to_string(), name.to_string());
        assert!(
            rollouts.take(key("a"), 1, now) && rollouts.take(key("a"), 1, now),
            "its next group"
        );
        assert!(!rollouts.take(key("b"), 1, now) && rollouts.take(key("b"), 2, now));
        rollouts.release(&key("a"));
        assert!(!rollouts.take(key("c"), 1, now));
        assert!(
            rollouts.take(key("c"), 1, now + ROLLOUT_TIMEOUT),
            "others do not wait for one that never becomes ready"
        );
    }
}
