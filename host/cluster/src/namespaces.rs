//! Which namespaces the operator serves: a fixed list, or those with the label `quarks.cloudfoundry.org/monitored: ID`.

use crate::changes::Changes;
use crate::client::{Cluster, Error, WatchBackoff};
use crate::serving::{Health, State};
use boson_manifest::labels;
use futures::StreamExt;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::core::PartialObjectMeta;
use kube::runtime::{WatchStreamExt, watcher};
use parking_lot::RwLock;
use std::collections::{BTreeSet, HashSet};
use std::pin::pin;
use std::sync::Arc;

/// Name of this part in the health report.
const PART_NAME: &str = "namespaces";

/// Which namespaces to serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Namespaces {
    /// These, with a Role in each: no cluster-scoped object is read.
    Fixed(BTreeSet<String>),
    /// All with this id in their label, present and future.
    Monitored(String),
}

/// The namespaces that are served now.
#[derive(Clone, Debug)]
pub struct Scope {
    /// None before the first complete list.
    names: Arc<RwLock<Option<HashSet<String>>>>,
    /// Label value of served namespaces; none for a fixed list.
    monitored_id: Option<Arc<str>>,
    pub changes: Changes,
}

// === impl Scope ===

impl Scope {
    /// A fixed list, or nothing until [`Self::follow`] has listed the namespaces.
    pub fn new(namespaces: &Namespaces) -> Self {
        let (names, monitored_id) = match namespaces {
            Namespaces::Fixed(names) => (Some(names.iter().cloned().collect()), None),
            Namespaces::Monitored(id) => (None, Some(id.as_str().into())),
        };
        Self {
            monitored_id,
            names: Arc::new(RwLock::new(names)),
            changes: Changes::default(),
        }
    }

    pub fn holds(&self, namespace: &str) -> bool {
        let names = self.names.read();
        names.as_ref().is_some_and(|names| names.contains(namespace))
    }

    /// All served namespaces; none before the first complete list.
    pub fn names(&self) -> Option<HashSet<String>> {
        self.names.read().clone()
    }

    /// Label value of served namespaces; none for a fixed list.
    pub fn monitored_id(&self) -> Option<&str> {
        self.monitored_id.as_deref()
    }

    /// Watches the labels, for ever.
    pub async fn follow(&self, cluster: &Cluster, id: &str, health: &Health) {
        health.set(PART_NAME, State::Starting);
        let api: Api<PartialObjectMeta<Namespace>> = Api::all(cluster.client());
        let selector = format!("{}={id}", labels::MONITORED);
        let events = watcher(api, watcher::Config::default().labels(&selector)).backoff(WatchBackoff::default());
        let mut events = pin!(events);
        let mut listed = HashSet::new();
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => {
                    if matches!(event, watcher::Event::InitDone) {
                        health.set(PART_NAME, State::Working);
                    }
                    self.take(event, &mut listed);
                }
                Err(error) => match Error::of_watch(&error) {
                    Some(error) => {
                        tracing::warn!(%error, "cannot watch namespaces");
                        health.problem(PART_NAME, error.to_string());
                    }
                    None => tracing::warn!(%error, "cannot watch namespaces"),
                },
            }
        }
    }

    /// `listed`: the namespaces so far of a list that is not complete yet.
    fn take(&self, event: watcher::Event<PartialObjectMeta<Namespace>>, listed: &mut HashSet<String>) {
        let name = |namespace: PartialObjectMeta<Namespace>| namespace.metadata.name.unwrap_or_default();
        let mut names = self.names.write();
        let changed = match event {
            watcher::Event::Init => {
                listed.clear();
                false
            }
            watcher::Event::InitApply(namespace) => {
                listed.insert(name(namespace));
                false
            }
            watcher::Event::InitDone => {
                let listed = Some(std::mem::take(listed));
                let changed = *names != listed;
                *names = listed;
                changed
            }
            watcher::Event::Apply(namespace) => names.as_mut().is_some_and(|names| names.insert(name(namespace))),
            watcher::Event::Delete(namespace) => names.as_mut().is_some_and(|names| names.remove(&name(namespace))),
        };
        drop(names);
        if changed {
            self.changes.notify();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use watcher::Event;

    fn namespace(name: &str) -> PartialObjectMeta<Namespace> {
        let mut meta = PartialObjectMeta::default();
        meta.metadata.name = Some(name.into());
        meta
    }

    #[test]
    fn a_new_list_counts_when_it_is_complete() {
        let scope = Scope::new(&Namespaces::Monitored("id".into()));
        let mut listed = HashSet::new();
        assert_eq!(scope.names(), None);
        scope.take(Event::Init, &mut listed);
        scope.take(Event::InitApply(namespace("old")), &mut listed);
        assert_eq!(scope.names(), None, "the list is not complete");
        scope.take(Event::InitDone, &mut listed);
        let mut changes = pin!(scope.changes.follow());
        assert_eq!(changes.next().now_or_never(), Some(Some(())));
        scope.take(Event::Init, &mut listed);
        scope.take(Event::InitApply(namespace("new")), &mut listed);
        assert!(
            scope.holds("old") && !scope.holds("new"),
            "an incomplete list must not drop served namespaces"
        );
        scope.take(Event::InitDone, &mut listed);
        assert!(!scope.holds("old") && scope.holds("new"));
        assert_eq!(changes.next().now_or_never(), Some(Some(())));
    }
}
