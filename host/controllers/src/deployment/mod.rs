//! The controller of BOSHDeployments: from the manifest and what changes it to the objects of the deployment.

#![allow(
    clippy::result_large_err,
    reason = "errors are diagnostics, as everywhere in the pipeline, and rare"
)]

mod applying;
mod before;
mod chain;
mod check;
mod convert;
mod dns;
mod documents;
mod errands;
mod events;
mod findings;
mod flow;
mod garbage;
mod given;
mod groups;
mod held_back;
mod inputs;
mod job_sources;
mod jobs;
mod manifest;
mod manifest_version;
mod memory;
mod observe;
mod outcome;
mod pod_image;
mod post_deploy;
mod progress;
mod provenance;
mod pulls;
mod quota;
mod reading;
mod releases;
mod resolved_plugins;
mod retain;
mod secrets;
mod sizes;
mod snapshot;
mod status;
mod steps;
mod stop;
mod stored;
mod traced;
mod trail;
mod unserved;
mod watch;

use crate::conversion::{Images, PluginHost, Web};
use crate::plugins;
use crate::plugins::{Fault, Plugins};
use crate::turns::Turns;
use boson_api::deployment::ConversionMode;
use boson_api::{BoshDeployment, ConditionStatus};
use boson_budget::Budget;
use boson_cluster::cache::Cache;
use boson_cluster::client::{Cluster, Error, Events, FieldManager, written};
use boson_cluster::namespaces::Scope;
use boson_manifest::names::Names;
use boson_pipeline::bundle::privileges::Privileges;
use boson_pipeline::report::Sources;
use boson_pipeline::stage::Deployment;
use boson_pipeline::{Diagnostic, Stage};
use flow::Flow;
use garbage::Garbage;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::runtime::controller::Action;
use kube::{Resource, ResourceExt};
use memory::{Due, Memory};
use outcome::{Observed, Outcome};
use pod_image::Rolls;
use progress::Progress;
use pulls::Pulls;
use resolved_plugins::{ActivePlugins, Resolution};
use snapshot::Snapshot;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stop::Stop;
use tokio::sync::OnceCell;

pub(crate) use check::Checked;
pub(crate) use documents::digest_now;
pub(crate) use given::variable_of;
pub(crate) use retain::stays;
pub(crate) use watch::run;

/// Who owns the fields that this controller sets.
const MANAGER: FieldManager = FieldManager("boson-manifest");

/// When to reconcile again while waiting for something that causes a watch event: a fallback, should the event be lost.
const WAIT: Duration = Duration::from_secs(30);
/// How long a reconcile waits for the cache to be filled. Without the cache everything works, but costs more.
const FILLED: Duration = Duration::from_secs(5);
/// How long the watch events of our own writes may take.
const EVENT_DELAY: Duration = Duration::from_secs(1);

/// Until the next try for a deployment whose namespace already uses its half of the places.
const TURN: Duration = Duration::from_secs(1);
/// After a lost race.
const SOON: Duration = Duration::from_secs(1);
/// Between two reads of documents on web servers.
const REREAD: Duration = Duration::from_secs(180);

/// What all reconciles share.
pub(crate) struct Context {
    cluster: Cluster,
    events: Events,
    scope: Scope,
    conversion: Conversion,
    pulls: Pulls,
    cache: Arc<Cache>,
    memory: Memory,
    garbage: Garbage,
    rolls: Rolls,
    plugins: Plugins,
    turns: Turns,
}

/// How manifests are converted.
#[derive(Clone)]
pub struct Conversion {
    /// Loads and runs plugins.
    pub plugin_host: Arc<dyn PluginHost>,
    /// Reads release images.
    pub images: Arc<dyn Images>,
    /// Reads documents from web servers.
    pub web: Arc<dyn Web>,
    /// The memory budget that all of these share.
    pub budget: Budget,
    /// Such as `cluster.local`.
    pub cluster_domain: String,
    /// Image of the operator; init containers run it.
    pub operator_image: String,
    /// How many deployments at a time may roll instance groups that have an older operator image; 0: such groups keep it.
    pub roll_outdated: usize,
    /// How many unused versions of a Secret to retain beside the newest.
    pub keep_versions: usize,
    /// The privileges that an administrator allows the pods of all deployments.
    pub allowed: Privileges,
}

// === impl Context ===

impl Context {
    /// For this cluster. `instance`: name of this process. `turns`: the places in which deployments are converted.
    pub fn new(
        cluster: Cluster,
        scope: Scope,
        conversion: Conversion,
        plugins: Plugins,
        turns: Turns,
        instance: &str,
    ) -> Self {
        Self {
            events: Events::new(cluster.clone(), MANAGER, instance),
            cluster,
            scope,
            conversion,
            pulls: Pulls::default(),
            cache: Arc::default(),
            memory: Memory::default(),
            garbage: Garbage::default(),
            rolls: Rolls::default(),
            plugins,
            turns,
        }
    }

