//! Records the versions of plugins in their namespaces, and keeps copies of the last ones. Only the leader does this.

use super::super::Plugins;
use super::super::gather::{self, MANAGER};
use super::super::marks::{CONTENT_OF, DOCUMENT, HISTORY, KEPT, PART_OF, PLUGIN, with_suffix};
use super::super::registry::{Entry, Key, State};
use super::record::{History, Revision, Version, copy_name, fits};
use boson_cluster::client::{Cluster, Error};
use futures::StreamExt;
use futures::future::OptionFuture;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use k8s_openapi::jiff::Timestamp;
use kube::{Resource, ResourceExt};
use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

/// Key of the record in its ConfigMap.
pub(super) const RECORD_KEY: &str = "history.json";
/// Suffix of the name of that ConfigMap.
const RECORD_SUFFIX: &str = ".history";
/// Until the retry of what could not be written.
const WRITE_RETRY_DELAY: Duration = Duration::from_secs(30);

/// Name of the ConfigMap with the record of a plugin.
fn record_name(plugin: &str) -> String {
    with_suffix(plugin, RECORD_SUFFIX)
}

/// Records all versions from now on, for ever.
pub async fn keep(plugins: &Plugins, cluster: &Cluster) {
    // By plugin: what was recorded last.
    let mut recorded: BTreeMap<Key, String> = BTreeMap::new();
    let mut changes = pin!(plugins.changes.follow());
    loop {
        let registry = plugins.now();
        recorded.retain(|key, _| registry.entries.contains_key(key));
        let mut failed = false;
        for (key, entry) in &registry.entries {
            let Some(mark) = mark(entry).filter(|mark| recorded.get(key) != Some(mark)) else {
                continue;
            };
            match note(cluster, key, entry).await {
                Ok(true) => drop(recorded.insert(key.clone(), mark)),
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(plugin = %key, %error, "its versions cannot be recorded; this is retried");
                    failed = true;
                }
            }
        }
        let again = OptionFuture::from(failed.then(|| tokio::time::sleep(WRITE_RETRY_DELAY)));
        tokio::select! {
            change = changes.next() => if change.is_none() { return },
            Some(()) = again => {}
        }
    }
}

/// What is recorded of an entry; none while it is being loaded, or if it cannot be identified.
fn mark(entry: &Entry) -> Option<String> {
    let version = version(entry)?;
    let reason = version.problem.map_or("", |(reason, _)| reason);
    Some(format!("{} {reason}", version.identity))
}

fn version(entry: &Entry) -> Option<Version<'_>> {
    if entry.is_loading() {
        return None;
    }
    let problem = entry.problem();
    let problem = problem.map(|problem| (problem.reason.as_str(), problem.message.as_str()));
    let good = entry.good.as_ref().filter(|_| problem.is_none());
    let document = good.map(|good| &good.document).or(entry.present.as_ref());
    Some(Version {
        identity: entry.identity.as_deref()?,
        digest: document.and_then(|document| document.digest.as_ref()),
        problem,
        is_pending: matches!(entry.state, State::Pending(_)),
        is_unused: entry.good.is_none(),
    })
}

/// False if its ConfigMaps have changed since it was loaded: a watch event is on the way, after which it may be this
/// version again.
async fn note(cluster: &Cluster, key: &Key, entry: &Entry) -> Result<bool, Error> {
    let Some(version) = version(entry) else {
        return Ok(false);
    };
    let Some(history) = read(cluster, &key.namespace, &key.name).await? else {
        tracing::warn!(plugin = %key, "its versions are not recorded: another ConfigMap has the name of the record");
        return Ok(true);
    };
    if history.has(version) {
        return Ok(true);
    }
    let first: Option<ConfigMap> = cluster.get(&key.namespace, &key.name).await?;
    let Some(first) = first.filter(|map| gather::identity(map) == version.identity) else {
        return Ok(false);
    };
    // All of it is deleted with the plugin.
    let Some(owner) = first.owner_ref(&()) else {
        return Ok(false);
    };
    let content = match version.problem {
        None => content(cluster, key, entry, first).await?,
        Some(_) => Some(Vec::new()),
    };
    let Some(content) = content else { return Ok(false) };
    let now = Timestamp::now();
    let now = Timestamp::from_second(now.as_second()).unwrap_or(now).to_string();
    let mut history = history.with(version, &now);
    for (nth, map) in content.iter().enumerate() {
        // A copy is immutable and named by its content, so an existing one is up to date.
        let copy = copy(map, key, version.identity, nth, &owner);
        cluster.create(MANAGER, &copy).await?;
    }
    if let Some(last) = history.revisions.last_mut() {
        (last.copies, last.bytes) = (content.len(), content.iter().map(size).sum());
    }
    for dropped in history.trim() {
        delete(cluster, key, &dropped).await?;
    }
    cluster
        .apply(MANAGER, &record(key, &history, owner))
        .await
        .map(|_| true)
}

