//! The controller of BOSHDeployments: from the manifest and what changes it to the objects of the deployment.

#![allow(
    clippy::result_large_err,
    reason = "errors are diagnostics, as everywhere in the pipeline, and rare"
)]

mod documents;
mod flow;
mod given;
mod groups;
mod look;
mod manifest;
mod memory;
mod releases;
mod secrets;
mod status;
mod stop;
mod telling;
mod values;
mod versions;
mod watch;

use crate::api::deployment::ConversionMode;
use crate::api::{BoshDeployment, QuarksStatefulSet};
use crate::cache::Cache;
use crate::client::{Cluster, Error, Events, FieldManager, written};
use crate::conversion::{Images, Rules};
use crate::scope::Scope;
use boson_deployment::labels;
use boson_deployment::names::Names;
use boson_pipeline::Diagnostic;
use boson_pipeline::report::Sources;
use boson_pipeline::stage::Deployment;
use flow::Flow;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::runtime::controller::Action;
use kube::{Resource, ResourceExt};
use look::Look;
use memory::{Due, Memory};
use serde_json::Value;
use status::{Outcome, STEPS, Seen};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};
use stop::Stop;

pub(crate) use watch::run;

/// Who owns the fields that this controller sets.
const MANAGER: FieldManager = FieldManager("boson-deployment");

/// How long to wait for what announces itself: only in case that its news is lost.
const WAIT: Duration = Duration::from_secs(30);
/// How long a look waits for the cache to be filled. Without it everything works, and costs more.
const FILLED: Duration = Duration::from_secs(5);
/// How long the news of what was written may take.
const NEWS: Duration = Duration::from_secs(1);

/// What all reconciles share.
pub(crate) struct Context {
    cluster: Cluster,
    events: Events,
    scope: Scope,
    conversion: Conversion,
    cache: Arc<Cache>,
    memory: Memory,
}

/// How manifests are converted.
#[derive(Clone)]
pub struct Conversion {
    /// Who runs rules.
    pub rules: Arc<dyn Rules>,
    /// Who reads release images.
    pub images: Arc<dyn Images>,
    /// `cluster.local`.
    pub cluster_domain: String,
    /// Image of the operator, which init containers run.
    pub operator_image: String,
}

// === impl Context ===

impl Context {
    /// For this cluster. `instance`: name of this process.
    pub fn new(cluster: Cluster, scope: Scope, conversion: Conversion, instance: &str) -> Self {
        Self {
            events: Events::new(cluster.clone(), MANAGER, instance),
            cluster,
            scope,
            conversion,
            cache: Arc::default(),
            memory: Memory::default(),
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
            return Ok(Action::await_change());
        }
        let key = (namespace, object.name_any());
        if self.memory.is_replaced(&key, object.meta().resource_version.as_ref()) {
            return Ok(Action::await_change());
        }
        let look = self.look(object).await;
        let due = look
            .as_ref()
            .map_or(Due::Now, |look| self.memory.due(&key, look.print(), Instant::now()));
        let seen = match due {
            Due::Nothing => self.unchanged(object),
            Due::In(pause) => return Ok(Action::requeue(pause)),
            Due::Now => self.converted(object, &key, look).await?,
        };
        let waits = seen.outcome != Outcome::Applied;
        self.tell(object, &seen).await;
        self.report(object, &seen, &key).await?;
        Ok(match waits {
            true => Action::requeue(WAIT),
            false => Action::await_change(),
        })
    }

    /// Converts, and remembers how the cluster is when all is well.
    async fn converted(&self, object: &BoshDeployment, key: &memory::Key, look: Option<Look>) -> Result<Seen, Error> {
        self.cluster.metrics().conversions.inc();
        let (seen, written) = written::during(self.seen(object, &key.0)).await;
        match (&seen, look) {
            (Ok(seen), Some(look)) if seen.outcome == Outcome::Applied => {
                let look = look.after(&written);
                self.memory.good(key, look.print(), Instant::now());
                // Else the news of what we wrote ourselves would be taken for a change.
                self.cache.shows(&look.sight, &look.world, NEWS).await;
            }
            _ => self.memory.forget(key),
        }
        seen
    }

    /// What there is to say where nothing has changed: only pods come and go.
    fn unchanged(&self, object: &BoshDeployment) -> Seen {
        let ready = self
            .cache
            .ready("QuarksStatefulSet", object.meta().uid.as_deref().unwrap_or_default());
        Seen {
            generation: object.meta().generation,
            outcome: Outcome::Applied,
            wrote: false,
            steps: STEPS,
            groups: None,
            warned: object.status.as_ref().and_then(|status| status.warned.clone()),
            ready: i32::try_from(ready).unwrap_or(i32::MAX),
            plugins: self.conversion.rules.uses(),
        }
    }