    /// Reconciles one deployment, and reports its status.
    ///
    /// # Errors
    /// A call to the API server that failed; the object is requeued.
    pub(crate) async fn reconcile(&self, object: &BoshDeployment) -> Result<Action, Error> {
        if object.meta().deletion_timestamp.is_some() {
            // Kubernetes deletes the objects through their owner references.
            return Ok(Action::await_change());
        }
        let namespace = object.namespace().unwrap_or_default();
        if !self.scope.holds(&namespace) {
            self.unserved(object, &namespace).await?;
            return Ok(Action::await_change());
        }
        let first = self.first(object).await?;
        let object = first.as_ref().unwrap_or(object);
        let key = (namespace, object.name_any());
        if self.memory.is_replaced(&key, object.meta().resource_version.as_ref()) {
            return Ok(Action::await_change());
        }
        let Some(resolution) = self.resolve_plugins(object, &key.0) else {
            // The plugins are not listed yet; their watch event requeues the deployment. A restart alone writes nothing.
            return Ok(Action::requeue(WAIT));
        };
        let snapshot = self.snapshot(object, &resolution).await;
        let due = snapshot.as_ref().map_or(Due::Now, |snapshot| {
            self.memory.due(&key, snapshot.digest(), Instant::now())
        });
        let due = match due {
            Due::Nothing if self.can_collect_garbage(&key).await? || self.can_roll(object, &key) => Due::Now,
            due => due,
        };
        let faults = resolution.faults.clone();
        let (mut observed, wait) = match due {
            Due::Nothing => (self.unchanged(object, &key.0, resolution).await?, None),
            Due::In(pause) => return Ok(Action::requeue(pause)),
            Due::Now => match self.in_turn(object, &key, snapshot, resolution).await {
                Ok(Some(converted)) => converted,
                // It is converted as soon as another one of its namespace is done.
                Ok(None) => return Ok(Action::requeue(TURN)),
                // A lost race is no error: the next reconcile decides from the state that it reads.
                Err(error) if error.is_race() => return Ok(Action::requeue(SOON)),
                Err(error) => {
                    self.delayed(object, &error, faults).await;
                    return Err(error);
                }
            },
        };
        observed.post_deploy = self.post_deploy(object, &observed, &key.0).await?;
        self.emit_events(object, &observed).await;
        self.report(object, &observed, &key).await?;
        Ok(match (wait, documents::on_the_web(&object.spec)) {
            (Some(wait), _) => Action::requeue(wait),
            (None, _) if self.garbage.is_later(&key) || self.rolls_later(object) => Action::requeue(WAIT),
            (None, true) => Action::requeue(REREAD),
            (None, false) => Action::await_change(),
        })
    }

