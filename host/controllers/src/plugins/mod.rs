//! Plugins from ConfigMaps: followed, loaded and dropped while the operator runs.
//!
//! ```text
//! watches (names, versions) -> listing -> worker: read, pull if it is in an image (four at a time),
//!     queue (namespaces take turns), load (one at a time) -> registry -> select (pure), for one deployment
//! ```
#![allow(
    clippy::result_large_err,
    reason = "errors are diagnostics, as everywhere in the pipeline, and rare"
)]

mod copies;
mod document;
mod fault;
mod follow;
mod gather;
pub mod history;
mod image;
mod load;
mod marks;
mod pack;
mod pull;
mod queue;
mod registry;
mod retries;
mod selection;
mod sources;
mod worker;

#[cfg(test)]
mod tests;

pub(crate) use copies::{Copies, copies, is_unused};
pub(crate) use fault::Fault;
pub(crate) use marks::COPY;
pub use marks::NO_MEMORY;
pub use pack::{Packing, pack, parts};
pub(crate) use selection::{Asking, Pick, Selection, Waiting, select};
pub use sources::{PluginPolicy, PluginSources};

use crate::conversion::{Components, PluginHost};
use boson_cluster::client::api;
use boson_cluster::client::{Cluster, Error, WatchBackoff};
use boson_cluster::namespaces::{Namespaces, Scope};
use boson_cluster::serving::{Health, State};
use follow::Listing;
use futures::{Stream, StreamExt, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::PartialObjectMeta;
use kube::runtime::{WatchStreamExt, watcher};
use registry::Registry;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use tokio::sync::watch;

/// Name of this part in the health report.
const PART: &str = "plugins";

/// The present plugins.
#[derive(Clone)]
pub(crate) struct Plugins {
    /// Plugins of this namespace may be used in all namespaces.
    pub operator_namespace: Arc<str>,
    policy: PluginPolicy,
    registry: Arc<RwLock<Arc<Registry>>>,
    changed: Arc<watch::Sender<()>>,
}

// === impl Plugins ===

impl Plugins {
    /// Without plugins, before anything is listed.
    pub fn new(operator_namespace: &str, policy: PluginPolicy) -> Self {
        Self {
            operator_namespace: operator_namespace.into(),
            policy,
            registry: Arc::default(),
            changed: Arc::new(watch::Sender::new(())),
        }
    }

    /// The present plugins.
    pub fn now(&self) -> Arc<Registry> {
        self.registry.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// An item each time that they change.
    pub fn changes(&self) -> impl Stream<Item = ()> + Send + use<> {
        stream::unfold(self.changed.subscribe(), |mut receiver| async move {
            receiver.changed().await.ok().map(|()| ((), receiver))
        })
    }

    fn publish(&self, registry: Registry) {
        self.replace(registry);
        self.changed.send_replace(());
    }

    /// Replaces them without notice: nothing has changed that a deployment depends on.
    fn replace(&self, registry: Registry) {
        *self.registry.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(registry);
    }

    /// Watches and loads them, for ever.
    pub async fn run(
        &self,
        cluster: &Cluster,
        host: &Arc<dyn PluginHost>,
        components: &Arc<dyn Components>,
        namespaces: &Namespaces,
        scope: &Scope,
        health: &Health,
    ) {
        health.set(PART, State::Starting);
        let watched: Vec<Option<String>> = match namespaces {
            Namespaces::Monitored(_) => vec![None],
            Namespaces::Fixed(names) => {
                let mut names = names.clone();
                names.insert(self.operator_namespace.to_string());
                names.into_iter().map(Some).collect()
            }
        };
        let followed = Followed::default();
        let watches = watched.len();
        let following = watched
            .iter()
            .enumerate()
            .map(|(nth, namespace)| follow(cluster, nth, namespace, &followed, health));
        let worker = worker::Worker {
            plugins: self,
            cluster,
            scope,
            followed: &followed,
            watches,
            puller: pull::Puller {
                cluster,
                components,
                pinned: self.policy.pinned,
            },
            loader: load::Loader {
                cluster,
                components,
                host,
            },
            sources: self.policy.sources,
        };
        // A newly served namespace may have plugins.
        let widened = scope.changes().for_each(|()| {
            followed.changed.send_replace(());
            std::future::ready(())
        });
        futures::join!(futures::future::join_all(following), worker.run(), widened);
    }
}

/// The state of the watches.
#[derive(Debug)]
struct Followed {
    listing: Mutex<Listing>,
    changed: watch::Sender<()>,
}

impl Default for Followed {
    fn default() -> Self {
        Self {
            listing: Mutex::default(),
            changed: watch::Sender::new(()),
        }
    }
}

async fn follow(cluster: &Cluster, nth: usize, namespace: &Option<String>, followed: &Followed, health: &Health) {
    let selector = watcher::Config::default().labels(marks::PLUGIN);
    let maps = api::<PartialObjectMeta<ConfigMap>>(&cluster.client(), namespace);
    let events = watcher(maps, selector).backoff(WatchBackoff::default());
    let mut events = pin!(events);
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => {
                if matches!(event, watcher::Event::InitDone) {
                    health.set(PART, State::Working);
                }
                let mut listing = followed.listing.lock().unwrap_or_else(PoisonError::into_inner);
                if listing.take(nth, namespace.as_deref(), event) {
                    followed.changed.send_replace(());
                }
            }
            Err(error) => match Error::of_watch(&error) {
                Some(error) => {
                    tracing::warn!(%error, "cannot watch ConfigMaps with plugins");
                    health.trouble(PART, error.to_string());
                }
                None => tracing::debug!(%error, "a watch of ConfigMaps with plugins was interrupted"),
            },
        }
    }
}
