//! The input of `host util persist-output`. It is passed in the environment, so that the ServiceAccount needs no
//! permission to read a QuarksJob.

use boson_api::job::Output;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde::{Deserialize, Serialize};

/// Which files become which Secrets, and whose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    /// Owner of the Secrets: the owner of the QuarksJob, or else the QuarksJob. They outlive the Job.
    pub owner: OwnerReference,
    pub output: Output,
    /// Whether a failed container is restarted in the same pod.
    #[serde(default)]
    pub restarts: bool,
}
