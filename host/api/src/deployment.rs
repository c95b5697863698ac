//! BOSHDeployment: a manifest, its ops files and variables, and how it is converted.

use crate::{Condition, ConditionStatus, InstanceState};
use boson_manifest::instances::Spread;
use boson_pipeline::Stage;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What to deploy.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "quarks.cloudfoundry.org",
    version = "v1alpha1",
    kind = "BOSHDeployment",
    root = "BoshDeployment",
    plural = "boshdeployments",
    shortname = "bdpl",
    shortname = "bdpls",
    category = "quarks",
    namespaced,
    status = "BoshDeploymentStatus",
    derive = "PartialEq",
    doc = "A BOSH deployment. Its name is the deployment's name; 'name' in the manifest has no effect.",
    validation = Rule::new("self.metadata.name.matches('^[a-z]')").message("the name of a deployment must begin with a letter, because names of Services begin with it"),
    printcolumn(name = "State", type_ = "string", json_path = ".status.state", description = "State of the deployment"),
    printcolumn(name = "Groups", type_ = "integer", json_path = ".status.totalInstanceGroups", description = "Instance groups that are services"),
    printcolumn(name = "Deployed", type_ = "integer", json_path = ".status.deployedInstanceGroups", description = "Instance groups that are ready"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status", description = "Whether everything runs as the manifest specifies"),
    printcolumn(name = "Rollout", type_ = "string", json_path = ".status.conditions[?(@.type==\"Progressing\")].reason", description = "How far the newest change is rolled out"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Jobs", type_ = "integer", json_path = ".status.totalJobCount", description = "Steps of the conversion, and errands that were started", priority = 1),
    printcolumn(name = "Completed", type_ = "integer", json_path = ".status.completedJobCount", description = "Steps and errands that are completed", priority = 1),
    printcolumn(name = "Waits", type_ = "string", json_path = ".status.conditions[?(@.type==\"Progressing\")].message", description = "What the rollout waits for, by instance group", priority = 1),
    printcolumn(name = "Message", type_ = "string", json_path = ".status.message", description = "What the deployment waits for, or what failed", priority = 1)
)]
#[serde(rename_all = "camelCase")]
pub struct BoshDeploymentSpec {
    /// The manifest. A ConfigMap or Secret holds it under the key 'manifest'.
    pub manifest: ResourceReference,
    /// Ops files, applied in this order. A ConfigMap or Secret holds one under the key 'ops'.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), extend("x-kubernetes-list-type" = "atomic"))]
    pub ops: Vec<ResourceReference>,
    /// The cloud config, in BOSH's format: what AZs, VM types, VM extensions and disk types of the manifest stand for.
    /// A ConfigMap or Secret holds it under the key 'cloud-config'.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloud_config: Option<ResourceReference>,
    /// More cloud configs, merged with the first as a director merges them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "atomic"))]
    pub cloud_configs: Vec<ResourceReference>,
    /// Runtime configs, in BOSH's format: addons for the instance groups of many deployments, with their releases and
    /// variables, and tags. They are merged in this order. A ConfigMap or Secret holds one under the key
    /// 'runtime-config'.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "atomic"))]
    pub runtime_configs: Vec<ResourceReference>,
    /// Your own values for variables of the manifest; no values are generated for these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub vars: Vec<VariableReference>,
    /// Retention of generated values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables: Option<Variables>,
    /// How the manifest is converted to objects. The defaults suit most deployments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversion: Option<Conversion>,
    /// Whether changes of instance groups wait: until this is false, no pod of a service is created or replaced for
    /// them. The manifest is converted nevertheless, and updates that have begun are completed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// Desired states of instance groups and instances: 'host stop', 'host restart', 'host ignore' and others set them.
    /// Other manifests keep them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub instances: Vec<InstanceState>,
}

// === impl BoshDeployment ===

impl BoshDeployment {
    /// The condition of this type, if it is about the present generation.
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        let mut conditions = self.status.iter().flat_map(|status| &status.conditions);
        conditions.find(|one| one.kind == kind && one.observed_generation == self.metadata.generation)
    }

    /// Whether this condition is true for the present generation.
    pub fn is(&self, kind: &str) -> bool {
        let condition = self.condition(kind);
        condition.is_some_and(|one| one.status == ConditionStatus::True)
    }

    /// The first of these conditions that is false for the present generation.
    pub fn first_false(&self, kinds: &[&str]) -> Option<&Condition> {
        let mut conditions = kinds.iter().filter_map(|kind| self.condition(kind));
        conditions.find(|one| one.status == ConditionStatus::False)
    }
}

