//! Desired states of instances: what users ask for beside the manifest, so that another manifest does not change it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Scheduling gate of the pod of a stopped instance.
pub const STOPPED: &str = "quarks.cloudfoundry.org/stopped";

/// The desired state of an instance group of a deployment, or of one of its instances.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!has(self.ignored) || !self.ignored || self.name.contains('/')").message("one instance can be ignored, not an instance group"))]
pub struct InstanceState {
    /// GROUP or GROUP/INDEX, as 'host instances' shows them.
    #[schemars(
        length(min = 1, max = 68),
        regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(/(0|[1-9][0-9]{0,3}))?$")
    )]
    pub name: String,
    /// What is asked for.
    #[serde(flatten)]
    pub desired: DesiredState,
}

/// The desired state of the instances of a QuarksStatefulSet, or of one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodState {
    /// The zone of the instance; none without zones.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 63))]
    pub zone: String,
    /// The number of the instance in its zone, with which the name of its pod ends. Without it, this is the state of
    /// all instances.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub ordinal: Option<i32>,
    /// What is asked for.
    #[serde(flatten)]
    pub desired: DesiredState,
}

/// What is asked for of instances.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DesiredState {
    /// Replaces the pods that were created before this time, in the order of a rollout: 'host restart' and 'host
    /// recreate' set it. A time in the future has no effect until it is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::schema::optional_date_time")]
    pub replace_pods_created_before: Option<Time>,
    /// Whether nothing of the instance group or instance runs. Its claims stay. A stopped group has no pods, and a
    /// stopped instance has one with the scheduling gate quarks.cloudfoundry.org/stopped, which runs on no node. In a
    /// QuarksStatefulSet that a user wrote, one instance cannot be stopped: its pods have no revisions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
    /// Whether the operator neither replaces the pod of the instance nor waits for it. It has no effect for all
    /// instances of a group.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ignored: bool,
}

// === impl InstanceState ===

impl InstanceState {
    /// The instance group, and the index if it is about one instance.
    pub fn target(&self) -> (&str, Option<usize>) {
        match self.name.split_once('/') {
            Some((group, index)) => (group, index.parse().ok()),
            None => (&self.name, None),
        }
    }
}
