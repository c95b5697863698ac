//! The watches of ConfigMaps with plugins, and of approvals if these are required.

mod follow;

use super::approval::{Approved, PluginUpdates};
use super::marks;
use boson_cluster::changes::Changes;
use boson_cluster::client::{Cluster, Error, WatchBackoff, api};
use boson_cluster::serving::{Health, PartName, State};
use follow::Listing;
use futures::StreamExt;
use futures::future::join_all;
use kube::Resource;
use kube::core::NamespaceResourceScope;
use kube::runtime::watcher::{Config, Event};
use kube::runtime::{WatchStreamExt, watcher};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::pin::pin;

/// Names of these parts in the health report.
const PLUGINS_PART: &str = "plugins";
const APPROVALS_PART: &str = "plugin approvals";

/// The state of the watches.
#[derive(Debug, Default)]
pub(super) struct Followed {
    pub listing: Mutex<Listing>,
    pub approved: Mutex<Approved>,
    pub changes: Changes,
}

// === impl Followed ===

impl Followed {
    /// Watches these namespaces, or all, for ever. Without required approvals, the operator needs neither their
    /// definition nor a permission for them.
    pub async fn follow(
        &self,
        cluster: &Cluster,
        namespaces: &[Option<String>],
        health: &Health,
        updates: PluginUpdates,
    ) {
        let maps = namespaces.iter().enumerate().map(|(nth, namespace)| {
            let selector = Config::default().labels(marks::PLUGIN);
            let take = move |event| self.listing.lock().take(nth, namespace.as_deref(), event);
            self.watch(cluster, namespace, selector, PLUGINS_PART, health, take)
        });
        let approvals = namespaces.iter().enumerate().map(|(nth, namespace)| {
            let take = move |event| self.approved.lock().take(nth, namespace.as_deref(), event);
            self.watch(cluster, namespace, Config::default(), APPROVALS_PART, health, take)
        });
        match updates {
            PluginUpdates::Automatic => drop(join_all(maps).await),
            PluginUpdates::Approve => drop(futures::join!(join_all(maps), join_all(approvals))),
        }
    }

    /// Watches a kind. `take` returns whether an event has changed anything.
    async fn watch<K>(
        &self,
        cluster: &Cluster,
        namespace: &Option<String>,
        selector: Config,
        part: &str,
        health: &Health,
        take: impl Fn(Event<K>) -> bool,
    ) where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + DeserializeOwned
            + Debug
            + Send
            + 'static,
    {
        let name = PartName {
            namespace: namespace.clone(),
            ..PartName::from(part)
        };
        health.set(name.clone(), State::Starting);
        let events = watcher(api::<K>(&cluster.client(), namespace), selector).backoff(WatchBackoff::default());
        let mut events = pin!(events);
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => {
                    if matches!(event, Event::InitDone) {
                        health.set(name.clone(), State::Working);
                    }
                    if take(event) {
                        self.changes.notify();
                    }
                }
                Err(error) => match Error::of_watch(&error) {
                    Some(error) => {
                        tracing::warn!(namespace, %error, "cannot watch {part}");
                        health.problem(name.clone(), error.to_string());
                    }
                    None => tracing::debug!(%error, "a watch of {part} was interrupted"),
                },
            }
        }
    }
}
