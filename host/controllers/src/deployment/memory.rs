//! How the cluster was when a deployment was last as it should be: while it is so still, there is nothing to convert.
//!
//! Kept in this process only. A new one converts each deployment once, because its rules may be others.

use super::WAIT;
use crate::cache::Digest;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// After a conversion, further changes wait until they pause.
const CALM: Duration = Duration::from_secs(3);
/// A pause.
const PAUSE: Duration = Duration::from_millis(700);
/// Changes that never pause wait so long.
const LONGEST: Duration = Duration::from_secs(10);
/// So many failures in a row are tried again as soon as anything that is waited for.
const QUICK: u32 = 10;
/// The longest pause between two tries.
const SLOW: Duration = Duration::from_secs(300);

/// What is remembered.
#[derive(Debug, Default)]
pub(super) struct Memory {
    deployments: Mutex<HashMap<Key, Remembered>>,
}

/// Namespace and name.
pub(super) type Key = (String, String);

#[derive(Debug, Default)]
struct Remembered {
    last: Option<Last>,
    /// Another sight that waits for a pause: what, since when, and when the first of them came.
    other: Option<(Digest, Instant, Instant)>,
    /// Version of the object whose status was replaced: whoever still holds it comes too early.
    replaced: Option<String>,
}

/// How the last conversion ended.
#[derive(Clone, Copy, Debug)]
struct Last {
    /// What was seen.
    observed: Digest,
    /// When that was.
    at: Instant,
    /// How often it has failed where this was seen; 0: all was well.
    failures: u32,
}

/// What to do about a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// All is as it was when it was well.
    Nothing,
    /// Convert.
    Now,
    /// Look again then: changes come in a row.
    In(Duration),
}

/// After so many failures, until the next try: half a minute for the first five minutes, then longer and longer.
fn again(failures: u32) -> Duration {
    let doubled = failures.saturating_sub(QUICK).min(4);
    (WAIT * 2_u32.pow(doubled)).min(SLOW)
}

fn due_in(rest: Duration) -> Due {
    match rest {
        Duration::ZERO => Due::Now,
        rest => Due::In(rest),
    }
}

// === impl Memory ===

impl Memory {
    /// What to do where this is seen now.
    ///
    /// A first change is acted upon at once, whatever follows it. Only what comes soon after a conversion waits.
    pub fn due(&self, key: &Key, observed: Digest, now: Instant) -> Due {
        let mut deployments = self.deployments.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = deployments.get_mut(key) else {
            return Due::Now;
        };
        let Some(last) = known.last else { return Due::Now };
        let passed = now.saturating_duration_since(last.at);
        if last.observed == observed {
            known.other = None;
            return match last.failures {
                0 => Due::Nothing,
                // What failed fails again, unless something has changed that nobody tells of: an image is there, a quota is larger.
                failures => due_in(again(failures).saturating_sub(passed)),
            };
        }
        if known.other.is_none() && (passed >= CALM || last.failures > 0) {
            return Due::Now;
        }
        let (digest, since, first) = known.other.unwrap_or((observed, now, now));
        let since = if digest == observed { since } else { now };
        known.other = Some((observed, since, first));
        let until = (since + PAUSE).min(first + LONGEST);
        due_in(until.saturating_duration_since(now))
    }

    /// All is well where this is seen.
    pub fn good(&self, key: &Key, observed: Digest, now: Instant) {
        self.ended(key, |_| {
            Some(Last {
                observed,
                at: now,
                failures: 0,
            })
        });
    }

    /// Something is wrong where this is seen. When to look again by itself.
    pub fn bad(&self, key: &Key, observed: Digest, now: Instant) -> Duration {
        let mut failures = 1;
        self.ended(key, |last| {
            let before = last.filter(|last| last.observed == observed);
            failures = before.map_or(0, |last| last.failures).saturating_add(1);
            Some(Last {
                observed,
                at: now,
                failures,
            })
        });
        again(failures)
    }

    /// Nothing is known of how the next conversion will end.
    pub fn open(&self, key: &Key) {
        self.ended(key, |_| None);
    }

    /// What failed may not fail any more.
    pub fn retry(&self, key: &Key) {
        self.ended(key, |last| last.filter(|last| last.failures == 0));
    }

    fn ended(&self, key: &Key, last: impl FnOnce(Option<Last>) -> Option<Last>) {
        let mut deployments = self.deployments.lock().unwrap_or_else(PoisonError::into_inner);
        let known = deployments.entry(key.clone()).or_default();
        known.last = last(known.last);
        known.other = None;
    }

