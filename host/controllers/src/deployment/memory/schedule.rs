//! The snapshot and outcome of the last conversion of each deployment: while nothing has changed since, there is
//! nothing to convert.
//!
//! Held in memory only. A new process converts each deployment once, because its plugins may differ.

use super::FALLBACK_INTERVAL;
use boson_cluster::cache::ObjectDigest;
use boson_cluster::client::NamespacedName;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// After a conversion, further changes wait until they pause.
const MIN_CONVERSION_INTERVAL: Duration = Duration::from_secs(3);
const CHANGE_PAUSE_DELAY: Duration = Duration::from_millis(700);
/// The longest delay, for changes that never pause.
const MAX_CHANGE_DELAY: Duration = Duration::from_secs(10);
/// This many failures in a row are retried after the usual wait; further ones back off.
const MAX_QUICK_RETRIES: u32 = 10;
/// The longest pause between two tries.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(300);

/// The last conversion of each deployment.
#[derive(Debug, Default)]
pub struct Schedule {
    deployments: Mutex<HashMap<NamespacedName, Remembered>>,
}

#[derive(Debug, Default)]
struct Remembered {
    last: Option<Last>,
    /// A newer snapshot that waits for a pause in changes.
    other: Option<Changing>,
    /// Resource version of the object before its status was replaced: a reconcile with this version is outdated.
    replaced: Option<String>,
    /// A failure of the conversion that runs is forgotten: what it may have failed for has changed since.
    forgets_failure: bool,
}

/// A snapshot that differs from the last one that was converted.
#[derive(Clone, Copy, Debug)]
struct Changing {
    digest: ObjectDigest,
    /// When it was seen first.
    since: Instant,
    /// When the first change after the conversion was seen.
    first: Instant,
}

/// How the last conversion ended.
#[derive(Clone, Copy, Debug)]
struct Last {
    observed: ObjectDigest,
    /// When that was.
    at: Instant,
    /// How often the conversion of this snapshot has failed; 0: it succeeded.
    failures: u32,
}

/// What to do about a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// Nothing has changed since a successful conversion.
    Nothing,
    Now,
    /// Requeue after this time: changes are still arriving.
    In(Duration),
}

/// The pause after so many failures: half a minute for the first five minutes, then doubling.
fn retry_delay(failures: u32) -> Duration {
    let doubled = failures.saturating_sub(MAX_QUICK_RETRIES).min(4);
    (FALLBACK_INTERVAL * 2_u32.pow(doubled)).min(MAX_RETRY_DELAY)
}

fn due_in(rest: Duration) -> Due {
    match rest {
        Duration::ZERO => Due::Now,
        rest => Due::In(rest),
    }
}

// === impl Schedule ===

impl Schedule {
    /// What to do for a snapshot with this digest.
    ///
    /// A first change is converted at once. Only changes soon after a conversion wait for a pause.
    pub fn due(&self, key: &NamespacedName, observed: ObjectDigest, now: Instant) -> Due {
        let mut deployments = self.deployments.lock();
        let Some(known) = deployments.get_mut(key) else {
            return Due::Now;
        };
        let Some(last) = known.last else { return Due::Now };
        let passed = now.saturating_duration_since(last.at);
        if last.observed == observed {
            known.other = None;
            return match last.failures {
                0 => Due::Nothing,
                // Retried although the snapshot is the same: what it does not cover may have changed, such as an image
                // or a quota.
                failures => due_in(retry_delay(failures).saturating_sub(passed)),
            };
        }
        if known.other.is_none() && (passed >= MIN_CONVERSION_INTERVAL || last.failures > 0) {
            return Due::Now;
        }
        let other = known.other.filter(|other| other.digest == observed);
        let changing = Changing {
            digest: observed,
            since: other.map_or(now, |other| other.since),
            first: known.other.map_or(now, |other| other.first),
        };
        known.other = Some(changing);
        let until = (changing.since + CHANGE_PAUSE_DELAY).min(changing.first + MAX_CHANGE_DELAY);
        due_in(until.saturating_duration_since(now))
    }

    /// A conversion begins.
    pub fn record_begin(&self, key: &NamespacedName) {
        self.deployments.lock().entry(key.clone()).or_default().forgets_failure = false;
    }

    /// The conversion of this snapshot has ended. Returns when to retry it, if it has failed.
    pub fn record_end(
        &self,
        key: &NamespacedName,
        observed: ObjectDigest,
        has_failed: bool,
        at: Instant,
    ) -> Option<Duration> {
        let mut failures = 0;
        self.set(key, |known| {
            if has_failed {
                let before = known.last.filter(|last| last.observed == observed);
                failures = before.map_or(0, |last| last.failures).saturating_add(1);
            }
            let is_kept = !has_failed || !known.forgets_failure;
            is_kept.then_some(Last { observed, at, failures })
        });
        has_failed.then(|| retry_delay(failures))
    }

    /// Forgets the last outcome, so that the next reconcile converts.
    pub fn forget_outcome(&self, key: &NamespacedName) {
        self.set(key, |_| None);
    }

    /// Forgets a failed outcome, also that of a conversion that runs now, so that the next reconcile converts.
    pub fn forget_failure(&self, key: &NamespacedName) {
        self.set(key, |known| {
            known.forgets_failure = true;
            known.last.filter(|last| last.failures == 0)
        });
    }

    fn set(&self, key: &NamespacedName, last: impl FnOnce(&mut Remembered) -> Option<Last>) {
        let mut deployments = self.deployments.lock();
        let known = deployments.entry(key.clone()).or_default();
        known.last = last(known);
        known.other = None;
    }