// === impl BoshDeploymentSpec ===

impl BoshDeploymentSpec {
    /// Which generated values outlive the deployment.
    pub fn retain(&self) -> Retain {
        self.variables.clone().unwrap_or_default().retain
    }

    /// Whether an instance group or an instance itself is stopped. `name`: `GROUP` or `GROUP/INDEX`.
    pub fn is_stopped(&self, name: &str) -> bool {
        self.instances.iter().any(|one| one.name == name && one.desired.stopped)
    }

    /// Whether an instance is ignored. `name`: `GROUP/INDEX`.
    pub fn is_ignored(&self, name: &str) -> bool {
        self.instances.iter().any(|one| one.name == name && one.desired.ignored)
    }

    /// All documents that the specification refers to.
    pub fn documents(&self) -> impl Iterator<Item = &ResourceReference> {
        std::iter::once(&self.manifest)
            .chain(&self.ops)
            .chain(&self.cloud_config)
            .chain(&self.cloud_configs)
            .chain(&self.runtime_configs)
    }
}

/// Reference to a document.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[x_kube(validation = Rule::new("self.type != 'url' || self.name.matches('^https?://[^/]')").message("the name of a url must be its address, with http:// or https://"))]
#[x_kube(validation = Rule::new("self.type == 'url' || (self.name.size() <= 253 && self.name.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$'))").message("the name of a ConfigMap or Secret must be at most 253 lower-case letters, digits, '-' and '.'"))]
pub struct ResourceReference {
    /// Where the document is.
    #[serde(rename = "type")]
    pub kind: ReferenceType,
    /// Name of the ConfigMap or Secret in the namespace of the BOSHDeployment; for a url, its address.
    #[schemars(length(min = 1, max = 2048))]
    pub name: String,
}

/// Where a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReferenceType {
    /// A ConfigMap.
    Configmap,
    /// A Secret.
    Secret,
    /// A web server.
    Url,
}

/// A value that the user gives for a variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VariableReference {
    /// The variable, as the manifest names it.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Name of the Secret with the value. A simple value is under the key 'password', a structured one under the keys
    /// of its parts, such as 'certificate' and 'private_key'.
    #[schemars(length(min = 1, max = 253), regex(pattern = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"))]
    pub secret: String,
}

/// Retention of generated values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Variables {
    /// Whether generated values are retained when the BOSHDeployment is deleted, so that a later one of the same name
    /// has the same values. 'host prune' deletes them.
    #[serde(default)]
    pub retain: Retain,
}

/// Which generated values outlive the BOSHDeployment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Retain {
    /// All, if the deployment has PersistentVolumeClaims or its instance groups request some: claims stay, and their
    /// data may be useless without the values.
    #[default]
    WithClaims,
    /// All.
    Always,
    /// None.
    Never,
}

/// How a manifest is converted to objects.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Conversion {
    /// Where the conversion runs. Both modes create identical Secrets.
    #[serde(default)]
    pub mode: ConversionMode,
    /// What 'instances' of an instance group means.
    #[serde(default)]
    pub instances: Instances,
    /// Whether jobs that start processes but have no bpm.yml run by their monit files. The job property 'quarks.monit:
    /// true' sets it for one job.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub monit: bool,
    /// Plugins to use in place of the built-in ones, or after them. A stage has one plugin, except 'resources': its
    /// plugins run in the order given here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "atomic"))]
    #[x_kube(validation = Rule::new("self.all(p, p.stage == 'resources' || self.filter(q, q.stage == p.stage).size() == 1)").message("a stage other than 'resources' must have one plugin"))]
    pub plugins: Vec<PluginChoice>,
    /// Registry and organization of all release images, such as 'registry.example.com/bosh', without https://. It
    /// replaces the url of each release in the manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 1024),
        regex(pattern = r"^[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?(:[0-9]+)?(/[A-Za-z0-9._/-]*)?$")
    )]
    pub registry: Option<String>,
}

/// Where a conversion runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConversionMode {
    /// In pods that run the release images, as QuarksJobs.
    #[default]
    Jobs,
    /// In the operator, which reads the image layers from the registry: seconds instead of minutes.
    InProcess,
}

/// What the number of instances means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Instances {
    /// All instances of the group, spread over its availability zones as BOSH does: the first zones get the remainder.
    #[default]
    Total,
    /// The instances in each availability zone.
    PerZone,
}