    /// Writes the first status of an object that has none; returns the updated object.
    async fn first(&self, object: &BoshDeployment) -> Result<Option<BoshDeployment>, Error> {
        if object.status.is_some() {
            return Ok(None);
        }
        let status = status::created(&Time(Timestamp::now()));
        match self.cluster.set_status(MANAGER, object, &status).await {
            Ok(object) => Ok(Some(object)),
            // The object has changed: its watch event requeues it.
            Err(error) if error.is_race() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Converts, if its namespace has a free place.
    async fn in_turn(
        &self,
        object: &BoshDeployment,
        key: &memory::Key,
        snapshot: Option<Snapshot>,
        resolution: Resolution,
    ) -> Result<Option<(Observed, Option<Duration>)>, Error> {
        match self.turns.take(&key.0, Instant::now()) {
            Some(_turn) => self.converted(object, key, snapshot, resolution).await.map(Some),
            None => Ok(None),
        }
    }

    /// Converts, and remembers the snapshot and the outcome. Returns when to retry without a watch event.
    async fn converted(
        &self,
        object: &BoshDeployment,
        key: &memory::Key,
        snapshot: Option<Snapshot>,
        resolution: Resolution,
    ) -> Result<(Observed, Option<Duration>), Error> {
        self.cluster.metrics().conversions.inc();
        let (observed, written) = written::during(self.observe(object, &key.0, resolution)).await;
        let (observed, snapshot) = match (observed, snapshot) {
            (Ok(observed), Some(snapshot)) if ends(object, &observed.outcome) => (observed, snapshot.after(&written)),
            (observed, _) => {
                self.memory.open(key);
                return observed.map(|observed| {
                    let wait = (observed.outcome != Outcome::Applied).then_some(WAIT);
                    (observed, wait)
                });
            }
        };
        let wait = match observed.outcome {
            Outcome::Applied => {
                self.memory.good(key, snapshot.digest(), Instant::now());
                None
            }
            _ => Some(self.memory.bad(key, snapshot.digest(), Instant::now())),
        };
        // Else the watch events of our own writes would count as changes.
        self.cache
            .wait_for(&snapshot.selector, &snapshot.digests, EVENT_DELAY)
            .await;
        Ok((observed, wait))
    }

    /// Reports that a new generation is not applied yet; else the conditions would still describe the previous one.
    async fn delayed(&self, object: &BoshDeployment, error: &Error, faults: Vec<Fault>) {
        let generation = object.meta().generation;
        let Some(old) = object
            .status
            .as_ref()
            .filter(|old| old.observed_generation != generation)
        else {
            return;
        };
        let observed = Observed::as_before(old, generation, Outcome::Waiting(error.to_string()), faults);
        let new = status::after(old, &observed, &Time(Timestamp::now()));
        if let Err(error) = self.cluster.set_status(MANAGER, object, &new).await {
            tracing::debug!(%error, "cannot report the delay");
        }
    }

    fn flow<'a>(
        &'a self,
        object: &'a BoshDeployment,
        namespace: &'a str,
        active: ActivePlugins,
        progress: &'a Progress,
    ) -> Result<Flow<'a>, Stop> {
        let wrong = |error: Diagnostic| Stop::wrong(vec![error], &Sources::default());
        let name = object.name_any();
        let names = Names::new(&name, namespace, &self.conversion.cluster_domain)
            .map_err(|error| wrong(Diagnostic::error("convert-no-name", error.to_string())))?;
        let conversion = object.spec.conversion.clone().unwrap_or_default();
        let in_pods: &[Stage] = match conversion.mode {
            ConversionMode::Jobs => &[Stage::Variables, Stage::Links, Stage::Render],
            ConversionMode::InProcess => &[Stage::Render],
        };
        let owner = object.controller_owner_ref(&());
        let owner = owner.ok_or_else(|| Stop::Waiting("the object's UID".into()))?;
        Ok(Flow {
            context: self,
            object,
            namespace,
            deployment: Deployment {
                name,
                namespace: namespace.to_string(),
                cluster_domain: self.conversion.cluster_domain.clone(),
                operator_image: self.conversion.operator_image.clone(),
                registry: conversion.registry,
                spread: conversion.instances.into(),
                monit: conversion.monit,
            },
            mode: conversion.mode,
            copies: plugins::copies(&active.picks, in_pods, namespace, &names.deployment(), &owner),
            names,
            plugins: active.resolved,
            owner,
            releases: OnceCell::new(),
            progress,
        })
    }

    fn count(&self, key: &memory::Key, ready: Option<bool>) {
        let key = format!("{}/{}", key.0, key.1);
        self.cluster.metrics().deployments.set(&key, ready);
    }

    async fn report(&self, object: &BoshDeployment, observed: &Observed, key: &memory::Key) -> Result<(), Error> {
        let now = Time(Timestamp::now());
        let old = object.status.clone().unwrap_or_else(|| status::created(&now));
        let new = status::after(&old, observed, &now);
        let ready = new
            .conditions
            .iter()
            .any(|one| one.kind == "Ready" && one.status == ConditionStatus::True);
        self.count(key, Some(ready));
        if new.outdated_groups.is_empty() && new.deployed_instance_groups == new.total_instance_groups {
            self.rolls.release(key);
        }
        if object.status.as_ref() != Some(&new) {
            let (state, message) = (new.state.as_ref().map(tracing::field::debug), new.message.as_deref());
            tracing::info!(state, message, "the status changes");
            match self.cluster.set_status(MANAGER, object, &new).await {
                // A write that changes nothing causes no watch event: the cached object is already current.
                Ok(now) if now.resource_version() != object.resource_version() => {
                    self.memory.replaced(key, object.resource_version());
                }
                Ok(_) => {}
                // The watch event of the other change requeues the object; what could not be reported now must be found again.
                Err(error) if error.is_race() => self.memory.open(key),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Whether the conversion reached a state that only a change in the cluster can alter. What pods still work on can change without one.
fn ends(object: &BoshDeployment, outcome: &Outcome) -> bool {
    let mode = object.spec.conversion.as_ref().map(|conversion| conversion.mode);
    match outcome {
        Outcome::Applied => true,
        Outcome::Waiting(_) => false,
        Outcome::Partly(_) | Outcome::Wrong(_) | Outcome::Refused(_) => mode == Some(ConversionMode::InProcess),
    }
}