    /// The deployment is gone.
    pub fn forget(&self, key: &Key) {
        self.deployments
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(key);
    }

    /// This version of the object got another status.
    pub fn replaced(&self, key: &Key, version: Option<String>) {
        let mut deployments = self.deployments.lock().unwrap_or_else(PoisonError::into_inner);
        deployments.entry(key.clone()).or_default().replaced = version;
    }

    /// Whether the object is known to have another status by now: the news of it is on its way.
    pub fn is_replaced(&self, key: &Key, version: Option<&String>) -> bool {
        let deployments = self.deployments.lock().unwrap_or_else(PoisonError::into_inner);
        let replaced = deployments.get(key).and_then(|known| known.replaced.as_ref());
        replaced.is_some() && replaced == version
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Key {
        ("n".into(), "d".into())
    }

    fn digest(text: &str) -> Digest {
        Digest::of_bytes(text.as_bytes())
    }

    #[test]
    fn what_was_never_well_is_always_due() {
        let memory = Memory::default();
        let now = Instant::now();
        assert_eq!(memory.due(&key(), digest("a"), now), Due::Now);
        memory.good(&key(), digest("a"), now);
        assert_eq!(memory.due(&key(), digest("a"), now), Due::Nothing);
        memory.open(&key());
        assert_eq!(memory.due(&key(), digest("a"), now), Due::Now);
    }

    #[test]
    fn a_change_is_due_at_once_and_those_that_follow_wait_for_a_pause() {
        let memory = Memory::default();
        let start = Instant::now();
        memory.good(&key(), digest("0"), start);
        let later = start + CALM;
        assert_eq!(memory.due(&key(), digest("1"), later), Due::Now);
        memory.good(&key(), digest("1"), later);
        let step = PAUSE / 2;
        for nth in 2..12_u32 {
            let due = memory.due(&key(), digest(&nth.to_string()), later + step * nth);
            assert_eq!(due, Due::In(PAUSE), "{nth}");
        }
        let last = later + step * 11;
        assert_eq!(memory.due(&key(), digest("11"), last + step), Due::In(step));
        assert_eq!(memory.due(&key(), digest("11"), last + PAUSE), Due::Now);
    }

    #[test]
    fn changes_that_never_pause_are_not_put_off_for_ever() {
        let memory = Memory::default();
        let start = Instant::now();
        memory.good(&key(), digest("0"), start);
        let step = Duration::from_millis(500);
        let waited =
            (1..100_u32).find(|nth| memory.due(&key(), digest(&nth.to_string()), start + step * *nth) == Due::Now);
        assert_eq!(waited, Some(21));
    }

    #[test]
    fn what_fails_waits_longer_and_longer_unless_something_changes() {
        let memory = Memory::default();
        let mut now = Instant::now();
        let mut pauses = Vec::new();
        for _ in 0..15 {
            let pause = memory.bad(&key(), digest("a"), now);
            assert_eq!(memory.due(&key(), digest("a"), now + pause / 2), Due::In(pause / 2));
            assert_eq!(memory.due(&key(), digest("b"), now), Due::Now);
            now += pause;
            assert_eq!(memory.due(&key(), digest("a"), now), Due::Now);
            pauses.push(pause.as_secs());
        }
        assert_eq!(pauses[..10], [30; 10]);
        assert_eq!(pauses[10..], [60, 120, 240, 300, 300]);
        assert_eq!(memory.bad(&key(), digest("b"), now), WAIT, "another mistake");
        memory.good(&key(), digest("b"), now);
        assert_eq!(memory.bad(&key(), digest("b"), now), WAIT);
    }

    #[test]
    fn an_old_version_of_the_object_is_known_also_while_it_is_waited_for_something() {
        let memory = Memory::default();
        memory.replaced(&key(), Some("7".into()));
        memory.open(&key());
        assert!(memory.is_replaced(&key(), Some(&"7".into())));
    }

    #[test]
    fn what_is_gone_is_forgotten() {
        let memory = Memory::default();
        memory.good(&key(), digest("a"), Instant::now());
        memory.replaced(&key(), Some("7".into()));
        assert!(memory.is_replaced(&key(), Some(&"7".into())) && !memory.is_replaced(&key(), Some(&"8".into())));
        memory.forget(&key());
        assert!(memory.deployments.lock().unwrap().is_empty());
    }
}
