//! The pauses of a watch after errors: from a second to sixteen, doubling, with jitter.
//!
//! kube's own back-off restarts after each event, and a watch yields one, [`Init`], before each list. So a watch that
//! is forbidden, or whose API server is away, would be retried each second forever.
//!
//! [`Init`]: kube::runtime::watcher::Event::Init

use kube::runtime::utils::Backoff;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;
use tokio::time::Instant;

const INITIAL_RETRY_DELAY: Duration = Duration::from_secs(1);
/// A watch recovers this long after an outage of the API server at the latest.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(16);
/// Time without an error after which the pauses restart, as in client-go. It is longer than a pause and a list that
/// fails at its timeout.
const BACKOFF_RESET_DELAY: Duration = Duration::from_secs(120);

#[derive(Debug, Default)]
pub struct WatchBackoff {
    /// Errors without [`BACKOFF_RESET_DELAY`] between them.
    errors: u32,
    last: Option<Instant>,
    jitter: RandomState,
}

// === impl WatchBackoff ===

impl Iterator for WatchBackoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let now = Instant::now();
        if self
            .last
            .is_some_and(|last| now.duration_since(last) > BACKOFF_RESET_DELAY)
        {
            self.errors = 0;
        }
        self.last = Some(now);
        let full = INITIAL_RETRY_DELAY
            .saturating_mul(1_u32.checked_shl(self.errors).unwrap_or(u32::MAX))
            .min(MAX_RETRY_DELAY);
        let part = (self.jitter.hash_one(self.errors) % 512) as f64 / 512.0;
        self.errors = self.errors.saturating_add(1);
        // Watches that failed together are not retried together.
        Some(full.mul_f64(0.5 + part / 2.0))
    }
}

impl Backoff for WatchBackoff {
    /// An event is no success: it may be the beginning of a list that fails. Only time restarts the pauses.
    fn reset(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forbidden_watch_is_retried_less_and_less_often_although_it_yields_events() {
        let mut backoff = WatchBackoff::default();
        let pauses = std::iter::from_fn(|| {
            backoff.reset();
            backoff.next()
        });
        let pauses: Vec<Duration> = pauses.take(40).collect();
        assert!(pauses[0] <= INITIAL_RETRY_DELAY, "{pauses:?}");
        for pause in &pauses[4..] {
            assert!((MAX_RETRY_DELAY / 2..=MAX_RETRY_DELAY).contains(pause), "{pauses:?}");
        }
    }

    #[test]
    fn pauses_restart_after_a_time_without_errors() {
        let mut backoff = WatchBackoff {
            errors: 7,
            last: Instant::now().checked_sub(BACKOFF_RESET_DELAY + INITIAL_RETRY_DELAY),
            ..WatchBackoff::default()
        };
        assert!(backoff.next().is_some_and(|pause| pause <= INITIAL_RETRY_DELAY));
    }

    #[test]
    fn watches_that_failed_together_are_retried_apart() {
        let pauses: Vec<Duration> = (0..100).filter_map(|_| WatchBackoff::default().next()).collect();
        let (low, high) = (pauses.iter().min().unwrap(), pauses.iter().max().unwrap());
        assert!(*high - *low > INITIAL_RETRY_DELAY / 4);
    }
}
