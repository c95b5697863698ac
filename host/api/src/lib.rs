//! The custom resources, as Rust types: the schemas under `crds/` are generated from them. Types and validation; no
//! client, so nothing here reads or writes an object.
//!
//! Field names are those of the predecessor, quarks-operator. `kubectl explain` shows the comments on fields, so they
//! are written for users.

#![warn(missing_docs)]
#![allow(
    clippy::duplicated_attributes,
    reason = "the lint takes two printer columns of the same type for one attribute given twice"
)]

pub mod conditions;
pub mod deployment;
pub mod instances;
pub mod job;
pub mod plugin_approval;
pub mod request;
pub mod schema;
pub mod secret;
pub mod stateful_set;
pub mod template;

use boson_manifest::labels;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{CustomResourceExt, ResourceExt};
use serde::Serialize;

pub use conditions::{Condition, ConditionStatus};
pub use deployment::{
    BoshDeployment, BoshDeploymentSpec, BoshDeploymentStatus, OutdatedGroup, PluginUse, ReferenceType,
    ResourceReference,
};
pub use instances::{DesiredState, InstanceState, PodState};
pub use job::{QuarksJob, QuarksJobSpec, QuarksJobStatus};
pub use plugin_approval::{ApprovedVersion, OnFailure, PluginApproval, PluginApprovalSpec};
pub use secret::{QuarksSecret, QuarksSecretSpec, QuarksSecretStatus};
pub use stateful_set::{ActivePod, PodProblem, QuarksStatefulSet, QuarksStatefulSetSpec, QuarksStatefulSetStatus};

/// The instance group that an object is made for, as its label names it; without the label, the object's own name.
pub fn instance_group(object: &impl ResourceExt) -> String {
    let label = object.labels().get(labels::INSTANCE_GROUP_NAME);
    label.cloned().unwrap_or_else(|| object.name_any())
}

/// The name of a variant without members, as JSON has it.
pub fn word(variant: impl Serialize) -> String {
    let name = serde_json::to_value(variant).unwrap_or_default();
    name.as_str().unwrap_or_default().to_string()
}

/// The definitions that the operator needs in a cluster.
pub fn definitions() -> [CustomResourceDefinition; 5] {
    [
        BoshDeployment::crd(),
        PluginApproval::crd(),
        QuarksJob::crd(),
        QuarksSecret::crd(),
        QuarksStatefulSet::crd(),
    ]
    .map(with_whole_sentences)
}

/// Joins the lines of each comment: `kubectl explain` wraps lines itself.
fn with_whole_sentences(mut definition: CustomResourceDefinition) -> CustomResourceDefinition {
    let versions = definition.spec.versions.iter_mut();
    let schemas = versions.filter_map(|version| version.schema.as_mut()?.open_api_v3_schema.as_mut());
    schemas.for_each(schema::join_lines);
    definition
}
