//! The status of a deployment in a namespace that no operator serves. Most likely its label was forgotten, and nothing
//! else would report that. Pure.

use super::after::created;
use boson_api::conditions::{self, Finding};
use boson_api::{BoshDeployment, BoshDeploymentStatus};
use boson_cluster::client::Notice;
use boson_manifest::labels;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// Reason of the condition Ready, and of the event.
const NOT_SERVED_REASON: &str = "NamespaceNotServed";

/// The status, and an event. `id`: the label with this value gives the namespace to this operator.
pub fn unserved(object: &BoshDeployment, namespace: &str, id: &str, now: &Time) -> (BoshDeploymentStatus, Notice) {
    let label = format!("{}={id}", labels::MONITORED);
    let message = format!(
        "no operator serves namespace '{namespace}', which has no label {}: kubectl label namespace {namespace} {label}",
        labels::MONITORED
    );
    let mut status = created(now);
    status.message = Some(message.clone());
    let finding = Finding::new("Ready", false, NOT_SERVED_REASON, message.clone());
    conditions::set(&mut status.conditions, finding, object.metadata.generation, now);
    (status, Notice::warning(NOT_SERVED_REASON, message))
}
