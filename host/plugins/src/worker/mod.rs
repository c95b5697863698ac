//! Keeps the registry up to date: reads what is new, and loads one plugin at a time, because a compilation uses a
//! processor and a gigabyte. Plugins are read while another one is being compiled, and deployments keep using what is
//! loaded.

mod load;
mod pull;
mod queue;
mod retries;

pub use load::Loader;

use super::Plugins;
use super::approval::Reviewer;
use super::gather::{self, Described};
use super::marks::NO_MEMORY;
use super::problem::PluginProblem;
use super::registry::{Entry, Good, Key, Plugin, Registry, State};
use super::sources::{self, PluginPolicy};
use super::stops::{self, StoppedCanaries};
use super::watches::Followed;
use crate::codes;
use boson_api::conditions;
use boson_cluster::client::Error;
use boson_cluster::namespaces::Scope;
use boson_document::Code;
use boson_oci::Digest;
use boson_pipeline::Diagnostic;
use futures::future::{BoxFuture, OptionFuture};
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use load::Outcome;
use pull::{MAX_CONCURRENT_PULLS, Pulled};
use queue::{Queue, Queued};
use retries::Retries;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::pin::pin;
use std::time::{Duration, Instant};

/// Until the retry of a plugin whose ConfigMaps could not be read.
const READ_RETRY_DELAY: Duration = Duration::from_secs(5);

pub(super) struct Worker<'a> {
    pub plugins: &'a Plugins,
    pub scope: &'a Scope,
    pub followed: &'a Followed,
    pub watches: usize,
    pub loader: Loader<'a>,
    pub policy: PluginPolicy,
    pub reviewer: Reviewer<'a>,
}

/// State between two passes.
#[derive(Default)]
struct Progress {
    /// By ConfigMap: the version that was read last.
    read: BTreeMap<Key, String>,
    pulls: Queue,
    /// Namespaces with a pull that runs.
    pulling: BTreeSet<String>,
    retries: Retries,
    queue: Queue,
    stops: StoppedCanaries,
}

struct Ended<T> {
    queued: Queued,
    result: Result<T, Error>,
}

/// What the worker waits for.
enum Event {
    /// ConfigMaps have changed, or could not be read before.
    Changed,
    /// Pulls are due to be tried again.
    Due,
    Pulled(Ended<Pulled>),
    Loaded(Ended<Outcome>),
}

// === impl Worker ===

