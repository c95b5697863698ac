//! The controller of QuarksStatefulSets: their StatefulSets, one a zone, in versions.

mod plan;
mod watch;

use crate::api::{ConditionStatus, QuarksStatefulSet, QuarksStatefulSetStatus};
use crate::client::{Cluster, Error, Events, FieldManager, Notice, resource};
use crate::conditions::{self, Finding};
use crate::objects;
use crate::scope::Scope;
use crate::taken::Taken;
use boson_deployment::labels;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use k8s_openapi::jiff::Timestamp;
use kube::runtime::controller::Action;
use kube::{Resource, ResourceExt};
use serde_json::Value;
use std::time::Duration;

pub(crate) use watch::run;

/// Who owns the fields that this controller sets.
const MANAGER: FieldManager = FieldManager("boson-statefulset");

/// Reason of what the API server refuses.
const REFUSED: &str = "Refused";
/// Until the next look, where nothing tells that it is worth one.
const WAIT: Duration = Duration::from_secs(30);

/// What all reconciles share.
pub(crate) struct Context {
    cluster: Cluster,
    events: Events,
    scope: Scope,
}

/// What somebody has to mend: a word, and a sentence.
struct Trouble(&'static str, String);

/// Why a plan was not carried out.
enum Failure {
    Api(Error),
    Trouble(Trouble),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Api(error)
    }
}

// === impl Context ===

impl Context {
    /// For this cluster. `instance`: name of this process.
    pub fn new(cluster: Cluster, scope: Scope, instance: &str) -> Self {
        let events = Events::new(cluster.clone(), MANAGER, instance);
        Self { cluster, events, scope }
    }

    /// One reconcile.
    ///
    /// # Errors
    /// A call to the API server that failed.
    async fn reconcile(&self, set: &QuarksStatefulSet) -> Result<Action, Error> {
        let namespace = set.namespace().unwrap_or_default();
        let owner = set.controller_owner_ref(&());
        let Some(owner) = owner.filter(|_| set.meta().deletion_timestamp.is_none() && self.scope.holds(&namespace))
        else {
            return Ok(Action::await_change());
        };
        let value = serde_json::to_value(set).unwrap_or_default();
        let live = self.live(set, &namespace, &owner.uid).await?;
        let reference = serde_json::to_value(&owner).unwrap_or_default();
        let done = match plan::plan(&value, &live, &reference) {
            Ok(plan) => match self.act(&plan, &namespace, &owner).await {
                Ok(()) => Ok((!plan.apply.is_empty() || !plan.delete.is_empty(), plan.ready)),
                Err(Failure::Api(error)) if error.is_lasting() => Err(Trouble(REFUSED, error.to_string())),
                Err(Failure::Api(error)) => return Err(error),
                Err(Failure::Trouble(trouble)) => Err(trouble),
            },
            Err(error) => Err(Trouble("Invalid", error.message)),
        };
        self.report(set, &done).await?;
        Ok(match done {
            Ok(_) => Action::await_change(),
            // What stands in the way is no object of ours, so nobody tells when it is gone.
            Err(_) => Action::requeue(WAIT),
        })
    }

    /// The StatefulSets that it owns.
    async fn live(&self, set: &QuarksStatefulSet, namespace: &str, uid: &str) -> Result<Vec<Value>, Error> {
        let deployment = set.labels().get(labels::DEPLOYMENT_NAME).map_or("", String::as_str);
        let labelled = format!("{}={deployment}", labels::DEPLOYMENT_NAME);
        // All of the namespace only where there are none: they may have been made under another label, and would be made again.
        for selector in [labelled.as_str(), ""] {
            let mut live = self
                .cluster
                .list_any(&resource("apps/v1", "StatefulSet"), namespace, selector)
                .await?;
            live.retain(|object| objects::is_owned(object, uid));
            if !live.is_empty() {
                return Ok(live);
            }
        }
        Ok(Vec::new())
    }

    /// Does what was planned, but touches nothing of somebody else's.
    async fn act(&self, plan: &plan::Plan, namespace: &str, owner: &OwnerReference) -> Result<(), Failure> {
        let taken = Taken::find(&self.cluster, namespace, plan.new_objects.iter(), owner).await?;
        if let Some(complaint) = taken.complaint() {
            return Err(Failure::Trouble(Trouble("NameTaken", complaint)));
        }
        if !taken.leaving.is_empty() {
            let waiting = format!("waiting for {} to go", taken.leaving.join(", "));
            return Err(Failure::Trouble(Trouble("Waiting", waiting)));
        }
        for object in &plan.apply {
            self.cluster.apply_any(MANAGER, object).await?;
        }
        for object in &plan.delete {
            self.cluster.delete_any(object).await?;
        }
        Ok(())
    }

    async fn report(&self, set: &QuarksStatefulSet, done: &Result<(bool, bool), Trouble>) -> Result<(), Error> {
        let now = Time(Timestamp::now());
        let status = status(set, done, &now);
        if set.status.as_ref() == Some(&status) {
            return Ok(());
        }
        if let Err(Trouble(reason, message)) = done {
            let notice = Notice {
                warning: true,
                reason: (*reason).into(),
                note: message.clone(),
            };
            if let Err(error) = self.events.tell(set, &notice).await {
                tracing::warn!(%error, "an event was lost");
            }
        }
        match self.cluster.set_status(MANAGER, set, &status).await {
            Ok(_) => Ok(()),
            // The news of whatever changed it brings us back.
            Err(error) if error.is_race() => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// What keeps a QuarksStatefulSet from ever being ready, in the words of its status.
pub(crate) fn trouble(status: &QuarksStatefulSetStatus) -> Option<&str> {
    let mut ready = status.conditions.iter().filter(|one| one.kind == "Ready");
    let told = |reason: &str| !["PodsReady", "PodsNotReady"].contains(&reason);
    ready
        .find(|one| told(&one.reason) && one.status == ConditionStatus::False)
        .map(|one| one.message.as_str())
}

/// `done`: whether something was written and whether all pods are ready, or why not.
fn status(set: &QuarksStatefulSet, done: &Result<(bool, bool), Trouble>, now: &Time) -> QuarksStatefulSetStatus {
    let mut status = set.status.clone().unwrap_or_default();
    let generation = set.meta().generation;
    status.ready = matches!(done, Ok((_, true)));
    status.observed_generation = generation;
    if matches!(done, Ok((true, _))) {
        status.last_reconcile = Some(now.clone());
    }
    let (value, reason, message) = match done {
        Err(Trouble(reason, why)) => (ConditionStatus::False, *reason, why.clone()),
        Ok((_, true)) => (
            ConditionStatus::True,
            "PodsReady",
            "all pods of the newest version are ready".into(),
        ),
        Ok((_, false)) => (
            ConditionStatus::False,
            "PodsNotReady",
            "not all pods of the newest version are ready".into(),
        ),
    };
    let finding = Finding {
        kind: "Ready",
        status: value,
        reason: reason.into(),
        message,
    };
    conditions::set(&mut status.conditions, finding, generation, now);
    status
}
