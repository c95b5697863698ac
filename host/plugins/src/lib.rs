//! Plugins from ConfigMaps: followed, loaded and dropped while the operator runs.
//!
//! ```text
//! watches (names, versions) -> listing -> worker: read, pull if it is in an image (four at a time),
//!     queue (namespaces take turns), load (one at a time) -> registry -> select (pure), for one deployment
//! ```
pub mod approval;
mod canary;
pub mod codes;
mod document;
mod error;
mod gather;
pub mod history;
pub mod host;
mod image;
mod marks;
mod pack;
mod problem;
mod registry;
mod selection;
mod sources;
mod stops;
mod watched;
mod watches;
mod worker;

#[cfg(test)]
mod tests;

pub use approval::PluginUpdates;
pub use canary::Trial;
pub use codes::ALL as CODES;
pub use document::check as check_document;
pub use marks::COPY;
pub use marks::NO_MEMORY;
pub use pack::{Packing, pack, parts};
pub use problem::PluginProblem;
pub use selection::{Asking, Copies, Pick, Selection, Waiting, copies, is_unused, select};
pub use sources::{PluginPolicy, PluginSources};
pub use worker::Loader;

use boson_cluster::changes::Changes;
use boson_cluster::client::NamespacedName;
use boson_cluster::namespaces::{Namespaces, Scope};
use boson_cluster::serving::Health;
use boson_oci::Digest;
use boson_pipeline::bundle::Permissions;
use futures::StreamExt;
use parking_lot::RwLock;
use registry::Registry;
use std::collections::HashSet;
use std::sync::Arc;
use watches::Followed;

#[derive(Clone)]
pub struct Plugins {
    /// Plugins of this namespace may be used in all namespaces.
    pub operator_namespace: Arc<str>,
    policy: PluginPolicy,
    registry: Arc<RwLock<Arc<Registry>>>,
    pub changes: Changes,
    /// Conversions with canaries have ended.
    tried: Changes,
}

// === impl Plugins ===

impl Plugins {
    /// Without plugins, before anything is listed.
    pub fn new(operator_namespace: &str, policy: PluginPolicy) -> Self {
        Self {
            operator_namespace: operator_namespace.into(),
            policy,
            registry: Arc::default(),
            changes: Changes::default(),
            tried: Changes::default(),
        }
    }

    pub fn now(&self) -> Arc<Registry> {
        self.registry.read().clone()
    }

    /// Counts a conversion for the canaries among its plugins. `failures`: the plugins that failed in it. One that
    /// ended early for another reason says nothing about a canary.
    pub fn tried(&self, picks: &[Pick], deployment: &NamespacedName, failures: &[PluginProblem], is_complete: bool) {
        for pick in picks {
            let Some(trial) = &pick.trial else { continue };
            let failure = failures.iter().find(|one| pick.is_named_in(&one.message));
            if is_complete || failure.is_some() {
                trial.note(deployment.clone(), failure.map(|one| one.reason.clone()));
                self.tried.notify();
            }
        }
    }

    /// Replaces them, and then unloads the components that are not among these digests. In this order: who still
    /// selects from the earlier plugins, and does not find a component any more, can see that they were replaced.
    fn publish(&self, registry: Registry, keep: impl FnOnce(&HashSet<Digest>)) {
        let digests = registry.digests();
        self.replace(registry);
        keep(&digests);
        self.changes.notify();
    }

    /// Replaces them without notice: nothing has changed that a deployment depends on.
    fn replace(&self, registry: Registry) {
        *self.registry.write() = Arc::new(registry);
    }

    /// Watches and loads them, for ever.
    pub async fn run(
        &self,
        loader: Loader<'_>,
        namespaces: &Namespaces,
        scope: &Scope,
        health: &Health,
        permissions: &Permissions,
    ) {
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
        let following = followed.follow(loader.cluster, &watched, health, self.policy.updates);
        let worker = worker::Worker {
            plugins: self,
            scope,
            followed: &followed,
            watches,
            loader,
            policy: self.policy,
            reviewer: approval::Reviewer {
                updates: self.policy.updates,
                approved: &followed.approved,
                permissions,
                operator_namespace: &self.operator_namespace,
            },
        };
        let notify = |()| {
            followed.changes.notify();
            std::future::ready(())
        };
        // A newly served namespace may have plugins.
        let widened = scope.changes.follow().for_each(notify);
        // A canary may have to be stopped.
        let tried = self.tried.follow().for_each(notify);
        futures::join!(following, worker.run(), widened, tried);
    }
}
