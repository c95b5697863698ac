//! QuarksJob: a Job with a trigger, whose output becomes Secrets.

use crate::template::Template;
use crate::{Condition, ConditionStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What to run, when, and how to store its output.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "quarks.cloudfoundry.org",
    version = "v1alpha1",
    kind = "QuarksJob",
    plural = "quarksjobs",
    shortname = "qjob",
    shortname = "qjobs",
    category = "quarks",
    namespaced,
    status = "QuarksJobStatus",
    derive = "PartialEq",
    doc = "A Job that runs on a trigger and may store its output in Secrets. Errands of a deployment are QuarksJobs.",
    printcolumn(
        name = "Strategy",
        type_ = "string",
        json_path = ".spec.trigger.strategy",
        description = "When it runs"
    ),
    printcolumn(
        name = "Completed",
        type_ = "boolean",
        json_path = ".status.completed",
        description = "Whether its last run succeeded"
    ),
    printcolumn(
        name = "Failed",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Failed\")].status",
        description = "Whether its last run failed, or it cannot run"
    ),
    printcolumn(
        name = "Runs",
        type_ = "integer",
        json_path = ".status.runs",
        description = "How often it ran"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Complete\")].message",
        description = "Result of its last run, or what it waits for",
        priority = 1
    ),
    printcolumn(
        name = "On change",
        type_ = "boolean",
        json_path = ".spec.updateOnConfigChange",
        description = "Whether it reruns when its configuration changes",
        priority = 1
    )
)]
#[serde(rename_all = "camelCase")]
pub struct QuarksJobSpec {
    /// When to run.
    pub trigger: Trigger,
    /// The Job: see 'kubectl explain cronjob.spec.jobTemplate'. Pods with the label 'delete: pod' are deleted after a
    /// success.
    #[schemars(schema_with = "crate::schema::job_template")]
    pub template: Template,
    /// Whether to rerun when the template changes, or a ConfigMap or Secret that it refers to, or when a versioned
    /// Secret has a newer version, which the rerun uses. Only with the strategies once and done. A run in progress is
    /// cancelled.
    #[serde(default)]
    pub update_on_config_change: bool,
    /// How to store the files that containers write to /mnt/quarks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
}

/// When to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trigger {
    /// manual: only after a user sets it to now or changed. now: at once; the operator sets it back to manual. changed:
    /// like now, but only if the configuration has changed since the last run, or that run failed. once: at once; when
    /// the run has started, the operator sets it to done.
    pub strategy: Strategy,
}

/// When to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// Not yet.
    Manual,
    /// At once, and then manual.
    Now,
    /// At once, unless the last run succeeded with the same configuration, and then manual.
    Changed,
    /// At once, and then done.
    Once,
    /// It has run.
    Done,
}

/// How to store files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// The Secret to create, by container name and file name.
    pub output_map: BTreeMap<String, BTreeMap<String, OutputSecret>>,
    /// Format of the files.
    #[serde(default)]
    pub output_type: OutputType,
    /// Labels for all of these Secrets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "crate::schema::labels")]
    pub secret_labels: BTreeMap<String, String>,
    /// Whether to store the output of a container that exited with code 1.
    #[serde(default)]
    pub write_on_failure: bool,
}

/// Format of output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutputType {
    /// A JSON object of strings.
    #[default]
    Json,
}

/// The Secret of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputSecret {
    /// Name of the Secret, or the beginning of its name.
    #[schemars(length(min = 1, max = 253), regex(pattern = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"))]
    pub name: String,
    /// Whether each change creates a new, immutable Secret, whose name ends in -v1, -v2 and so on.
    #[serde(default)]
    pub versioned: bool,
    /// one-to-one: the file is a JSON object of strings and becomes one Secret. fan-out: each member is such an object,
    /// encoded as a string, and becomes a Secret whose name ends in the name of the member.
    #[serde(default, rename = "persistencemethod")]
    pub persistence_method: PersistenceMethod,
    /// Labels for this Secret.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "crate::schema::labels")]
    pub secret_labels: BTreeMap<String, String>,
    /// Annotations for this Secret.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secret_annotations: BTreeMap<String, String>,
}

/// How a file becomes Secrets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PersistenceMethod {
    /// One.
    #[default]
    OneToOne,
    /// One for each member.
    FanOut,
}

/// The status of a QuarksJob.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuarksJobStatus {
    /// When the operator last changed something for this object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::schema::optional_date_time")]
    pub last_reconcile: Option<Time>,
    /// Whether its last run succeeded and its output is stored.
    #[serde(default)]
    pub completed: bool,
    /// How many runs it had; the number of the last one.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub runs: i64,
    /// The number of the last run that has ended.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub ended_runs: i64,
    /// Digest of the template and of the objects that it refers to, from when the last run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_digest: Option<String>,
    /// The metadata.generation of the last trigger 'changed' that started no run, because nothing had changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub skipped_generation: Option<i64>,
    /// The metadata.generation that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// Complete and Failed, like those of a Job.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

// === impl QuarksJobStatus ===

impl QuarksJobStatus {
    /// Its condition Failed, if that is True.
    pub fn failure(&self) -> Option<&Condition> {
        let mut conditions = self.conditions.iter();
        conditions.find(|one| one.kind == "Failed" && one.status == ConditionStatus::True)
    }
}