    async fn seen(&self, object: &BoshDeployment, namespace: &str) -> Result<Seen, Error> {
        let progress = Progress::default();
        let result = match self.flow(object, namespace, &progress) {
            Ok(flow) => {
                let result = flow.run().await;
                progress
                    .wrote
                    .store(flow.wrote.load(Ordering::Relaxed), Ordering::Relaxed);
                result
            }
            Err(stop) => Err(stop),
        };
        let (mut groups, mut warned) = (None, object.status.as_ref().and_then(|status| status.warned.clone()));
        let outcome = match result {
            Ok(done) => {
                groups = Some(count(&done.objects));
                warned = self.warn(object, &done.warnings).await;
                Outcome::Applied
            }
            Err(Stop::Waiting(what)) => Outcome::Waiting(what),
            Err(Stop::Wrong(wrong)) => Outcome::Wrong(wrong),
            // Nobody's mistake: the next reconcile sees what is there now.
            Err(Stop::Api(error)) if error.is_race() => Outcome::Waiting(format!("another look: {error}")),
            Err(Stop::Api(error)) => return Err(error),
        };
        Ok(Seen {
            generation: object.meta().generation,
            steps: match outcome {
                Outcome::Applied => STEPS,
                _ => progress.steps.load(Ordering::Relaxed),
            },
            outcome,
            wrote: progress.wrote.load(Ordering::Relaxed),
            groups,
            warned,
            ready: self.ready(object, namespace).await?,
            plugins: self.conversion.rules.uses(),
        })
    }

    fn flow<'a>(
        &'a self,
        object: &'a BoshDeployment,
        namespace: &'a str,
        progress: &'a Progress,
    ) -> Result<Flow<'a>, Stop> {
        let wrong = |error: Diagnostic| Stop::wrong(vec![error], &Sources::default());
        let name = object.name_any();
        let names = Names::new(&name, namespace, &self.conversion.cluster_domain)
            .map_err(|error| wrong(Diagnostic::error("convert-no-name", error.to_string())))?;
        let conversion = object.spec.conversion.clone().unwrap_or_default();
        if conversion.mode == ConversionMode::Jobs {
            let error = Diagnostic::error("deployment-mode", "conversion in pods (mode Jobs) is not there yet");
            return Err(wrong(error.help("set spec.conversion.mode: InProcess")));
        }
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
            },
            names,
            owner,
            wrote: AtomicBool::new(false),
            steps: &progress.steps,
        })
    }

    /// Groups whose instances are all ready.
    async fn ready(&self, object: &BoshDeployment, namespace: &str) -> Result<i32, Error> {
        let labels = format!("{}={}", labels::DEPLOYMENT_NAME, object.name_any());
        let sets: Vec<QuarksStatefulSet> = self.cluster.list(namespace, &labels).await?;
        let uid = object.meta().uid.as_deref();
        let ready = sets.iter().filter(|set| {
            let owned = set
                .owner_references()
                .iter()
                .any(|owner| Some(owner.uid.as_str()) == uid);
            owned && set.is_ready()
        });
        Ok(i32::try_from(ready.count()).unwrap_or(i32::MAX))
    }

    async fn report(&self, object: &BoshDeployment, seen: &Seen, key: &memory::Key) -> Result<(), Error> {
        let now = Time(Timestamp::now());
        let old = object.status.clone().unwrap_or_else(|| status::created(&now));
        let new = status::after(&old, seen, &now);
        if object.status.as_ref() != Some(&new) {
            match self.cluster.set_status(MANAGER, object, &new).await {
                // One that came out as it was makes no news: what is known is as new as it gets.
                Ok(now) if now.resource_version() != object.resource_version() => {
                    self.memory.replaced(key, object.resource_version());
                }
                Ok(_) => {}
                // The news of whatever changed it brings us back.
                Err(error) if error.is_race() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// How far a reconcile got.
#[derive(Default)]
struct Progress {
    steps: AtomicI32,
    wrote: AtomicBool,
}

/// Instance groups that run for ever.
fn count(objects: &[Value]) -> i32 {
    let sets = objects.iter().filter(|object| object["kind"] == "QuarksStatefulSet");
    i32::try_from(sets.count()).unwrap_or(i32::MAX)
}
