//! The controller of BOSHDeployments: from the manifest and what changes it to the objects of the deployment.

#![allow(
    clippy::result_large_err,
    reason = "errors are diagnostics, as everywhere in the pipeline, and rare"
)]

mod applying;
mod documents;
mod flow;
mod given;
mod groups;
mod interest;
mod manifest;
mod pulls;
mod releases;
mod secrets;
mod status;
mod stop;
mod values;
mod versions;
mod watch;

use crate::api::deployment::ConversionMode;
use crate::api::{BoshDeployment, QuarksStatefulSet};
use crate::client::{Cluster, Error, Events, FieldManager, Notice};
use crate::conversion::{Images, Rules};
use crate::scope::Scope;
use crate::stateful_set;
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
use pulls::Pulls;
use serde_json::Value;
use status::{Outcome, STEPS, Seen};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration;
use stop::{Stop, Wrong};

pub(crate) use given::variable_of;
pub(crate) use watch::run;

/// Who owns the fields that this controller sets.
const MANAGER: FieldManager = FieldManager("boson-deployment");

/// How long to wait for what announces itself: only in case that its news is lost.
const WAIT: Duration = Duration::from_secs(30);

/// What all reconciles share.
pub(crate) struct Context {
    cluster: Cluster,
    events: Events,
    scope: Scope,
    conversion: Conversion,
    pulls: Pulls,
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
            pulls: Pulls::default(),
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
        let first = self.first(object).await?;
        let object = first.as_ref().unwrap_or(object);
        let seen = self.seen(object, &namespace).await?;
        let waits = seen.outcome != Outcome::Applied;
        self.tell(object, &seen).await;
        self.report(object, &seen).await?;
        Ok(match waits {
            true => Action::requeue(WAIT),
            false => Action::await_change(),
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
        let mut removed = None;
        let mut groups = Some(progress.groups.load(Ordering::Relaxed)).filter(|groups| *groups >= 0);
        let outcome = match result {
            Ok(done) => {
                groups = Some(count(&done.objects));
                removed = Some(done.removed);
                self.warn(object, &done.warnings).await;
                Outcome::Applied
            }
            Err(Stop::Waiting(what)) => Outcome::Waiting(what),
            Err(Stop::Wrong(wrong)) => Outcome::Wrong(wrong),
            Err(Stop::Refused(wrong)) => Outcome::Refused(wrong),
            Err(Stop::Api(error)) if error.is_lasting() => Outcome::Refused(Wrong::refused(&error)),
            // Nobody's mistake: the next reconcile sees what is there now.
            Err(Stop::Api(error)) if error.is_race() => Outcome::Waiting(format!("another look: {error}")),
            Err(Stop::Api(error)) => return Err(error),
        };
        let (ready, troubles) = self.ready(object, namespace).await?;
        Ok(Seen {
            generation: object.meta().generation,
            steps: match outcome {
                Outcome::Applied => STEPS,
                _ => progress.steps.load(Ordering::Relaxed),
            },
            outcome,
            wrote: progress.wrote.load(Ordering::Relaxed),
            groups,
            ready,
            troubles,
            removed,
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
            groups: &progress.groups,
        })
    }

    /// Groups whose instances are all ready, and what is wrong with others.
    async fn ready(&self, object: &BoshDeployment, namespace: &str) -> Result<(i32, Vec<String>), Error> {
        let labels = format!("{}={}", labels::DEPLOYMENT_NAME, object.name_any());
        let sets: Vec<QuarksStatefulSet> = self.cluster.list(namespace, &labels).await?;
        let uid = object.meta().uid.as_deref();
        let current = sets.iter().filter_map(|set| {
            let mut owners = set.owner_references().iter();
            let status = set.status.as_ref()?;
            let current = status.observed_generation == set.meta().generation;
            (current && owners.any(|owner| Some(owner.uid.as_str()) == uid)).then_some((set, status))
        });
        let (mut ready, mut troubles) = (0, Vec::new());
        for (set, status) in current {
            ready += i32::from(status.ready);
            let trouble = stateful_set::trouble(status);
            troubles.extend(trouble.map(|trouble| format!("{}: {trouble}", set.name_any())));
        }
        Ok((ready, troubles))
    }

    async fn report(&self, object: &BoshDeployment, seen: &Seen) -> Result<(), Error> {
        let now = Time(Timestamp::now());
        let old = object.status.clone().unwrap_or_else(|| status::created(&now));
        let new = status::after(&old, seen, &now);
        if object.status.as_ref() != Some(&new) {
            match self.cluster.set_status(MANAGER, object, &new).await {
                Ok(_) => {}
                // The news of whatever changed it brings us back.
                Err(error) if error.is_race() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn tell(&self, object: &BoshDeployment, seen: &Seen) {
        let wrong = match &seen.outcome {
            Outcome::Wrong(wrong) | Outcome::Refused(wrong) => Some((wrong.reason.clone(), wrong.message.clone())),
            _ => None,
        };
        let troubles = seen
            .troubles
            .iter()
            .map(|one| (status::TROUBLE.to_string(), one.clone()));
        for (reason, note) in wrong.into_iter().chain(troubles) {
            let notice = Notice {
                warning: true,
                reason: reason.into(),
                note,
            };
            if let Err(error) = self.events.tell(object, &notice).await {
                tracing::warn!(%error, "an event was lost");
            }
        }
    }

    /// Everything in a manifest that has no effect is told once.
    async fn warn(&self, object: &BoshDeployment, warnings: &[Diagnostic]) {
        for warning in warnings {
            let place = warning.place.document.as_deref().unwrap_or_default();
            let pointer = warning.place.pointer.as_deref().unwrap_or_default();
            let notice = Notice {
                warning: true,
                reason: stop::camel(&warning.code).into(),
                note: format!("{} ({place}{pointer})", warning.message),
            };
            if let Err(error) = self.events.tell(object, &notice).await {
                tracing::warn!(%error, "an event was lost");
                return;
            }
        }
    }
}

/// How far a reconcile got.
struct Progress {
    steps: AtomicI32,
    /// Instance groups of the manifest that run for ever; -1 before it is read.
    groups: AtomicI32,
    wrote: AtomicBool,
}

// === impl Progress ===

impl Default for Progress {
    fn default() -> Self {
        Self {
            steps: AtomicI32::new(0),
            groups: AtomicI32::new(-1),
            wrote: AtomicBool::new(false),
        }
    }
}

/// Instance groups that run for ever.
fn count(objects: &[Value]) -> i32 {
    let sets = objects.iter().filter(|object| object["kind"] == "QuarksStatefulSet");
    i32::try_from(sets.count()).unwrap_or(i32::MAX)
}
