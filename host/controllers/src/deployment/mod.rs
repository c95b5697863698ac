//! The controller of BOSHDeployments: from the manifest and what changes it to the objects of the deployment.

#![allow(
    clippy::result_large_err,
    reason = "errors are diagnostics, as everywhere in the pipeline, and rare"
)]

mod applying;
mod before;
mod check;
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
mod jobs;
mod manifest;
mod memory;
mod observe;
mod pod_image;
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
mod traced;
mod trail;
mod unserved;
pub(crate) mod values;
mod watch;

use crate::api::deployment::ConversionMode;
use crate::api::{BoshDeployment, ConditionStatus};
use crate::cache::Cache;
use crate::client::{Cluster, Error, Events, FieldManager, written};
use crate::conversion::{Images, PluginHost, Web};
use crate::plugins;
use crate::plugins::{Fault, Plugins};
use crate::scope::Scope;
use crate::turns::Turns;
use boson_budget::Budget;
use boson_deployment::names::Names;
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
use pod_image::Rolls;
use progress::Progress;
use pulls::Pulls;
use resolved_plugins::{ActivePlugins, Resolution};
use snapshot::Snapshot;
use status::{Observed, Outcome};
use std::sync::Arc;
use std::time::{Duration, Instant};
use stop::Stop;
use tokio::sync::OnceCell;

pub(crate) use check::Checked;
pub(crate) use documents::digest_now;
pub(crate) use given::variable_of;
pub(crate) use retain::stays;
pub(crate) use stop::camel;
pub(crate) use watch::run;

/// Who owns the fields that this controller sets.
const MANAGER: FieldManager = FieldManager("boson-deployment");

/// How long to wait for what announces itself: only in case that its news is lost.
const WAIT: Duration = Duration::from_secs(30);
/// How long a look waits for the cache to be filled. Without it everything works, and costs more.
const FILLED: Duration = Duration::from_secs(5);
/// How long the news of what was written may take.
const EVENT_DELAY: Duration = Duration::from_secs(1);

/// Until a deployment whose namespace has its half of the places is looked at again.
const TURN: Duration = Duration::from_secs(1);
/// After a lost race.
const SOON: Duration = Duration::from_secs(1);
/// Between two looks at documents on web servers.
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
    /// Who runs rules.
    pub plugin_host: Arc<dyn PluginHost>,
    /// Who reads release images.
    pub images: Arc<dyn Images>,
    /// Who reads documents from web servers.
    pub web: Arc<dyn Web>,
    /// The memory that all of these share.
    pub budget: Budget,
    /// `cluster.local`.
    pub cluster_domain: String,
    /// Image of the operator, which init containers run.
    pub operator_image: String,
    /// Deployments that may roll instance groups with an older operator image at a time; 0: such groups keep it.
    pub roll_outdated: usize,
    /// Versions of a Secret that are kept beside the newest, though nobody uses them.
    pub keep_versions: usize,
    /// What an administrator allows the pods of all deployments.
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

    /// One reconcile: from what is there to what should be, and what to say about it.
    ///
    /// # Errors
    /// A call to the API server that failed; the object comes back later.
    pub(crate) async fn reconcile(&self, object: &BoshDeployment) -> Result<Action, Error> {
        if object.meta().deletion_timestamp.is_some() {
            // Owner references do the rest.
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
            // The plugins have yet to be listed; their news brings us back, and nothing is written for a mere restart.
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
        let (observed, wait) = match due {
            Due::Nothing => (self.unchanged(object, &key.0, resolution).await?, None),
            Due::In(pause) => return Ok(Action::requeue(pause)),
            Due::Now => match self.in_turn(object, &key, snapshot, resolution).await {
                Ok(Some(converted)) => converted,
                // It is converted as soon as another one of its namespace is done.
                Ok(None) => return Ok(Action::requeue(TURN)),
                // Nobody's mistake: what is there by then decides.
                Err(error) if error.is_race() => return Ok(Action::requeue(SOON)),
                Err(error) => {
                    self.delayed(object, &error, faults).await;
                    return Err(error);
                }
            },
        };
        self.emit_events(object, &observed).await;
        self.report(object, &observed, &key).await?;
        Ok(match (wait, documents::on_the_web(&object.spec)) {
            (Some(wait), _) => Action::requeue(wait),
            (None, _) if self.garbage.is_later(&key) || self.rolls_later(object) => Action::requeue(WAIT),
            (None, true) => Action::requeue(REREAD),
            (None, false) => Action::await_change(),
        })
    }

    /// The object with a status that says that it was seen, where it had none.
    async fn first(&self, object: &BoshDeployment) -> Result<Option<BoshDeployment>, Error> {
        if object.status.is_some() {
            return Ok(None);
        }
        let status = status::created(&Time(Timestamp::now()));
        match self.cluster.set_status(MANAGER, object, &status).await {
            Ok(object) => Ok(Some(object)),
            // It has changed: the news of that brings us back.
            Err(error) if error.is_race() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Converts, where its namespace has a place left.
    async fn in_turn(
        &self,
        object: &BoshDeployment,
        key: &memory::Key,
        snapshot: Option<Snapshot>,
        resolution: Resolution,
    ) -> Result<Option<(Observed, Option<Duration>)>, Error> {
        match self.turns.take(&key.0) {
            Some(_turn) => self.converted(object, key, snapshot, resolution).await.map(Some),
            None => Ok(None),
        }
    }

    /// Converts, and remembers how the cluster was and how it ended; when to try again by itself.
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
        // Else the news of what we wrote ourselves would be taken for a change.
        self.cache
            .wait_for(&snapshot.selector, &snapshot.digests, EVENT_DELAY)
            .await;
        Ok((observed, wait))
    }

    /// Says that a change is not acted upon yet, where the conditions would go on about what was before it.
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
            tracing::debug!(%error, "the delay is not told either");
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
                // One that came out as it was makes no news: what is known is as new as it gets.
                Ok(now) if now.resource_version() != object.resource_version() => {
                    self.memory.replaced(key, object.resource_version());
                }
                Ok(_) => {}
                // The news of whatever changed it brings us back, and what was not told now has to be found again.
                Err(error) if error.is_race() => self.memory.open(key),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Whether the conversion came to an end that only a change in the cluster alters. What pods work at goes on by itself.
fn ends(object: &BoshDeployment, outcome: &Outcome) -> bool {
    let mode = object.spec.conversion.as_ref().map(|conversion| conversion.mode);
    match outcome {
        Outcome::Applied => true,
        Outcome::Waiting(_) => false,
        Outcome::Partly(_) | Outcome::Wrong(_) | Outcome::Refused(_) => mode == Some(ConversionMode::InProcess),
    }
}
