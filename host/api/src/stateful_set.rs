//! QuarksStatefulSet: StatefulSets, one for each zone.

use crate::template::{Template, pod_mut};
use crate::{Condition, ConditionStatus, PodState};
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
/// Condition: how far a change is rolled out.
pub const PROGRESSING: &str = "Progressing";
/// Reason of the condition Progressing: each instance runs the newest version.
pub const ROLLED_OUT: &str = "RolledOut";
/// Reason of the condition Progressing: instances are being updated, or wait for others.
pub const UPDATING: &str = "Updating";
/// Reason of the condition Progressing: the change waits until the object is no longer paused.
pub const PAUSED: &str = "Paused";

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
        name = "Version",
        type_ = "integer",
        json_path = ".status.version",
        description = "The newest version, with which the names of its StatefulSets end"
    ),
    printcolumn(
        name = "Desired",
        type_ = "integer",
        json_path = ".status.replicas",
        description = "Instances of all zones that are not stopped"
    ),
    printcolumn(
        name = "Updated",
        type_ = "integer",
        json_path = ".status.updatedReplicas",
        description = "Instances that are not outdated"
    ),
    printcolumn(
        name = "Ready",
        type_ = "integer",
        json_path = ".status.readyReplicas",
        description = "Instances that are ready, updated or not"
    ),
    printcolumn(
        name = "Rollout",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Progressing\")].reason",
        description = "How far the newest change is rolled out"
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
        name = "Waits",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Progressing\")].message",
        description = "What the rollout waits for",
        priority = 1
    ),
    printcolumn(
        name = "Active",
        type_ = "string",
        json_path = ".status.activePod.name",
        description = "The active pod, of a group with active/passive probes",
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
    pub template: Template,
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
    /// Commands by container name that succeed in a pod that is active. One of these pods, to which the Service of the
    /// group leads, gets the label quarks.cloudfoundry.org/pod-active. A container of the pod with the port
    /// active-passive runs the command, and answers an HTTP request with the status 200 if the pod is active, and with
    /// 503 if it is passive. A conversion adds such containers.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "crate::schema::probes")]
    pub active_passive_probes: Map<String, Value>,
    /// Whether containers get the number of replicas in the variable REPLICAS.
    #[serde(default = "default_true")]
    pub inject_replicas_env: bool,
    /// Whether a changed template waits: until this is false, no pod is created or replaced for it. Updates that have
    /// begun are completed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// Desired states of instances. They change no template.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024), extend("x-kubernetes-list-type" = "atomic"))]
    pub instances: Vec<PodState>,
}

fn zone_node_label() -> String {
    "topology.kubernetes.io/zone".into()
}

fn default_true() -> bool {
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
    /// Instances of all zones that are not stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub replicas: Option<i32>,
    /// Instances that are not outdated: their pods run what the template says, or are being created from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub updated_replicas: Option<i32>,
    /// Instances that are ready, updated or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub ready_replicas: Option<i32>,
    /// Of a group with active/passive probes: the pod with the label quarks.cloudfoundry.org/pod-active. Where probes
    /// were added, the Service leads to it as soon as the rollout is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_pod: Option<ActivePod>,
    /// The rule that keeps instances from being updated: GroupOrder, ZoneOrder, Canaries, MaxInFlight, FailedUpdate,
    /// Paused or IgnoredInstance. The condition Progressing says what they wait for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by: Option<String>,
    /// The rule that does not apply: the annotation quarks.cloudfoundry.org/waived-rule, while it is of the present
    /// generation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waived_rule: Option<String>,
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
    /// Ready and Progressing; and DisksAsAsked if pods have claims: whether these have the requested size and class.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// The active pod of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActivePod {
    /// The pod; none while no pod is active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Grows with each record.
    #[schemars(range(min = 1))]
    pub transitions: i64,
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

// === impl QuarksStatefulSetSpec ===

impl QuarksStatefulSetSpec {
    /// Pods of each zone; without zones, of the group.
    pub fn replicas_by_zone(&self) -> Vec<usize> {
        let template = self.template.members();
        let each = template.get("spec").and_then(|spec| spec.get("replicas")?.as_i64());
        let of_zone = |zone: usize| {
            let own = self.zone_replicas.get(zone).map(|count| i64::from(*count));
            usize::try_from(own.or(each).unwrap_or(1)).unwrap_or(0)
        };
        (0..self.zones.len().max(1)).map(of_zone).collect()
    }

    /// The volumes of the pods, without claims.
    pub fn volumes(&self) -> Vec<Value> {
        let mut template = self.template.members();
        let volumes = pod_mut(&mut template).and_then(|pod| pod.get_mut("volumes")?.as_array_mut());
        volumes.map(std::mem::take).unwrap_or_default()
    }
}

// === impl QuarksStatefulSet ===

impl QuarksStatefulSet {
    /// Whether the Service of the group may begin to lead to the active pod alone: one was chosen, and no pod is left
    /// that cannot tell whether it is active.
    pub fn serves_from_active_pod(&self) -> bool {
        let has_probes = !self.spec.active_passive_probes.is_empty();
        let status = self.status.as_ref();
        let status = status.filter(|status| status.observed_generation == self.metadata.generation);
        has_probes && status.is_some_and(|status| status.rollout().is_none() && status.active_pod().is_some())
    }
}

// === impl QuarksStatefulSetStatus ===

impl QuarksStatefulSetStatus {
    /// The name of the active pod.
    pub fn active_pod(&self) -> Option<&str> {
        self.active_pod.as_ref()?.name.as_deref()
    }

    /// Reason and message of the condition Ready if it is False; none if pods only need more time.
    pub fn problem(&self) -> Option<(&str, &str)> {
        let is_problem = |reason: &str| ![PODS_READY, PODS_NOT_READY].contains(&reason);
        self.condition("Ready")
            .filter(|one| is_problem(&one.reason) && one.status == ConditionStatus::False)
            .map(|one| (one.reason.as_str(), one.message.as_str()))
    }

    /// Reason and message of the condition Progressing; none once everything is rolled out.
    pub fn rollout(&self) -> Option<(&str, &str)> {
        self.condition(PROGRESSING)
            .filter(|one| one.reason != ROLLED_OUT)
            .map(|one| (one.reason.as_str(), one.message.as_str()))
    }

    /// The condition of this type.
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|one| one.kind == kind)
    }
}
