//! Keeps the registry up to date: reads what is new, and loads one plugin at a time, because a compilation takes a processor and a gigabyte. Plugins
//! are read while another one is being compiled, and deployments go on with what is loaded.

use super::fault::Fault;
use super::follow::Plugin;
use super::gather::{self, Described, Gathered};
use super::marks::{DOCUMENT, IN_PODS, MAX_IN_NAMESPACE, MAX_PLUGINS};
use super::queue::{Queue, Queued};
use super::registry::{Entry, Good, Key, Registry, State};
use super::{Followed, Plugins};
use crate::client::{Cluster, Error};
use crate::conversion::{Package, PluginHost, Settings};
use crate::scope::Scope;
use boson_pipeline::{Diagnostic, Stage};
use futures::FutureExt;
use futures::future::{BoxFuture, OptionFuture};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// Before a plugin is tried again whose ConfigMaps could not be read.
const AGAIN: Duration = Duration::from_secs(5);

/// Loads plugins.
pub(super) struct Worker<'a> {
    pub plugins: &'a Plugins,
    pub cluster: &'a Cluster,
    pub host: &'a Arc<dyn PluginHost>,
    pub scope: &'a Scope,
    pub followed: &'a Followed,
    pub watches: usize,
}

/// What is known from one pass to the next.
#[derive(Default)]
struct Progress {
    /// By ConfigMap: the version that was read last.
    read: BTreeMap<Key, String>,
    queue: Queue,
}

/// Everything that is there.
struct Listed {
    /// The namespaces that are served.
    namespaces: HashSet<String>,
    plugins: BTreeMap<Key, Plugin>,
}

/// What came of loading a plugin.
struct Loaded {
    queued: Queued,
    result: Result<Option<Result<Good, Fault>>, Error>,
}

// === impl Worker ===

impl Worker<'_> {
    /// For ever.
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

    /// Reads everything that is new. False: some of it could not be read.
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
            // There may be memory for those now.
            let lacking = registry.entries.iter().filter(|(_, entry)| entry.lacks_memory());
            lacking.for_each(|(key, _)| drop(progress.read.remove(key)));
        }
        let mut unread = BTreeSet::new();
        let crowded = crowded(&plugins);
        for (key, plugin) in plugins {
            let is_crowded = crowded.contains(&key);
            let version = match is_crowded {
                true => "crowded",
                false => plugin.version.as_str(),
            };
            if progress.read.get(&key).is_some_and(|read| read == version) {
                continue;
            }
            match self.entry(&key, &plugin, is_crowded, registry.entries.get(&key)).await {
                // It is gone: a watch event is about to say so.
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
                    tracing::warn!(plugin = %key, %error, "cannot be read; tried again");
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

    /// What the watches know of the namespaces that are served, once all of these are known.
    fn listed(&self) -> Option<Listed> {
        let namespaces = self.scope.names()?;
        let listing = self.followed.listing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut plugins = listing.is_complete(self.watches).then(|| listing.plugins())?;
        plugins
            .retain(|key, _| *key.namespace == *self.plugins.operator_namespace || namespaces.contains(&key.namespace));
        Some(Listed { namespaces, plugins })
    }

    /// Namespaces of which all plugins are known. One stays so where a newer version of a plugin cannot be read: the older one is used.
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

    /// The entry of a plugin as it is now; none if it is gone.
    async fn entry(
        &self,
        key: &Key,
        plugin: &Plugin,
        is_crowded: bool,
        old: Option<&Entry>,
    ) -> Result<Option<Entry>, Error> {
        if is_crowded {
            return Ok(Some(too_many(key, plugin)));
        }
        let described = gather::describe(self.cluster, key, plugin).await?;
        Ok(described.map(|described| noted(key, plugin, &described, old)))
    }

    async fn load(&self, queued: Queued) -> Loaded {
        let result = self.good(&queued).await;
        Loaded { queued, result }
    }

    /// The plugin, ready for use, or why it is refused. None: it is not there any more, or not as it was.
    async fn good(&self, Queued { key, plugin }: &Queued) -> Result<Option<Result<Good, Fault>>, Error> {
        // Again: queued ConfigMaps are not held in memory.
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
            // Pods run the rules of these stages, too: the bytes are kept for them.
            Ok(packed) => Ok(Good {
                document,
                packed: IN_PODS.contains(&stage).then(|| Arc::new(packed)),
            }),
            Err(errors) => Err(Fault::of(&name, &errors, &sources)),
        }))
    }

    /// Takes in what came of loading, unless the plugin has changed meanwhile: then it is queued again. False: it could not be read.
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
                tracing::warn!(plugin = %key, %error, "cannot be read; tried again");
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

/// The entry of a plugin whose first ConfigMap was read. What was good before stays.
fn noted(key: &Key, plugin: &Plugin, described: &Described, old: Option<&Entry>) -> Entry {
    let good = old.and_then(|old| old.good.clone());
    let state = match &described.document {
        // Also where the description is as before: parts that no longer fit it would be found after a restart only, when the last good ones
        // are gone. What is good serves meanwhile.
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

/// Those above the number that may be there; the older ones are served.
fn crowded(plugins: &BTreeMap<Key, Plugin>) -> Vec<Key> {
    let mut keys: Vec<(&Key, &Plugin)> = plugins.iter().collect();
    keys.sort_by_key(|(key, plugin)| (plugin.created, *key));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut crowded = Vec::new();
    let mut all = 0;
    for (key, _) in keys {
        let here = counts.entry(&key.namespace).or_default();
        if *here >= MAX_IN_NAMESPACE || all >= MAX_PLUGINS {
            crowded.push(key.clone());
        } else {
            *here += 1;
            all += 1;
        }
    }
    crowded
}

fn too_many(key: &Key, plugin: &Plugin) -> Entry {
    let what = format!("there may be {MAX_IN_NAMESPACE} plugins in a namespace, and {MAX_PLUGINS} altogether");
    let error = Diagnostic::error("plugin-too-many", what).help("delete ConfigMaps with plugins that nobody uses");
    Entry {
        created: plugin.created,
        stage: Stage::named(&plugin.label),
        present: None,
        state: State::Refused(Fault::one(&format!("ConfigMap '{key}'"), &error)),
        good: None,
    }
}