impl Worker<'_> {
    /// Runs for ever.
    pub async fn run(&self) {
        let mut changes = pin!(self.followed.changes.follow());
        let mut progress = Progress::default();
        let mut pulling = FuturesUnordered::new();
        let mut loading: Option<BoxFuture<'_, Ended<Outcome>>> = None;
        let mut failed = false;
        loop {
            let again = failed.then(|| tokio::time::sleep(READ_RETRY_DELAY));
            let retry = progress.retries.next().map(|at| tokio::time::sleep_until(at.into()));
            let event = tokio::select! {
                Some(()) = changes.next() => Event::Changed,
                Some(()) = OptionFuture::from(again) => Event::Changed,
                Some(()) = OptionFuture::from(retry) => Event::Due,
                Some(end) = pulling.next() => Event::Pulled(end),
                Some(loaded) = OptionFuture::from(loading.as_mut()) => Event::Loaded(loaded),
            };
            match event {
                Event::Changed => failed = !self.pass(&mut progress).await,
                Event::Due => {
                    let due = progress.retries.due(Instant::now());
                    due.into_iter().for_each(|queued| progress.pulls.push(queued));
                }
                Event::Pulled(end) => self.finish_pull(end, &mut progress),
                Event::Loaded(loaded) => {
                    loading = None;
                    failed |= !self.finish(loaded, &mut progress);
                }
            }
            start_pulls(&mut progress, &mut pulling, |queued| self.pull(queued));
            if loading.is_none() {
                loading = progress.queue.pop().map(|queued| self.load(queued).boxed());
            }
        }
    }

    /// Reads everything that is new. False if some of it could not be read.
    async fn pass(&self, progress: &mut Progress) -> bool {
        let Some(namespaces) = self.scope.names() else {
            return true;
        };
        let Some(plugins) = self.listed_plugins(&namespaces) else {
            return true;
        };
        progress.read.retain(|key, _| plugins.contains_key(key));
        progress.queue.retain(|key| plugins.contains_key(key));
        progress.pulls.retain(|key| plugins.contains_key(key));
        progress.retries.retain(|key| plugins.contains_key(key));
        let mut registry = Registry::clone(&self.plugins.now());
        let before = registry.entries.len();
        registry.entries.retain(|key, _| plugins.contains_key(key));
        let mut changed = before != registry.entries.len();
        if changed {
            // There may be enough memory for these now.
            let without_memory = registry.entries.iter().filter(|(_, entry)| entry.has_failed(NO_MEMORY));
            without_memory.for_each(|(key, _)| drop(progress.read.remove(key)));
        }
        let reviewed = self.reviewer.review(&mut registry);
        changed |= reviewed.is_changed;
        reviewed.approved.iter().for_each(|key| drop(progress.read.remove(key)));
        changed |= progress.stops.apply(&mut registry);
        let mut unread = BTreeSet::new();
        let refused = sources::refused(self.policy.sources, &self.plugins.operator_namespace, &plugins);
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
                    progress.enqueue(&key, plugin, &entry);
                    registry.entries.insert(key, entry);
                }
                Err(error) => {
                    tracing::warn!(plugin = %key, %error, "cannot be read; it is retried");
                    unread.insert(key.namespace);
                }
            }
        }
        let covered = self.covered_namespaces(&namespaces, &unread, &registry.covered);
        if changed || covered != registry.covered {
            registry.covered = covered;
            self.publish(registry);
        }
        progress.stops.record(self.loader.cluster).await && unread.is_empty()
    }

    /// The plugins of these namespaces, which are served, once all of them are listed.
    fn listed_plugins(&self, namespaces: &HashSet<String>) -> Option<BTreeMap<Key, Plugin>> {
        if !self.reviewer.is_ready(self.watches) {
            return None;
        }
        let listing = self.followed.listing.lock();
        let mut plugins = listing.is_complete(self.watches).then(|| listing.plugins())?;
        plugins
            .retain(|key, _| *key.namespace == *self.plugins.operator_namespace || namespaces.contains(&key.namespace));
        Some(plugins)
    }

    /// Namespaces whose plugins are all known. A newer version that cannot be read does not change that: the older one
    /// is used.
    fn covered_namespaces(
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
            return Ok(Some(refused_entry(key, plugin, error)));
        }
        let described = gather::describe(self.loader.cluster, key, plugin).await?;
        Ok(described.map(|described| read_entry(key, plugin, &described, old)))
    }

    async fn pull(&self, queued: Queued) -> Ended<Pulled> {
        let result = self.loader.pull(&queued, self.policy.pinned).await;
        Ended { queued, result }
    }

    async fn load(&self, queued: Queued) -> Ended<Outcome> {
        let registry = self.plugins.now();
        let good = registry.entries.get(&queued.key).and_then(|entry| entry.good.as_ref());
        let result = self.loader.load(&queued, good.map(|good| &good.document)).await;
        Ended { queued, result }
    }

    /// Records the result of a pull: the component is loaded, or the pull is tried again later. The last good version
    /// stays.
    fn finish_pull(&self, Ended { queued, result }: Ended<Pulled>, progress: &mut Progress) {
        progress.pulling.remove(&queued.key.namespace);
        if !progress.is_current(&queued) {
            return;
        }
        let key = queued.key.clone();
        let mut registry = Registry::clone(&self.plugins.now());
        let Some(entry) = registry.entries.get_mut(&key) else {
            return;
        };
        match result {
            Ok(Pulled::Done(digest)) => {
                // So that the host keeps the component once it is loaded. The state stays: a plugin that was refused
                // before is refused until it has been loaded.
                if let Some(present) = &mut entry.present {
                    present.digest = Some(digest);
                }
                progress.queue.push(queued);
                self.plugins.replace(registry);
            }
            Ok(Pulled::Outdated) => progress.retries.retain(|other| *other != key),
            Ok(Pulled::Refused(problem)) => {
                tracing::warn!(plugin = %key, reason = problem.reason, "its image cannot be pulled; it is retried");
                progress.retries.failed(queued, Instant::now());
                // Each publication requeues all deployments.
                let is_known = matches!(&entry.state, State::Refused(old) if *old == problem);
                if !is_known {
                    entry.state = State::Refused(problem);
                    self.publish(registry);
                }
            }
            Err(error) => {
                tracing::warn!(plugin = %key, %error, "cannot be read; it is retried");
                progress.retries.failed(queued, Instant::now());
            }
        }
    }

    /// Records the result of loading. If the plugin has changed meanwhile, it is queued again. False if it could not be
    /// read.
    fn finish(&self, loaded: Ended<Outcome>, progress: &mut Progress) -> bool {
        let is_current = progress.is_current(&loaded.queued);
        let key = loaded.queued.key.clone();
        let mut registry = Registry::clone(&self.plugins.now());
        let entry = registry.entries.get_mut(&key).filter(|_| is_current);
        match (loaded.result, entry) {
            (Ok(Outcome::Good(good)), Some(entry)) => {
                progress.retries.retain(|other| *other != key);
                self.admit(&key, entry, *good);
            }
            (Ok(Outcome::Refused(problem)), Some(entry)) => {
                tracing::warn!(plugin = %key, reason = problem.reason, "refused");
                // Somebody may sign the image later, which changes nothing in the cluster.
                let lacks = |code: &&Code| problem.reason == conditions::reason(code.name);
                if entry.is_image() && codes::UNSIGNED.iter().any(lacks) {
                    progress.retries.failed(loaded.queued, Instant::now());
                }
                if matches!(&entry.state, State::Refused(old) if *old == problem) {
                    return true;
                }
                entry.state = State::Refused(problem);
            }
            (Ok(Outcome::Evicted), Some(_)) => progress.retries.failed(loaded.queued, Instant::now()),
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

    /// Uses a loaded version, or lets it wait for an approval while the last good one stays.
    fn admit(&self, key: &Key, entry: &mut Entry, good: Good) {
        let (name, digest) = (&good.document.name, good.document.digest.as_ref().map(Digest::digest));
        match self.reviewer.pending(key, &good) {
            None => {
                tracing::info!(plugin = %key, name, digest, "loaded");
                entry.good = Some(good);
                entry.state = State::Fine;
            }
            Some(pending) => {
                tracing::warn!(plugin = %key, name, digest, "waits for an approval");
                entry.state = State::Pending(Box::new(pending));
            }
        }
    }

    fn publish(&self, registry: Registry) {
        let metrics = self.loader.cluster.metrics();
        metrics.plugins_loaded.set(registry.count(|entry| entry.good.is_some()));
        metrics
            .plugins_refused
            .set(registry.count(|entry| entry.problem().is_some()));
        metrics
            .canaries_stopped
            .set(registry.count(|entry| entry.has_failed(codes::PLUGIN_CANARY_STOPPED)));
        self.plugins.publish(registry, |digests| self.loader.host.keep(digests));
    }
}

// === impl Progress ===

impl Progress {
    /// Queues a plugin that was read, in place of an older version.
    fn enqueue(&mut self, key: &Key, plugin: Plugin, entry: &Entry) {
        self.retries.retain(|other| other != key);
        self.queue.retain(|other| other != key);
        self.pulls.retain(|other| other != key);
        if !entry.is_loading() {
            return;
        }
        let key = key.clone();
        if entry.is_image() {
            self.pulls.push(Queued { key, plugin })
        } else {
            self.queue.push(Queued { key, plugin })
        }
    }

    /// Whether this is still the version that was read last.
    fn is_current(&self, queued: &Queued) -> bool {
        self.read.get(&queued.key) == Some(&queued.plugin.version)
    }
}

fn start_pulls<F>(progress: &mut Progress, pulling: &mut FuturesUnordered<F>, pull: impl Fn(Queued) -> F) {
    while pulling.len() < MAX_CONCURRENT_PULLS {
        let busy = progress.pulling.clone();
        let Some(queued) = progress.pulls.pop_unless(|namespace| busy.contains(namespace)) else {
            return;
        };
        progress.pulling.insert(queued.key.namespace.clone());
        pulling.push(pull(queued));
    }
}

/// The entry of a plugin whose first ConfigMap was read. The last good version stays.
fn read_entry(key: &Key, plugin: &Plugin, described: &Described, old: Option<&Entry>) -> Entry {
    let good = old.and_then(|old| old.good.clone());
    let stopped = described.stopped();
    let state = match (&described.document, stopped) {
        (Ok(document), Some(why)) => State::Refused(stops::problem(key, document, why)),
        // Even if the description is the same: parts that no longer match it would be found only after a restart, when
        // the last good ones are lost. The last good version is used meanwhile.
        (Ok(_), None) => State::Loading {
            since: old.and_then(Entry::since).unwrap_or_else(Instant::now),
        },
        (Err(errors), _) => {
            let problem = PluginProblem::of(&format!("ConfigMap '{key}'"), errors, &described.sources);
            tracing::warn!(plugin = %key, reason = problem.reason, "refused");
            State::Refused(problem)
        }
    };
    Entry {
        plugin: plugin.clone(),
        identity: Some(described.identity.clone()),
        present: described.document.clone().ok(),
        state,
        good: good.filter(|_| stopped.is_none()),
    }
}

/// The entry of a plugin that is refused before it is read.
fn refused_entry(key: &Key, plugin: &Plugin, error: &Diagnostic) -> Entry {
    Entry {
        plugin: plugin.clone(),
        identity: None,
        present: None,
        state: State::Refused(PluginProblem::one(&format!("ConfigMap '{key}'"), error)),
        good: None,
    }
}
