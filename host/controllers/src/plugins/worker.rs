//! Keeps the registry up to date: reads what is new, and loads one plugin at a time, because a compilation uses a
//! processor and a gigabyte. Plugins are read while another one is being compiled, and deployments keep using what is
//! loaded.

use super::fault::Fault;
use super::follow::Plugin;
use super::gather::{self, Described, Gathered};
use super::marks::{DOCUMENT, IN_PODS};
use super::queue::{Queue, Queued};
use super::registry::{Entry, Good, Key, Registry, State};
use super::sources::{self, PluginSources};
use super::{Followed, Plugins};
use crate::conversion::{Package, PluginHost, Settings};
use boson_cluster::client::{Cluster, Error};
use boson_cluster::namespaces::Scope;
use boson_pipeline::{Diagnostic, Stage};
use futures::FutureExt;
use futures::future::{BoxFuture, OptionFuture};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// Until the retry of a plugin whose ConfigMaps could not be read.
const AGAIN: Duration = Duration::from_secs(5);

/// Loads plugins.
pub(super) struct Worker<'a> {
    pub plugins: &'a Plugins,
    pub cluster: &'a Cluster,
    pub host: &'a Arc<dyn PluginHost>,
    pub scope: &'a Scope,
    pub followed: &'a Followed,
    pub watches: usize,
    pub sources: PluginSources,
}

/// State between two passes.
#[derive(Default)]
struct Progress {
    /// By ConfigMap: the version that was read last.
    read: BTreeMap<Key, String>,
    queue: Queue,
}

/// Everything that the watches have listed.
struct Listed {
    /// The namespaces that are served.
    namespaces: HashSet<String>,
    plugins: BTreeMap<Key, Plugin>,
}

/// The result of loading a plugin.
struct Loaded {
    queued: Queued,
    result: Result<Option<Result<Good, Fault>>, Error>,
}

// === impl Worker ===

