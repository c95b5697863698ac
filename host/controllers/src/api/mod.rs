//! The custom resources, as Rust types: the schemas under `crds/` are generated from them. Types and validation, no behavior.
//!
//! Field names are those that users of the predecessor know. Comments on fields are what `kubectl explain` shows, so they are
//! written for the person at that prompt.

#![allow(
    clippy::duplicated_attributes,
    reason = "the lint takes two printer columns of the same type for one attribute given twice"
)]

pub mod condition;
pub mod deployment;
pub mod job;
pub mod request;
pub mod schema;
pub mod secret;
pub mod stateful_set;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

pub use condition::{Condition, ConditionStatus};
pub use deployment::{
    BoshDeployment, BoshDeploymentSpec, BoshDeploymentStatus, OutdatedGroup, PluginUse, ReferenceType,
    ResourceReference,
};
pub use job::{QuarksJob, QuarksJobSpec, QuarksJobStatus};
pub use secret::{QuarksSecret, QuarksSecretSpec, QuarksSecretStatus};
pub use stateful_set::{PodProblem, QuarksStatefulSet, QuarksStatefulSetSpec, QuarksStatefulSetStatus};

/// What has to be in a cluster before the operator can serve it.
pub fn definitions() -> [CustomResourceDefinition; 4] {
    [
        BoshDeployment::crd(),
        QuarksJob::crd(),
        QuarksSecret::crd(),
        QuarksStatefulSet::crd(),
    ]
    .map(with_whole_sentences)
}

/// A comment of several lines is one text: `kubectl explain` breaks lines where the terminal ends.
fn with_whole_sentences(mut definition: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut definition.spec.versions {
        if let Some(schema) = version
            .schema
            .as_mut()
            .and_then(|schema| schema.open_api_v3_schema.as_mut())
        {
            schema::join_lines(schema);
        }
    }
    definition
}
