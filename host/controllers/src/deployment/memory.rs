//! How the cluster was when a deployment was last as it should be: while it is so still, there is nothing to convert.
//!
//! Kept in this process only. A new one converts each deployment once, because its rules may be others.

use crate::cache::Print;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// After a conversion, further changes wait until they pause.
const CALM: Duration = Duration::from_secs(3);
/// A pause.
const PAUSE: Duration = Duration::from_millis(700);
/// Changes that never pause wait so long.
const LONGEST: Duration = Duration::from_secs(10);

/// What is remembered.
#[derive(Debug, Default)]
pub(super) struct Memory {
    deployments: Mutex<HashMap<Key, Remembered>>,
}

/// Namespace and name.
pub(super) type Key = (String, String);

#[derive(Debug)]
struct Remembered {
    /// What was seen when all was well.
    good: Print,
    /// When that was.
    at: Instant,
    /// Another sight that waits for a pause: what, since when, and when the first of them came.
    other: Option<(Print, Instant, Instant)>,
    /// Version of the object whose status was replaced: whoever still holds it comes too early.
    replaced: Option<String>,
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

// === impl Memory ===

impl Memory {
    /// What to do where this is seen now.
    ///
    /// A first change is acted upon at once, whatever follows it. Only what comes soon after a conversion waits.
    pub fn due(&self, key: &Key, seen: Print, now: Instant) -> Due {
        let mut deployments = self.deployments.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = deployments.get_mut(key) else {
            return Due::Now;
        };
        if known.good == seen {
            known.other = None;
            return Due::Nothing;
        }
        if known.other.is_none() && now.saturating_duration_since(known.at) >= CALM {
            return Due::Now;
        }
        let (print, since, first) = known.other.unwrap_or((seen, now, now));
        let since = if print == seen { since } else { now };
        known.other = Some((seen, since, first));
        let until = (since + PAUSE).min(first + LONGEST);
        match until.saturating_duration_since(now) {
            Duration::ZERO => Due::Now,
            rest => Due::In(rest),
        }
    }

    /// All is well where this is seen.
    pub fn good(&self, key: &Key, seen: Print, now: Instant) {
        let remembered = Remembered {
            good: seen,
            at: now,
            other: None,
            replaced: None,
        };
        self.deployments
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(key.clone(), remembered);
    }

    /// Nothing that was remembered holds: all is not well, or the deployment is gone.
    pub fn forget(&self, key: &Key) {
        self.deployments
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(key);
    }

    /// This version of the object got another status.
    pub fn replaced(&self, key: &Key, version: Option<String>) {
        if let Some(known) = self
            .deployments
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_mut(key)
        {
            known.replaced = version;
        }
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

    fn print(text: &str) -> Print {
        Print::of_bytes(text.as_bytes())
    }

    #[test]
    fn what_was_never_well_is_always_due() {
        let memory = Memory::default();
        let now = Instant::now();
        assert_eq!(memory.due(&key(), print("a"), now), Due::Now);
        memory.good(&key(), print("a"), now);
        assert_eq!(memory.due(&key(), print("a"), now), Due::Nothing);
        memory.forget(&key());
        assert_eq!(memory.due(&key(), print("a"), now), Due::Now);
    }

    #[test]
    fn a_change_is_due_at_once_and_those_that_follow_wait_for_a_pause() {
        let memory = Memory::default();
        let start = Instant::now();
        memory.good(&key(), print("0"), start);
        let later = start + CALM;
        assert_eq!(memory.due(&key(), print("1"), later), Due::Now);
        memory.good(&key(), print("1"), later);
        let step = PAUSE / 2;
        for nth in 2..12_u32 {
            let due = memory.due(&key(), print(&nth.to_string()), later + step * nth);
            assert_eq!(due, Due::In(PAUSE), "{nth}");
        }
        let last = later + step * 11;
        assert_eq!(memory.due(&key(), print("11"), last + step), Due::In(step));
        assert_eq!(memory.due(&key(), print("11"), last + PAUSE), Due::Now);
    }

    #[test]
    fn changes_that_never_pause_are_not_put_off_for_ever() {
        let memory = Memory::default();
        let start = Instant::now();
        memory.good(&key(), print("0"), start);
        let step = Duration::from_millis(500);
        let waited =
            (1..100_u32).find(|nth| memory.due(&key(), print(&nth.to_string()), start + step * *nth) == Due::Now);
        assert_eq!(waited, Some(21));
    }

    #[test]
    fn what_is_gone_is_forgotten() {
        let memory = Memory::default();
        memory.good(&key(), print("a"), Instant::now());
        memory.replaced(&key(), Some("7".into()));
        assert!(memory.is_replaced(&key(), Some(&"7".into())) && !memory.is_replaced(&key(), Some(&"8".into())));
        memory.forget(&key());
        assert!(memory.deployments.lock().unwrap().is_empty());
    }
}