    /// The deployment is deleted.
    pub fn forget(&self, key: &NamespacedName) {
        self.deployments.lock().remove(key);
    }

    /// The status of this version of the object was replaced.
    pub fn record_replaced(&self, key: &NamespacedName, version: Option<String>) {
        let mut deployments = self.deployments.lock();
        deployments.entry(key.clone()).or_default().replaced = version;
    }

    /// Whether the status of this version was replaced since: the watch event with the new version is on its way.
    pub fn is_replaced(&self, key: &NamespacedName, version: Option<&String>) -> bool {
        let deployments = self.deployments.lock();
        let replaced = deployments.get(key).and_then(|known| known.replaced.as_ref());
        replaced.is_some() && replaced == version
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> NamespacedName {
        ("n".into(), "d".into())
    }

    fn digest(text: &str) -> ObjectDigest {
        ObjectDigest::of_bytes(text.as_bytes())
    }

    impl Schedule {
        fn good(&self, key: &NamespacedName, observed: ObjectDigest, now: Instant) {
            assert_eq!(self.record_end(key, observed, false, now), None);
        }

        fn bad(&self, key: &NamespacedName, observed: ObjectDigest, now: Instant) -> Duration {
            self.record_end(key, observed, true, now).unwrap()
        }
    }

    #[test]
    fn what_never_succeeded_is_always_due() {
        let schedule = Schedule::default();
        let now = Instant::now();
        assert_eq!(schedule.due(&key(), digest("a"), now), Due::Now);
        schedule.good(&key(), digest("a"), now);
        assert_eq!(schedule.due(&key(), digest("a"), now), Due::Nothing);
        schedule.forget_outcome(&key());
        assert_eq!(schedule.due(&key(), digest("a"), now), Due::Now);
    }

    #[test]
    fn a_change_is_due_at_once_and_those_that_follow_wait_for_a_pause() {
        let schedule = Schedule::default();
        let start = Instant::now();
        schedule.good(&key(), digest("0"), start);
        let later = start + MIN_CONVERSION_INTERVAL;
        assert_eq!(schedule.due(&key(), digest("1"), later), Due::Now);
        schedule.good(&key(), digest("1"), later);
        let step = CHANGE_PAUSE_DELAY / 2;
        for nth in 2..12_u32 {
            let due = schedule.due(&key(), digest(&nth.to_string()), later + step * nth);
            assert_eq!(due, Due::In(CHANGE_PAUSE_DELAY), "{nth}");
        }
        let last = later + step * 11;
        assert_eq!(schedule.due(&key(), digest("11"), last + step), Due::In(step));
        assert_eq!(schedule.due(&key(), digest("11"), last + CHANGE_PAUSE_DELAY), Due::Now);
    }

    #[test]
    fn changes_that_never_pause_are_not_put_off_for_ever() {
        let schedule = Schedule::default();
        let start = Instant::now();
        schedule.good(&key(), digest("0"), start);
        let step = Duration::from_millis(500);
        let waited =
            (1..100_u32).find(|nth| schedule.due(&key(), digest(&nth.to_string()), start + step * *nth) == Due::Now);
        assert_eq!(waited, Some(21));
    }

    #[test]
    fn what_fails_waits_longer_and_longer_unless_something_changes() {
        let schedule = Schedule::default();
        let mut now = Instant::now();
        let mut pauses = Vec::new();
        for _ in 0..15 {
            let pause = schedule.bad(&key(), digest("a"), now);
            assert_eq!(schedule.due(&key(), digest("a"), now + pause / 2), Due::In(pause / 2));
            assert_eq!(schedule.due(&key(), digest("b"), now), Due::Now);
            now += pause;
            assert_eq!(schedule.due(&key(), digest("a"), now), Due::Now);
            pauses.push(pause.as_secs());
        }
        assert_eq!(pauses[..10], [30; 10]);
        assert_eq!(pauses[10..], [60, 120, 240, 300, 300]);
        assert_eq!(
            schedule.bad(&key(), digest("b"), now),
            FALLBACK_INTERVAL,
            "another mistake"
        );
        schedule.good(&key(), digest("b"), now);
        assert_eq!(schedule.bad(&key(), digest("b"), now), FALLBACK_INTERVAL);
    }

    #[test]
    fn a_failure_for_what_has_changed_since_is_not_waited_for() {
        let (schedule, now) = (Schedule::default(), Instant::now());
        schedule.record_begin(&key());
        schedule.forget_failure(&key());
        schedule.bad(&key(), digest("a"), now);
        assert_eq!(schedule.due(&key(), digest("a"), now), Due::Now);
        schedule.record_begin(&key());
        schedule.bad(&key(), digest("a"), now);
        assert_eq!(schedule.due(&key(), digest("a"), now), Due::In(FALLBACK_INTERVAL));
    }

    #[test]
    fn a_replaced_version_stays_known_while_the_outcome_is_open() {
        let schedule = Schedule::default();
        schedule.record_replaced(&key(), Some("7".into()));
        schedule.forget_outcome(&key());
        assert!(schedule.is_replaced(&key(), Some(&"7".into())));
    }

    #[test]
    fn what_is_deleted_is_forgotten() {
        let schedule = Schedule::default();
        schedule.good(&key(), digest("a"), Instant::now());
        schedule.record_replaced(&key(), Some("7".into()));
        assert!(schedule.is_replaced(&key(), Some(&"7".into())) && !schedule.is_replaced(&key(), Some(&"8".into())));
        schedule.forget(&key());
        assert!(schedule.deployments.lock().is_empty());
    }
}