impl Worker<'_> {
    /// Runs for ever.
    pub async fn run(&self) {
        let mut changes = self.followed.changed.subscribe();
        let mut progress = Progress::default();
        let mut loading: Option<BoxFuture<'_, Loaded>> = None;
        let mut failed = false;
        loop {
            let again = failed.then(|| tokio::time::sleep(AGAIN));
            let loaded = tokio::select! {
                changed = changes.changed() => match changed {
                    Ok(()) => None,
                    Err(_) => return,
                },
                Some(()) = OptionFuture::from(again) => None,
                Some(loaded) = OptionFuture::from(loading.as_mut()) => Some(loaded),
            };
            match loaded {
                Some(loaded) => {
                    loading = None;
                    failed |= !self.finish(loaded, &mut progress);
                }
                None => failed = !self.pass(&mut progress).await,
            }
            if loading.is_none() {
                loading = progress.queue.pop().map(|queued| self.load(queued).boxed());
            }
        }
    }

    /// Reads everything that is new. False if some of it could not be read.
    async fn pass(&self, progress: &mut Progress) -> bool {
        let Some(Listed { namespaces, plugins }) = self.listed() else {
            return true;
        };
        progress.read.retain(|key, _| plugins.contains_key(key));
        progress.queue.retain(|key| plugins.contains_key(key));
        let mut registry = Registry::clone(&self.plugins.now());
        let before = registry.entries.len();
        registry.entries.retain(|key, _| plugins.contains_key(key));
        let mut changed = before != registry.entries.len();
        if changed {
            // There may be enough memory for these now.
            let lacking = registry.entries.iter().filter(|(_, entry)| entry.lacks_memory());
            lacking.for_each(|(key, _)| drop(progress.read.remove(key)));
        }
        let mut unread = BTreeSet::new();
        let refused = sources::refused(self.sources, &self.plugins.operator_namespace, &plugins);
        for (key, plugin) in plugins {
            let refused = refused.get(&key);
            let version = refused.map_or(plugin.version.as_str(), |error| error.code.as_str());
            if progress.read.get(&key).is_some_and(|read| read == version) {
                continue;
            }
            match self.entry(&key, &plugin, refused, registry.entries.get(&key)).await {
                // It was deleted: a watch event will follow.
                Ok(None) => {}
                Ok(Some(entry)) => {
                    changed = true;
                    progress.read.insert(key.clone(), version.to_string());
                    match entry.is_loading() {
                        true => progress.queue.push(Queued {
                            key: key.clone(),
                            plugin,
                        }),
                        false => progress.queue.retain(|other| *other != key),
                    }
                    registry.entries.insert(key, entry);
                }
                Err(error) => {
                    tracing::warn!(plugin = %key, %error, "cannot be read; it is retried");
                    unread.insert(key.namespace);
                }
            }
        }
        let covered = self.covered(&namespaces, &unread, &registry.covered);
        if changed || covered != registry.covered {
            registry.covered = covered;
            self.publish(registry);
        }
        unread.is_empty()
    }

    /// The plugins of the served namespaces, once all of these are listed.
    fn listed(&self) -> Option<Listed> {
        let namespaces = self.scope.names()?;
        let listing = self.followed.listing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut plugins = listing.is_complete(self.watches).then(|| listing.plugins())?;
        plugins
            .retain(|key, _| *key.namespace == *self.plugins.operator_namespace || namespaces.contains(&key.namespace));
        Some(Listed { namespaces, plugins })
    }

    /// Namespaces whose plugins are all known. A newer version that cannot be read does not change that: the older one
    /// is used.
    fn covered(
        &self,
        namespaces: &HashSet<String>,
        unread: &BTreeSet<String>,
        before: &HashSet<String>,
    ) -> HashSet<String> {
        let all_unread = unread.contains(&*self.plugins.operator_namespace);
        let is_covered = |name: &&String| before.contains(*name) || !all_unread && !unread.contains(*name);
        namespaces.iter().filter(is_covered).cloned().collect()
    }

    /// The new entry of a plugin; none if it was deleted.
    async fn entry(
        &self,
        key: &Key,
        plugin: &Plugin,
        refused: Option<&Diagnostic>,
        old: Option<&Entry>,
    ) -> Result<Option<Entry>, Error> {
        if let Some(error) = refused {
            return Ok(Some(unread(key, plugin, error)));
        }
        let described = gather::describe(self.cluster, key, plugin).await?;
        Ok(described.map(|described| noted(key, plugin, &described, old)))
    }

    async fn load(&self, queued: Queued) -> Loaded {
        let result = self.good(&queued).await;
        Loaded { queued, result }
    }

    /// The loaded plugin, or why it is refused. None if it was deleted or changed meanwhile.
    async fn good(&self, Queued { key, plugin }: &Queued) -> Result<Option<Result<Good, Fault>>, Error> {
        // Read again: queued ConfigMaps are not held in memory.
        let Some(described) = gather::describe(self.cluster, key, plugin).await? else {
            return Ok(None);
        };
        let (Ok(document), Some(stage)) = (described.document.clone(), described.stage) else {
            return Ok(None);
        };
        let sources = described.sources.clone();
        let gathered = gather::gather(self.cluster, key, plugin, described, document.parts).await?;
        let loaded = match gathered {
            Ok(Gathered {
                parts,
                compressed,
                packed,
            }) => {
                let package = Package {
                    namespace: key.namespace.as_str().into(),
                    name: document.name.clone(),
                    stage,
                    wraps: document.wraps,
                    digest: document.digest.clone(),
                    parts,
                    compressed,
                    settings: Settings {
                        tree: document.settings.clone(),
                        document: format!("configmap/{}/{DOCUMENT}", key.name),
                    },
                };
                self.host.load(package).await.map(|_| packed)
            }
            Err(error) => Err(vec![error]),
        };
        let name = format!("plugin '{}' (ConfigMap '{key}')", document.name);
        Ok(Some(match loaded {
            // Pods run the plugins of these stages, too: keep the bytes for them.
            Ok(packed) => Ok(Good {
                document,
                packed: IN_PODS.contains(&stage).then(|| Arc::new(packed)),
            }),
            Err(errors) => Err(Fault::of(&name, &errors, &sources)),
        }))
    }

    /// Records the result of loading. If the plugin has changed meanwhile, it is queued again. False if it could not be
    /// read.
    fn finish(&self, loaded: Loaded, progress: &mut Progress) -> bool {
        let Queued { key, plugin } = loaded.queued;
        let is_current = progress.read.get(&key) == Some(&plugin.version);
        let mut registry = Registry::clone(&self.plugins.now());
        let entry = registry.entries.get_mut(&key).filter(|_| is_current);
        match (loaded.result, entry) {
            (Ok(Some(Ok(good))), Some(entry)) => {
                tracing::info!(plugin = %key, name = good.document.name, digest = good.document.digest, "loaded");
                entry.good = Some(good);
                entry.state = State::Fine;
            }
            (Ok(Some(Err(fault))), Some(entry)) => {
                tracing::warn!(plugin = %key, reason = fault.reason, "refused");
                entry.state = State::Refused(fault);
            }
            (Err(error), Some(_)) => {
                tracing::warn!(plugin = %key, %error, "cannot be read; it is retried");
                progress.read.remove(&key);
                return false;
            }
            _ => {}
        }
        self.publish(registry);
        true
    }

    fn publish(&self, registry: Registry) {
        let (loaded, refused) = registry.counts();
        let metrics = self.cluster.metrics();
        metrics.plugins_loaded.set(loaded);
        metrics.plugins_refused.set(refused);
        self.host.keep(&registry.digests());
        self.plugins.publish(registry);
    }
}

/// The entry of a plugin whose first ConfigMap was read. The last good version stays.
fn noted(key: &Key, plugin: &Plugin, described: &Described, old: Option<&Entry>) -> Entry {
    let good = old.and_then(|old| old.good.clone());
    let state = match &described.document {
        // Even if the description is the same: parts that no longer match it would be found only after a restart, when
        // the last good ones are lost. The last good version is used meanwhile.
        Ok(_) => State::Loading {
            since: old.and_then(Entry::since).unwrap_or_else(Instant::now),
        },
        Err(errors) => {
            let fault = Fault::of(&format!("ConfigMap '{key}'"), errors, &described.sources);
            tracing::warn!(plugin = %key, reason = fault.reason, "refused");
            State::Refused(fault)
        }
    };
    Entry {
        created: plugin.created,
        stage: described.stage,
        present: described.document.clone().ok(),
        state,
        good,
    }
}

/// The entry of a plugin that is refused before it is read.
fn unread(key: &Key, plugin: &Plugin, error: &Diagnostic) -> Entry {
    Entry {
        created: plugin.created,
        stage: Stage::named(&plugin.label),
        present: None,
        state: State::Refused(Fault::one(&format!("ConfigMap '{key}'"), error)),
        good: None,
    }
}
