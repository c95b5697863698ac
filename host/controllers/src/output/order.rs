//! What `host util persist-output` has to know. It stands in its container's environment, so that its account needs no right to read a QuarksJob.

use crate::api::job::Output;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde::{Deserialize, Serialize};

/// Which files become which Secrets, and whose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    /// Owner of the Secrets: what owns the QuarksJob, or else that itself. They outlive the Job.
    pub owner: OwnerReference,
    /// As the QuarksJob has it.
    pub output: Output,
    /// Whether a container that fails is started again in the same pod.
    #[serde(default)]
    pub restarts: bool,
}