impl From<Instances> for Spread {
    fn from(instances: Instances) -> Self {
        match instances {
            Instances::Total => Self::Total,
            Instances::PerZone => Self::PerZone,
        }
    }
}

/// A plugin for a stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PluginChoice {
    /// The stage.
    #[schemars(schema_with = "crate::schema::stage")]
    pub stage: Stage,
    /// Name of the plugin, from its plugin.yaml.
    #[schemars(length(min = 1, max = 253), regex(pattern = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"))]
    pub name: String,
    /// Settings, by the plugin's own schema.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "crate::schema::anything")]
    pub settings: Map<String, Value>,
}

/// The status of a deployment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BoshDeploymentStatus {
    /// When the operator last changed something for this deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::schema::optional_date_time")]
    pub last_reconcile: Option<Time>,
    /// State: Created, Resolving Manifest, Converting to Kubernetes Resources or Deployed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<DeploymentState>,
    /// What the deployment waits for, or what failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Steps of the conversion, and errands that were started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub total_job_count: Option<i32>,
    /// Steps and errands that are completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub completed_job_count: Option<i32>,
    /// Instance groups of the manifest that are services.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub total_instance_groups: Option<i32>,
    /// Instance groups whose instances are all ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub deployed_instance_groups: Option<i32>,
    /// When state or one of the counts last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::schema::optional_date_time")]
    pub state_timestamp: Option<Time>,
    /// The metadata.generation that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// Digest of the manifest, the ops files and the Secrets of spec.vars that the conditions are about: it changes
    /// after an edit of a ConfigMap is processed. 'host wait' compares it with the present documents. The content of
    /// URLs is not included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs_digest: Option<String>,
    /// The inputs of the objects when they were last applied: by name, never with a value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub inputs: Vec<Input>,
    /// Ready, Progressing, Converted, Applied and PluginsHealthy; ErrandsSucceeded if errands were started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The plugins that the last conversion used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub plugins: Vec<PluginUse>,
    /// Digest of the warnings that were emitted as events, so that each is emitted once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warned: Option<String>,
    /// Instance groups whose pods keep an older operator image: an upgrade of the operator restarts no pod.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub outdated_groups: Vec<OutdatedGroup>,
    /// Variables that the manifest no longer has. Their values are retained until the deployment is deleted, or until
    /// 'host prune'.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub removed_variables: Vec<String>,
    /// Version of the desired manifest for which the operator last started the post-deploy scripts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post_deploy: Option<String>,
}

/// An instance group whose pods keep an older operator image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutdatedGroup {
    /// Name of the instance group.
    pub name: String,
    /// The operator image that its pods were created with.
    pub image: String,
}

/// State: Created, Resolving Manifest, Converting to Kubernetes Resources or Deployed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DeploymentState {
    /// An operator has observed it.
    Created,
    /// The steps of the conversion are not completed, and not all groups are ready.
    #[serde(rename = "Resolving Manifest")]
    ResolvingManifest,
    /// Either the steps are completed or all groups are ready.
    #[serde(rename = "Converting to Kubernetes Resources")]
    Converting,
    /// The steps are completed, and all groups are ready.
    Deployed,
}

/// A plugin that was used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginUse {
    /// The stage.
    #[schemars(schema_with = "crate::schema::stage")]
    pub stage: Stage,
    /// Name of the plugin.
    pub name: String,
    /// Its version.
    pub version: String,
    /// sha256 of its code.
    pub digest: String,
    /// sha256 of what runs, if it is not the code itself: the component with the host's answers to WASI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<String>,
    /// The instance groups that it is for. Without it, all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1000), extend("x-kubernetes-list-type" = "atomic"))]
    pub instance_groups: Option<Vec<String>>,
}

/// An input of a deployment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Input {
    /// Kind of the input.
    pub kind: InputKind,
    /// Its reference, such as 'configmap/scale'; for a variable, its name.
    pub name: String,
    /// Digest of its content. For a Secret only of its UID and resourceVersion: a short value could be guessed from its
    /// digest.
    pub digest: String,
}

/// The kind of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum InputKind {
    /// The manifest.
    Manifest,
    /// An ops file.
    Ops,
    /// A cloud config.
    #[serde(rename = "cloudConfig")]
    CloudConfig,
    /// A runtime config.
    #[serde(rename = "runtimeConfig")]
    RuntimeConfig,
    /// The value of a variable, given or generated.
    Variable,
    /// A native Secret or Service that provides a link, or another deployment.
    Link,
}
