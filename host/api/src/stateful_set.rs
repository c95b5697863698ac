//! QuarksStatefulSet: StatefulSets, one for each zone.

use crate::{Condition, ConditionStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Reason of the condition Ready: all pods of the newest version are ready.
pub const PODS_READY: &str = "PodsReady";
/// Reason of the condition Ready: pods are not ready, and Kubernetes reports no problem.
pub const PODS_NOT_READY: &str = "PodsNotReady";

/// What to run in which zones.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "quarks.cloudfoundry.org",
    version = "v1alpha1",
    kind = "QuarksStatefulSet",
    plural = "quarksstatefulsets",
    shortname = "qsts",
    category = "quarks",
    namespaced,
    status = "QuarksStatefulSetStatus",
    derive = "PartialEq",
    validation = Rule::new("!has(self.spec.zoneReplicas) || self.spec.zoneReplicas.size() == 0 || (has(self.spec.zones) && self.spec.zoneReplicas.size() == self.spec.zones.size())").message("zoneReplicas must have a number for each zone"),
    doc = "A versioned StatefulSet for each zone. Instance groups of a deployment that are services are QuarksStatefulSets.",
    printcolumn(
        name = "Ready",
        type_ = "boolean",
        json_path = ".status.ready",
        description = "Whether all pods of the newest version are ready"
    ),
    printcolumn(
        name = "Replicas",
        type_ = "integer",
        json_path = ".spec.template.spec.replicas",
        description = "Pods in the zone with the most pods"
    ),
    printcolumn(
        name = "Version",
        type_ = "integer",
        json_path = ".status.version",
        description = "The newest version, with which the names of its StatefulSets end"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason",
        description = "Why it is ready or not ready"
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message",
        description = "The reason as a sentence, with pod and container",
        priority = 1
    ),
    printcolumn(
        name = "Zones",
        type_ = "string",
        json_path = ".spec.zones",
        description = "Zones that it runs in",
        priority = 1
    )
)]
#[serde(rename_all = "camelCase")]
pub struct QuarksStatefulSetSpec {
    /// The StatefulSet of each zone: see 'kubectl explain statefulset'.
    #[schemars(schema_with = "crate::schema::stateful_set_template")]
    pub template: Map<String, Value>,
    /// Zones. Each has its own StatefulSet on the nodes of that zone. Without zones there is one StatefulSet, on any
    /// nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 63)), extend("x-kubernetes-list-type" = "atomic"))]
    #[x_kube(validation = Rule::new("self.all(z, self.filter(o, o == z).size() == 1)").message("list each zone once"))]
    pub zones: Vec<String>,
    /// Number of pods of each zone, in the order of 'zones', if it is not 'replicas' of the template for all. The
    /// variable REPLICAS of containers is the greatest of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(range(min = 0)), extend("x-kubernetes-list-type" = "atomic"))]
    pub zone_replicas: Vec<i32>,
    /// Value of the node label by zone, for zones whose nodes have another label value than the name of the zone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64), inner(length(max = 63)))]
    pub zone_values: BTreeMap<String, String>,
    /// The node label with the name of the zone.
    #[serde(default = "zone_node_label")]
    #[schemars(length(min = 1, max = 317))]
    pub zone_node_label: String,
    /// Whether pods restart when a ConfigMap or Secret that they use changes. It has no effect yet.
    #[serde(default)]
    pub update_on_config_change: bool,
    /// Commands by container name: a pod whose command succeeds is active (label quarks.cloudfoundry.org/pod-active).
    /// They are not run yet: no pod gets the label, and Services of a deployment select all pods.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "crate::schema::probes")]
    pub active_passive_probes: Map<String, Value>,
    /// Whether containers get the number of replicas in the variable REPLICAS.
    #[serde(default = "yes")]
    pub inject_replicas_env: bool,
}

fn zone_node_label() -> String {
    "topology.kubernetes.io/zone".into()
}

fn yes() -> bool {
    true
}

/// The status of a QuarksStatefulSet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuarksStatefulSetStatus {
    /// When the operator last changed something for this object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::schema::optional_date_time")]
    pub last_reconcile: Option<Time>,
    /// Whether all pods of the newest version are ready.
    #[serde(default)]
    pub ready: bool,
    /// Number of the newest version. The names of its StatefulSets end with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub version: Option<i64>,
    /// Digest of the template of the newest version, without the number of pods. The same template keeps its version,
    /// even if its StatefulSets were deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template_digest: Option<String>,
    /// The newest version whose pods were all ready at some time. It is kept until all pods of a newer version are
    /// ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub ready_version: Option<i64>,
    /// The metadata.generation that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// Why pods of the newest version are not ready: at most 10.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10), extend("x-kubernetes-list-type" = "atomic"))]
    pub problems: Vec<PodProblem>,
    /// Ready; and DisksAsAsked if pods have claims: whether these have the requested size and class.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// Why a pod is not ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PodProblem {
    /// The pod.
    pub pod: String,
    /// The container with the problem, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// The reason that Kubernetes reports, such as CrashLoopBackOff, ImagePullBackOff, Unschedulable or FailedCreate.
    pub reason: String,
    /// What Kubernetes reports about it. It never holds the output of a container, or a secret value.
    pub message: String,
}

// === impl QuarksStatefulSetStatus ===

impl QuarksStatefulSetStatus {
    /// Reason and message of the condition Ready if it is False; none if pods only need more time.
    pub fn trouble(&self) -> Option<(&str, &str)> {
        let mut ready = self.conditions.iter().filter(|one| one.kind == "Ready");
        let is_trouble = |reason: &str| ![PODS_READY, PODS_NOT_READY].contains(&reason);
        ready
            .find(|one| is_trouble(&one.reason) && one.status == ConditionStatus::False)
            .map(|one| (one.reason.as_str(), one.message.as_str()))
    }
}
