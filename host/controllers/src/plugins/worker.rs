//! Loads plugins, one after the other: a compilation takes a processor and a gigabyte. Deployments go on meanwhile with what is loaded.

use super::fault::Fault;
use super::follow::Plugin;
use super::gather::{self, Described};
use super::marks::{IN_PODS, MAX_IN_NAMESPACE, MAX_PLUGINS};
use super::registry::{Entry, Good, Key, Registry, State};
use super::{Followed, Plugins};
use crate::client::{Cluster, Error};
use crate::conversion::{Package, Rules, Settings};
use crate::scope::Scope;
use boson_pipeline::{Diagnostic, Stage};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Before a plugin is tried again whose ConfigMaps could not be read.
const AGAIN: Duration = Duration::from_secs(5);

/// Loads plugins.
pub(super) struct Worker<'a> {
    pub plugins: &'a Plugins,
    pub cluster: &'a Cluster,
    pub rules: &'a Arc<dyn Rules>,
    pub scope: &'a Scope,
    pub followed: &'a Followed,
    pub watches: usize,
}

/// A plugin that has been read and is to be loaded.
struct Next {
    key: Key,
    plugin: Plugin,
    described: Described,
}

// === impl Worker ===

impl Worker<'_> {
    /// For ever.
    pub async fn run(&self) {
        let mut news = self.followed.news.subscribe();
        // By ConfigMap: the version that was looked at.
        let mut looked = BTreeMap::new();
        let mut failed = false;
        loop {
            let waiting = async {
                match failed {
                    true => tokio::time::sleep(AGAIN).await,
                    false => std::future::pending().await,
                }
            };
            tokio::select! {
                changed = news.changed() => if changed.is_err() { return },
                () = waiting => {}
            }
            failed = false;
            if let Err(error) = self.pass(&mut looked).await {
                tracing::warn!(%error, "plugins cannot be read; tried again");
                failed = true;
            }
        }
    }

    /// Looks at everything that is new.
    async fn pass(&self, looked: &mut BTreeMap<Key, String>) -> Result<(), Error> {
        let Some(listed) = self.listed() else { return Ok(()) };
        looked.retain(|key, _| listed.contains_key(key));
        let mut registry = Registry::clone(&self.plugins.now());
        let before = registry.entries.len();
        registry.entries.retain(|key, _| listed.contains_key(key));
        let mut changed = before != registry.entries.len() || !registry.listed;
        let (mut next, mut failed) = (Vec::new(), None);
        let crowded = crowded(&listed);
        for (key, plugin) in listed {
            let version = match crowded.contains(&key) {
                true => "crowded".to_string(),
                false => plugin.version.clone(),
            };
            if looked.get(&key) == Some(&version) {
                continue;
            }
            changed = true;
            if crowded.contains(&key) {
                registry.entries.insert(key.clone(), too_many(&key, &plugin));
                looked.insert(key, version);
                continue;
            }
            let described = match gather::describe(self.cluster, &key, &plugin).await {
                Ok(Some(described)) => described,
                // The watch is about to tell.
                Ok(None) => continue,
                Err(error) => {
                    failed = Some(error);
                    continue;
                }
            };
            let entry = noted(&key, &plugin, &described, registry.entries.get(&key));
            if matches!(entry.state, State::Loading) {
                next.push(Next {
                    key: key.clone(),
                    plugin,
                    described,
                });
            } else {
                looked.insert(key.clone(), version);
            }
            registry.entries.insert(key, entry);
        }
        registry.listed |= failed.is_none();
        if changed {
            self.publish(registry);
        }
        for one in next {
            let (key, version) = (one.key.clone(), one.plugin.version.clone());
            self.load(one).await?;
            looked.insert(key, version);
        }
        failed.map_or(Ok(()), Err)
    }

    /// What the watches know of the namespaces that are served, once they know all.
    fn listed(&self) -> Option<BTreeMap<Key, Plugin>> {
        let listing = self.followed.listing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut plugins = listing.is_complete(self.watches).then(|| listing.plugins())?;
        plugins.retain(|key, _| *key.namespace == *self.plugins.operator_namespace || self.scope.holds(&key.namespace));
        Some(plugins)
    }

    async fn load(&self, next: Next) -> Result<(), Error> {
        let (key, stage) = (next.key, next.described.stage);
        let (Ok(document), Some(stage)) = (next.described.document.clone(), stage) else {
            return Ok(());
        };
        let name = format!("plugin '{}' (ConfigMap '{key}')", document.name);
        let sources = next.described.sources.clone();
        let gathered = gather::gather(self.cluster, &key, &next.plugin, next.described, document.parts).await?;
        let loaded = match gathered {
            Ok(gathered) => {
                let package = Package {
                    name: document.name.clone(),
                    stage,
                    digest: document.digest.clone(),
                    parts: gathered.parts,
                    compressed: gathered.compressed,
                    settings: Settings {
                        tree: document.settings.clone(),
                        document: format!("configmap/{}/{}", key.name, super::marks::DOCUMENT),
                    },
                };
                // Pods run the rules of these stages, too: the bytes are kept for them.
                let packed = IN_PODS.contains(&stage).then(|| Arc::new(gathered.packed));
                self.rules.load(package).await.map(|_| Good { document, packed })
            }
            Err(error) => Err(vec![error]),
        };
        let mut registry = Registry::clone(&self.plugins.now());
        let Some(entry) = registry.entries.get_mut(&key) else {
            return Ok(());
        };
        match loaded {
            Ok(good) => {
                tracing::info!(plugin = name, digest = good.document.digest, "loaded");
                entry.good = Some(good);
                entry.state = State::Fine;
            }
            Err(errors) => {
                let fault = Fault::of(&name, &errors, &sources);
                tracing::warn!(plugin = name, reason = fault.reason, "refused");
                entry.state = State::Refused(fault);
            }
        }
        self.publish(registry);
        Ok(())
    }

    fn publish(&self, registry: Registry) {
        let (loaded, refused) = registry.counts();
        let metrics = self.cluster.metrics();
        metrics.plugins_loaded.set(loaded);
        metrics.plugins_refused.set(refused);
        self.rules.keep(&registry.digests());
        self.plugins.publish(registry);
    }
}

/// The entry of a plugin whose first ConfigMap was read. What was good before stays.
fn noted(key: &Key, plugin: &Plugin, described: &Described, old: Option<&Entry>) -> Entry {
    let good = old.and_then(|old| old.good.clone());
    let state = match &described.document {
        // Also where the description is as before: parts that no longer fit it would be found after a restart only, when the last good ones
        // are gone. What is good serves meanwhile.
        Ok(_) => State::Loading,
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
