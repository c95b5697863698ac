//! What the controller remembers of a deployment between two reconciles, so that a pod that comes or goes costs no
//! request. Nothing is lost with it: an operator that starts reads each Secret and checks each workload once.

use super::consumed::LinkName;
use boson_cluster::client::NamespacedName;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

/// Until workloads with outdated pods are checked again: a user may have undone their rollout.
pub(super) const RECHECK_INTERVAL: Duration = Duration::from_secs(300);

/// The content of a link, in one version of its Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Content {
    /// Resource version of the Secret.
    pub version: String,
    /// Not keyed; it never leaves the process.
    pub digest: [u8; 32],
}

/// The contents of the links that pods ask for; those that do not exist are left out.
pub(super) type Contents = BTreeMap<LinkName, Content>;

/// Workloads, and pods without one, by UID: the content of their links for which everything was done.
pub(super) type Settled = BTreeMap<String, String>;

/// What is remembered of a deployment.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub contents: Contents,
    pub settled: Settled,
    /// When the first workload was settled.
    since: Option<Instant>,
}

/// What is remembered of all deployments.
#[derive(Debug, Default)]
pub(super) struct Memory(Mutex<HashMap<NamespacedName, Known>>);

// === impl Known ===

impl Known {
    /// Forgets settled workloads after [`RECHECK_INTERVAL`].
    pub fn expire(&mut self, now: Instant) {
        if self
            .since
            .is_some_and(|since| now.duration_since(since) >= RECHECK_INTERVAL)
        {
            self.settled.clear();
        }
        if self.settled.is_empty() {
            self.since = None;
        }
    }

    /// Everything was done for this content of the links of a workload.
    pub fn record(&mut self, uid: String, digest: String, now: Instant) {
        self.since.get_or_insert(now);
        self.settled.insert(uid, digest);
    }
}

// === impl Memory ===

impl Memory {
    /// Takes what is known of a deployment. Only one reconcile of a deployment runs at a time.
    pub fn take(&self, namespace: &str, name: &str) -> Known {
        let mut all = self.0.lock();
        all.remove(&(namespace.into(), name.into())).unwrap_or_default()
    }

    pub fn put(&self, namespace: &str, name: &str, known: Known) {
        let mut all = self.0.lock();
        all.insert((namespace.into(), name.into()), known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_are_checked_again_after_some_minutes() {
        let (mut known, began) = (Known::default(), Instant::now());
        known.record("a".into(), "d".into(), began);
        known.record("b".into(), "d".into(), began + RECHECK_INTERVAL / 2);
        known.expire(began + RECHECK_INTERVAL / 2);
        assert_eq!(known.settled.len(), 2);
        known.expire(began + RECHECK_INTERVAL);
        assert!(known.settled.is_empty());
        known.record("a".into(), "d".into(), began + RECHECK_INTERVAL);
        known.expire(began + RECHECK_INTERVAL + RECHECK_INTERVAL / 2);
        assert_eq!(known.settled.len(), 1, "a later rollout has its own time");
    }
}
