//! The deployments that roll an instance group to the operator's own image. Their number is limited.

use super::by_deployment::ByDeployment;
use boson_cluster::client::NamespacedName;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// A deployment that is not ready after this time no longer blocks the rollouts of others.
const ROLLOUT_TIMEOUT: Duration = Duration::from_secs(600);

type Since = Option<Instant>;

// === impl ByDeployment ===

impl ByDeployment<Since> {
    /// Whether the deployment may roll a group now: at most `most` deployments roll at a time.
    pub fn is_free(&self, key: &NamespacedName, most: usize, now: Instant) -> bool {
        is_free(&self.all.lock(), key, most, now)
    }

    /// Takes a slot, if one is free.
    pub fn take(&self, key: NamespacedName, most: usize, now: Instant) -> bool {
        // Held from the count to the entry: otherwise two deployments could take the last slot.
        let mut since = self.all.lock();
        let free = is_free(&since, &key, most, now);
        if free {
            since.insert(key, Some(now));
        }
        free
    }
}

fn is_free(since: &HashMap<NamespacedName, Since>, key: &NamespacedName, most: usize, now: Instant) -> bool {
    let rolls = |began: Instant| now.saturating_duration_since(began) < ROLLOUT_TIMEOUT;
    let others = since
        .iter()
        .filter(|(other, began)| *other != key && began.is_some_and(rolls));
    others.count() < most
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::thread;

    #[test]
    fn deployments_that_ask_at_the_same_time_do_not_share_a_slot() {
        const DEPLOYMENTS: usize = 8;
        for _ in 0..200 {
            let rollouts = ByDeployment::<Since>::default();
            let (together, now) = (Barrier::new(DEPLOYMENTS), Instant::now());
            let take = &|number: usize| {
                together.wait();
                rollouts.take(("n".into(), number.to_string()), 1, now)
            };
            let taken = thread::scope(|scope| {
                let asked = (0..DEPLOYMENTS).map(|number| scope.spawn(move || take(number)));
                let asked: Vec<_> = asked.collect();
                asked
                    .into_iter()
                    .map(|asked| asked.join().unwrap())
                    .filter(|taken| *taken)
                    .count()
            });
            assert_eq!(taken, 1);
        }
    }

    #[test]
    fn the_number_of_deployments_that_roll_at_a_time_is_limited() {
        let (rollouts, now) = (ByDeployment::<Since>::default(), Instant::now());
        let key = |name: &str| ("n".to_string(), name.to_string());
        assert!(
            rollouts.take(key("a"), 1, now) && rollouts.take(key("a"), 1, now),
            "its next group"
        );
        assert!(!rollouts.take(key("b"), 1, now) && rollouts.take(key("b"), 2, now));
        rollouts.set(&key("a"), None);
        assert!(!rollouts.take(key("c"), 1, now));
        assert!(
            rollouts.take(key("c"), 1, now + ROLLOUT_TIMEOUT),
            "others do not wait for one that never becomes ready"
        );
    }
}
