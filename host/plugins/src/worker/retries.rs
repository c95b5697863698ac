//! When a plugin whose image could not be pulled is tried again: after 5 s at first, then after twice as long each
//! time, up to 5 minutes. Pure.

use super::queue::Queued;
use crate::registry::Key;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const INITIAL_RETRY_DELAY: Duration = Duration::from_secs(5);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(300);

#[derive(Debug, Default)]
pub(super) struct Retries(BTreeMap<Key, Retry>);

#[derive(Debug)]
struct Retry {
    queued: Queued,
    failures: u32,
    /// None: it is being tried.
    due: Option<Instant>,
}

// === impl Retries ===

impl Retries {
    pub(super) fn failed(&mut self, queued: Queued, now: Instant) {
        let same = |old: &&Retry| old.queued.plugin.version == queued.plugin.version;
        let failures = self.0.get(&queued.key).filter(same).map_or(0, |old| old.failures);
        let delay = INITIAL_RETRY_DELAY
            .saturating_mul(1 << failures.min(10))
            .min(MAX_RETRY_DELAY);
        let retry = Retry {
            failures: failures.saturating_add(1),
            due: now.checked_add(delay),
            queued,
        };
        self.0.insert(retry.queued.key.clone(), retry);
    }

    /// Keeps those for which `holds` is true.
    pub(super) fn retain(&mut self, holds: impl Fn(&Key) -> bool) {
        self.0.retain(|key, _| holds(key));
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.0.values().filter_map(|retry| retry.due).min()
    }

    /// Those that are due; they are remembered until they succeed or fail again.
    pub(super) fn due(&mut self, now: Instant) -> Vec<Queued> {
        let mut due = Vec::new();
        for retry in self
            .0
            .values_mut()
            .filter(|retry| retry.due.is_some_and(|at| at <= now))
        {
            retry.due = None;
            due.push(retry.queued.clone());
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Plugin;

    fn queued(version: &str) -> Queued {
        Queued {
            key: Key {
                namespace: "n".into(),
                name: "p".into(),
            },
            plugin: Plugin {
                version: version.into(),
                ..Plugin::default()
            },
        }
    }

    #[test]
    fn delays_grow_up_to_five_minutes_and_begin_again_with_another_version() {
        let (mut retries, mut now) = (Retries::default(), Instant::now());
        let mut delays = Vec::new();
        for version in [["a"; 8].as_slice(), &["b"]].concat() {
            retries.failed(queued(version), now);
            let next = retries.next().unwrap();
            delays.push((next - now).as_secs());
            assert!(retries.due(now).is_empty());
            now = next;
            assert_eq!(retries.due(now), [queued(version)]);
            assert!(
                retries.due(now).is_empty() && retries.next().is_none(),
                "it is being tried"
            );
        }
        assert_eq!(delays, [5, 10, 20, 40, 80, 160, 300, 300, 5]);
        retries.failed(queued("b"), now);
        retries.retain(|_| false);
        assert_eq!(retries.next(), None);
    }
}
