//! What each deployment pulls images with: a change of these objects requeues it.

use super::Key;
use boson_api::BoshDeployment;
use kube::runtime::reflector::ObjectRef;
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap};

/// An object that a deployment pulls images with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    Secret(String),
    Account(String),
}

/// What each deployment pulled with at its last reconcile, by namespace and name: a change of these requeues it.
#[derive(Debug, Default)]
pub struct PullSources {
    all: Mutex<HashMap<Key, BTreeSet<Source>>>,
}

// === impl PullSources ===

impl PullSources {
    /// What a deployment pulls with now.
    pub fn remember(&self, key: Key, sources: BTreeSet<Source>) {
        let mut all = self.all.lock();
        all.insert(key, sources);
    }

    /// The deployment is deleted.
    pub fn forget(&self, key: &Key) {
        let mut all = self.all.lock();
        all.remove(key);
    }

    /// The deployments of a namespace that pull with this.
    pub fn users(&self, namespace: Option<String>, source: &Source) -> Vec<ObjectRef<BoshDeployment>> {
        let namespace = namespace.unwrap_or_default();
        let all = self.all.lock();
        all.iter()
            .filter(|((of, _), sources)| *of == namespace && sources.contains(source))
            .map(|((_, deployment), _)| ObjectRef::new(deployment).within(&namespace))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_requeues_the_deployments_that_pull_with_it() {
        let pulls = PullSources::default();
        let secret = Source::Secret("x".into());
        pulls.remember(("n".into(), "d".into()), [secret.clone()].into());
        let users = |namespace: &str, source: &Source| pulls.users(Some(namespace.into()), source).len();
        assert_eq!(users("n", &secret), 1);
        assert_eq!(users("m", &secret), 0);
        assert_eq!(users("n", &Source::Account("x".into())), 0);
        pulls.forget(&("n".into(), "d".into()));
        assert_eq!(users("n", &secret), 0);
    }
}
