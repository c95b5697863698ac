//! Counts of objects by state, and the earliest of their expiry times: stored by object, exported only in total.

use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use std::collections::HashMap;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct Readiness {
    pub ready: &'static str,
}

/// Objects that are ready, and objects that are not.
#[derive(Debug, Default)]
pub struct Tally {
    known: Mutex<HashMap<String, bool>>,
    shown: Family<Readiness, Gauge>,
}

/// The earliest expiry of many objects.
#[derive(Debug, Default)]
pub struct Earliest {
    known: Mutex<HashMap<String, i64>>,
    shown: Family<Of, Gauge>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct Of {
    /// Always `deployments`: without a label, the metric would be 0 if there are none.
    pub of: &'static str,
}

const DEPLOYMENTS: Of = Of { of: "deployments" };

// === impl Tally ===

impl Tally {
    pub(super) fn new(shown: Family<Readiness, Gauge>) -> Self {
        let known = Mutex::default();
        Self { known, shown }
    }

    /// Sets whether an object is ready; none: it is deleted.
    pub fn set(&self, key: &str, ready: Option<bool>) {
        let mut known = self.known.lock();
        match ready {
            Some(ready) => known.insert(key.to_string(), ready),
            None => known.remove(key),
        };
        for (ready, word) in [(true, "true"), (false, "false")] {
            let count = known.values().filter(|one| **one == ready).count();
            let gauge = self.shown.get_or_create_owned(&Readiness { ready: word });
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
    }
}

// === impl Earliest ===

impl Earliest {
    pub(super) fn new(shown: Family<Of, Gauge>) -> Self {
        let known = Mutex::default();
        Self { known, shown }
    }

    /// Sets when an object expires, in seconds since 1970; none: it does not, or is deleted.
    pub fn set(&self, key: &str, end: Option<i64>) {
        let mut known = self.known.lock();
        match end {
            Some(end) => known.insert(key.to_string(), end),
            None => known.remove(key),
        };
        match known.values().min() {
            Some(end) => {
                self.shown.get_or_create_owned(&DEPLOYMENTS).set(*end);
            }
            None => {
                self.shown.remove(&DEPLOYMENTS);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_counted_by_their_last_state() {
        let tally = Tally::default();
        let count = |ready| tally.shown.get_or_create_owned(&Readiness { ready }).get();
        tally.set("n/a", Some(false));
        tally.set("n/b", Some(true));
        tally.set("n/a", Some(true));
        assert_eq!((count("true"), count("false")), (2, 0));
        tally.set("n/a", None);
        assert_eq!((count("true"), count("false")), (1, 0));
    }

    #[test]
    fn the_first_end_counts_and_there_may_be_none() {
        let earliest = Earliest::default();
        earliest.set("n/a", Some(7));
        earliest.set("n/b", Some(5));
        assert_eq!(earliest.shown.get(&DEPLOYMENTS).map(|gauge| gauge.get()), Some(5));
        earliest.set("n/b", None);
        assert_eq!(earliest.shown.get(&DEPLOYMENTS).map(|gauge| gauge.get()), Some(7));
        earliest.set("n/a", None);
        assert!(earliest.shown.get(&DEPLOYMENTS).is_none());
    }
}
