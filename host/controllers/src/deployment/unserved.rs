//! A deployment in a namespace that no operator serves. Most likely its label was forgotten, and nothing else would report that.

use super::{Context, MANAGER, status};
use boson_api::conditions::{self, Finding};
use boson_api::{BoshDeployment, ConditionStatus};
use boson_cluster::client::{Error, Notice};
use boson_manifest::labels;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

/// Reason of the condition Ready, and of the event.
const REASON: &str = "NamespaceNotServed";

// === impl Context ===

impl Context {
    /// Reports once, in the status and as an event, that the namespace has no label. Skips namespaces with the label of another operator, and
    /// deployments that already have a status.
    pub(super) async fn unserved(&self, object: &BoshDeployment, namespace: &str) -> Result<(), Error> {
        let Some(id) = self.scope.monitored_id() else {
            // An operator for a list of namespaces cannot read others.
            return Ok(());
        };
        if object.status.is_some() {
            return Ok(());
        }
        let found = self.cluster.namespace(namespace).await?;
        if found.is_none_or(|found| found.labels().contains_key(labels::MONITORED)) {
            return Ok(());
        }
        let label = format!("{}={id}", labels::MONITORED);
        let message = format!(
            "no operator serves namespace '{namespace}', which has no label {}: kubectl label namespace {namespace} {label}",
            labels::MONITORED
        );
        let now = Time(Timestamp::now());
        let mut status = status::created(&now);
        status.message = Some(message.clone());
        let finding = Finding {
            kind: "Ready",
            status: ConditionStatus::False,
            reason: REASON.into(),
            message: message.clone(),
        };
        conditions::set(&mut status.conditions, finding, object.metadata.generation, &now);
        match self.cluster.set_status(MANAGER, object, &status).await {
            Ok(_) => {}
            // Another operator serves it after all.
            Err(error) if error.is_race() => return Ok(()),
            Err(error) => return Err(error),
        }
        let notice = Notice {
            warning: true,
            reason: REASON.into(),
            note: message,
        };
        if let Err(error) = self.events.emit(object, &notice).await {
            tracing::warn!(%error, "an event was lost");
        }
        Ok(())
    }
}
