//! The back-off of an object after failures: from a second to five minutes, doubling, with a different jitter for each
//! object.
//!
//! Failures are counted in memory only: after a restart each object gets a quick try. The count restarts with a new
//! generation of the object, because the user may have fixed it.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

const INITIAL_RETRY_DELAY: Duration = Duration::from_secs(1);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(300);

/// Failures in a row, by object.
#[derive(Debug, Default)]
pub struct Backoff {
    failures: Mutex<HashMap<String, Failures>>,
}

#[derive(Debug, Default)]
struct Failures {
    generation: Option<i64>,
    count: u32,
}

// === impl Backoff ===

impl Backoff {
    /// Counts a failure, and returns how long to wait. `key`: namespace and name.
    pub fn failed(&self, key: &str, generation: Option<i64>) -> Duration {
        let mut all = self.failures.lock();
        let failures = all.entry(key.into()).or_default();
        if failures.generation != generation {
            *failures = Failures { generation, count: 0 };
        }
        let pause = pause(key, failures.count);
        failures.count = failures.count.saturating_add(1);
        pause
    }

    /// It succeeded, or is deleted.
    pub fn forget(&self, key: &str) {
        self.failures.lock().remove(key);
    }
}

/// Between half of the full pause and all of it. The fraction is derived from the key, so that objects that failed
/// together (because the API server was unavailable) are not retried together.
fn pause(key: &str, failures: u32) -> Duration {
    let full = INITIAL_RETRY_DELAY
        .saturating_mul(1_u32.checked_shl(failures).unwrap_or(u32::MAX))
        .min(MAX_RETRY_DELAY);
    let mut hasher = DefaultHasher::new();
    (key, failures).hash(&mut hasher);
    let part = (hasher.finish() % 512) as f64 / 512.0;
    full.mul_f64(0.5 + part / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_permanent_failure_is_retried_at_most_once_every_two_minutes_on_average() {
        let backoff = Backoff::default();
        let mut passed = Duration::ZERO;
        let mut tries = 0;
        while passed < Duration::from_secs(3600) {
            passed += backoff.failed("n/a", Some(1));
            tries += 1;
        }
        assert!(tries <= 30, "{tries}");
        assert!(backoff.failed("n/a", Some(1)) >= MAX_RETRY_DELAY / 2);
    }

    #[test]
    fn an_edit_and_a_success_restart_the_count() {
        let backoff = Backoff::default();
        for _ in 0..12 {
            backoff.failed("n/a", Some(1));
        }
        assert!(backoff.failed("n/a", Some(2)) <= INITIAL_RETRY_DELAY);
        backoff.failed("n/a", Some(2));
        backoff.forget("n/a");
        assert!(backoff.failed("n/a", Some(2)) <= INITIAL_RETRY_DELAY);
    }

    #[test]
    fn objects_that_failed_together_are_retried_apart() {
        let pauses: Vec<Duration> = (0..100).map(|i| pause(&format!("n/{i}"), 9)).collect();
        let (low, high) = (pauses.iter().min().unwrap(), pauses.iter().max().unwrap());
        assert!(*high - *low > MAX_RETRY_DELAY / 4);
    }

    proptest! {
        #[test]
        fn no_wait_is_longer_than_five_minutes(key in ".*", failures in any::<u32>()) {
            let pause = pause(&key, failures);
            prop_assert!(pause >= INITIAL_RETRY_DELAY / 2 && pause <= MAX_RETRY_DELAY);
        }
    }
}