/// The record of a plugin: empty if it does not exist yet or cannot be read, `None` if another ConfigMap has its name,
/// which must not be overwritten.
pub(super) async fn read(cluster: &Cluster, namespace: &str, plugin: &str) -> Result<Option<History>, Error> {
    let map: Option<ConfigMap> = cluster.get(namespace, &record_name(plugin)).await?;
    Ok(match map {
        None => Some(History::default()),
        Some(map) if recorded(&map) == Some(plugin) => Some(parse(&map).unwrap_or_default()),
        Some(_) => None,
    })
}

/// The plugin that a ConfigMap has the record of.
pub(super) fn recorded(map: &ConfigMap) -> Option<&str> {
    let owner = map.owner_references().first()?;
    map.labels().contains_key(HISTORY).then_some(owner.name.as_str())
}

pub(super) fn parse(map: &ConfigMap) -> Option<History> {
    let text = map.data.as_ref()?.get(RECORD_KEY)?;
    serde_json::from_str(text).ok()
}

/// The ConfigMaps of a plugin; empty if they are too large to be kept, none if they are no longer those that were
/// loaded.
async fn content(
    cluster: &Cluster,
    key: &Key,
    entry: &Entry,
    first: ConfigMap,
) -> Result<Option<Vec<ConfigMap>>, Error> {
    let mut maps = vec![first];
    for name in &entry.plugin.more {
        let map: Option<ConfigMap> = cluster.get(&key.namespace, name).await?;
        let Some(map) = map else { return Ok(None) };
        maps.push(map);
        if !fits(maps.iter().map(size).sum()) {
            return Ok(Some(Vec::new()));
        }
    }
    let versions = maps.iter().map(|map| map.resource_version().unwrap_or_default());
    let versions: Vec<String> = versions.collect();
    Ok((versions.join(" ") == entry.plugin.version).then_some(maps))
}

fn size(map: &ConfigMap) -> usize {
    let binary = map.binary_data.iter().flatten().map(|(_, file)| file.0.len());
    let text = map.data.iter().flatten().map(|(_, text)| text.len());
    binary.chain(text).sum()
}

fn copy(map: &ConfigMap, key: &Key, identity: &str, nth: usize, owner: &OwnerReference) -> ConfigMap {
    // Not as a label: the operator would load the copy as a plugin.
    let marks = [
        (PLUGIN, map.labels().get(PLUGIN).cloned()),
        (PART_OF, map.annotations().get(PART_OF).cloned()),
        (CONTENT_OF, map.metadata.name.clone()),
    ];
    let annotations = marks
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_string(), value?)));
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(copy_name(&key.name, identity, nth)),
            namespace: Some(key.namespace.clone()),
            labels: Some([(KEPT.to_string(), "true".to_string())].into()),
            annotations: Some(annotations.collect()),
            owner_references: Some(vec![owner.clone()]),
            ..ObjectMeta::default()
        },
        data: map.data.clone(),
        binary_data: map.binary_data.clone(),
        immutable: Some(true),
    }
}

fn record(key: &Key, history: &History, owner: OwnerReference) -> ConfigMap {
    let text = serde_json::to_string_pretty(history).unwrap_or_default();
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(record_name(&key.name)),
            namespace: Some(key.namespace.clone()),
            labels: Some([(HISTORY.to_string(), "true".to_string())].into()),
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        },
        data: Some([(RECORD_KEY.to_string(), text)].into()),
        ..ConfigMap::default()
    }
}

async fn delete(cluster: &Cluster, key: &Key, revision: &Revision) -> Result<(), Error> {
    for nth in 0..revision.copies.min(boson_pipeline::packed::MAX_PARTS) {
        let name = copy_name(&key.name, &revision.identity, nth);
        let map: Option<ConfigMap> = cluster.get(&key.namespace, &name).await?;
        // Users can write the record, and must not delete other ConfigMaps through it.
        let Some(map) = map.filter(is_copy) else {
            continue;
        };
        cluster.delete(&map).await?;
    }
    Ok(())
}

pub(super) fn is_copy(map: &ConfigMap) -> bool {
    map.labels().contains_key(KEPT) && map.immutable == Some(true)
}

/// The identity of the content of a plugin's first ConfigMap.
pub(super) fn identity(map: &ConfigMap) -> Option<String> {
    let has_document = map.data.as_ref().is_some_and(|data| data.contains_key(DOCUMENT));
    has_document.then(|| gather::identity(map))
}
