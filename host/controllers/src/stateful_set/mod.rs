//! The controller of QuarksStatefulSets: their StatefulSets, one a zone, in versions.

mod plan;
mod watch;

use crate::api::{ConditionStatus, QuarksStatefulSet, QuarksStatefulSetStatus};
use crate::client::{Cluster, Error, FieldManager, resource};
use crate::conditions::{self, Finding};
use crate::objects;
use crate::scope::Scope;
use boson_deployment::labels;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::runtime::controller::Action;
use kube::{Resource, ResourceExt};
use serde_json::Value;

pub(crate) use watch::run;

/// Who owns the fields that this controller sets.
const MANAGER: FieldManager = FieldManager("boson-statefulset");

/// What all reconciles share.
pub(crate) struct Context {
    cluster: Cluster,
    scope: Scope,
}

// === impl Context ===

impl Context {
    /// For this cluster.
    pub fn new(cluster: Cluster, scope: Scope) -> Self {
        Self { cluster, scope }
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
        let (wrote, ready, wrong) = match plan::plan(&value, &live, &reference) {
            Ok(plan) => {
                for object in &plan.apply {
                    self.cluster.apply_any(MANAGER, object).await?;
                }
                for object in &plan.delete {
                    self.cluster.delete_any(object).await?;
                }
                (!plan.apply.is_empty() || !plan.delete.is_empty(), plan.ready, None)
            }
            Err(error) => (false, false, Some(error.message)),
        };
        self.report(set, wrote, ready, wrong).await?;
        Ok(Action::await_change())
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

    async fn report(
        &self,
        set: &QuarksStatefulSet,
        wrote: bool,
        ready: bool,
        wrong: Option<String>,
    ) -> Result<(), Error> {
        let now = Time(Timestamp::now());
        let status = status(set, wrote, ready, wrong, &now);
        if set.status.as_ref() == Some(&status) {
            return Ok(());
        }
        match self.cluster.set_status(MANAGER, set, &status).await {
            Ok(_) => Ok(()),
            // The news of whatever changed it brings us back.
            Err(error) if error.is_race() => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn status(
    set: &QuarksStatefulSet,
    wrote: bool,
    ready: bool,
    wrong: Option<String>,
    now: &Time,
) -> QuarksStatefulSetStatus {
    let mut status = set.status.clone().unwrap_or_default();
    let generation = set.meta().generation;
    status.ready = ready;
    status.observed_generation = generation;
    if wrote {
        status.last_reconcile = Some(now.clone());
    }
    let (value, reason, message) = match (ready, wrong) {
        (_, Some(why)) => (ConditionStatus::False, "Invalid", why),
        (true, None) => (
            ConditionStatus::True,
            "PodsReady",
            "all pods of the newest version are ready".into(),
        ),
        (false, None) => (
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
