//! BOSHDeployment: a manifest, what changes it, and how it is converted.

use super::Condition;
use boson_deployment::instances::Spread;
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
    validation = Rule::new("self.metadata.name.matches('^[a-z]')").message("the name of a deployment begins with a letter: it begins the names of Services"),
    printcolumn(name = "State", type_ = "string", json_path = ".status.state", description = "How far it got"),
    printcolumn(name = "Groups", type_ = "integer", json_path = ".status.totalInstanceGroups", description = "Instance groups that run for ever"),
    printcolumn(name = "Deployed", type_ = "integer", json_path = ".status.deployedInstanceGroups", description = "Those that are ready"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status", description = "Whether all of it runs as the manifest says"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Jobs", type_ = "integer", json_path = ".status.totalJobCount", description = "Steps of the conversion, and errands that were started", priority = 1),
    printcolumn(name = "Completed", type_ = "integer", json_path = ".status.completedJobCount", description = "Those that are completed", priority = 1),
    printcolumn(name = "Message", type_ = "string", json_path = ".status.message", description = "What is waited for, or what failed", priority = 1)
)]
#[serde(rename_all = "camelCase")]
pub struct BoshDeploymentSpec {
    /// The manifest. A ConfigMap or Secret holds it under the key 'manifest'.
    pub manifest: ResourceReference,
    /// Ops files, applied in this order. A ConfigMap or Secret holds one under the key 'ops'.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), extend("x-kubernetes-list-type" = "atomic"))]
    pub ops: Vec<ResourceReference>,
    /// The cloud config, in BOSH's format: what AZs, VM types, VM extensions and disk types of the manifest stand for. A ConfigMap or Secret holds
    /// it under the key 'cloud-config'.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloud_config: Option<ResourceReference>,
    /// More cloud configs, merged with the first as a director merges them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "atomic"))]
    pub cloud_configs: Vec<ResourceReference>,
    /// Values of yours for variables of the manifest; nothing is generated for these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub vars: Vec<VariableReference>,
    /// How generated values of variables are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables: Option<Variables>,
    /// How the manifest becomes objects. The defaults suit most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversion: Option<Conversion>,
}

// === impl BoshDeploymentSpec ===

impl BoshDeploymentSpec {
    /// All cloud configs, in the order in which they are merged.
    pub fn all_cloud_configs(&self) -> impl Iterator<Item = &ResourceReference> {
        self.cloud_config.iter().chain(&self.cloud_configs)
    }

    /// Which generated values outlive the deployment.
    pub fn retain(&self) -> Retain {
        self.variables
            .as_ref()
            .map_or_else(Retain::default, |variables| variables.retain)
    }

    /// Everything that the manifest is made from.
    pub fn documents(&self) -> impl Iterator<Item = &ResourceReference> {
        std::iter::once(&self.manifest)
            .chain(&self.ops)
            .chain(self.all_cloud_configs())
    }
}

/// Where a document is.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[x_kube(validation = Rule::new("self.type != 'url' || self.name.matches('^https?://[^/]')").message("the name of a url is its address, with http:// or https://"))]
#[x_kube(validation = Rule::new("self.type == 'url' || (self.name.size() <= 253 && self.name.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$'))").message("the name of a ConfigMap or Secret is at most 253 lower-case letters, digits, '-' and '.'"))]
pub struct ResourceReference {
    /// What kind of thing holds the document.
    #[serde(rename = "type")]
    pub kind: ReferenceType,
    /// Name of the ConfigMap or Secret, in the namespace of the BOSHDeployment; of a url, its address.
    #[schemars(length(min = 1, max = 2048))]
    pub name: String,
}

/// What kind of thing holds a document.
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

/// A value of the user's for a variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VariableReference {
    /// The variable, as the manifest names it.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Name of the Secret that holds the value: under the key 'password' if it is one text, else under the keys of its parts, such as
    /// 'certificate' and 'private_key'.
    #[schemars(length(min = 1, max = 253), regex(pattern = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"))]
    pub secret: String,
}

/// How generated values of variables are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Variables {
    /// Whether generated values outlive the BOSHDeployment, so that one of the same name that comes later has the same values. 'host prune'
    /// deletes them.
    #[serde(default)]
    pub retain: Retain,
}

/// Which generated values outlive the BOSHDeployment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Retain {
    /// All, if there are PersistentVolumeClaims of the deployment or its instance groups ask for some: claims stay, and their data may be of no
    /// use without the values.
    #[default]
    WithClaims,
    /// All.
    Always,
    /// None.
    Never,
}

/// How a manifest becomes objects.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Conversion {
    /// Where the conversion runs. Both modes give the same Secrets, to the byte.
    #[serde(default)]
    pub mode: ConversionMode,
    /// What 'instances' of an instance group means.
    #[serde(default)]
    pub instances: Instances,
    /// Jobs that start processes and have no bpm.yml run by their monit files, as the job property 'quarks.monit: true' asks for one job.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub monit: bool,
    /// Rules to use in place of the built-in ones, or after them. A stage has one rule, except 'resources': its rules run in the order
    /// given here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "atomic"))]
    #[x_kube(validation = Rule::new("self.all(p, p.stage == 'resources' || self.filter(q, q.stage == p.stage).size() == 1)").message("a stage other than 'resources' has one plugin"))]
    pub plugins: Vec<PluginChoice>,
    /// Registry, with organization, to take all release images from, in place of the url that the manifest gives each release:
    /// 'registry.example.com/bosh', without https://.
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
    /// In the operator, which reads what it needs from the images' layers through the registry: seconds in place of minutes.
    InProcess,
}

/// What the number of instances means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Instances {
    /// All instances of the group, spread over its availability zones as BOSH does: the first zones get what is left over.
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

/// A rule for a stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PluginChoice {
    /// The stage.
    pub stage: StageName,
    /// Name of the plugin, as its plugin.yaml says.
    #[schemars(length(min = 1, max = 253), regex(pattern = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"))]
    pub name: String,
    /// Settings, by the schema that the plugin describes itself with.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "crate::api::schema::anything")]
    pub settings: Map<String, Value>,
}

/// A stage of the conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StageName {
    /// Operations change the manifest.
    Ops,
    /// Variables get values.
    Variables,
    /// Links are resolved.
    Links,
    /// Templates are rendered.
    Render,
    /// Instance groups become objects.
    Bpm,
    /// Objects are changed at the end.
    Resources,
}

/// How far a deployment got.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BoshDeploymentStatus {
    /// When the operator last changed something for this deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::api::schema::optional_date_time")]
    pub last_reconcile: Option<Time>,
    /// How far it got: Created, Resolving Manifest, Converting to Kubernetes Resources, Deployed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<DeploymentState>,
    /// What is waited for, or what failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Steps of the conversion, and errands that were started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub total_job_count: Option<i32>,
    /// Those that are completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub completed_job_count: Option<i32>,
    /// Instance groups of the manifest that run for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub total_instance_groups: Option<i32>,
    /// Those whose instances are all ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub deployed_instance_groups: Option<i32>,
    /// When state or one of the counts last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::api::schema::optional_date_time")]
    pub state_timestamp: Option<Time>,
    /// The metadata.generation that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// Digest of the manifest, the ops files and the Secrets of spec.vars that the conditions are about: when it has changed, they are about
    /// an edit of a ConfigMap. 'host wait' compares it with what there is. The content of URLs is no part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs_digest: Option<String>,
    /// What the objects were made from when they were last applied: by name, never with a value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub inputs: Vec<Input>,
    /// Ready, Converted, Applied and PluginsHealthy; ErrandsSucceeded where errands were started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The rules that the last conversion used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub plugins: Vec<PluginUse>,
    /// Digest of the warnings that stand in events, so that they are told once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warned: Option<String>,
    /// Instance groups whose pods keep an older operator image: an upgrade of the operator restarts no pod.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub outdated_groups: Vec<OutdatedGroup>,
    /// Variables that the manifest no longer has. Their values are kept until the deployment goes, or until 'host prune'.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub removed_variables: Vec<String>,
}

/// An instance group whose pods keep an older operator image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutdatedGroup {
    /// Name of the instance group.
    pub name: String,
    /// The operator image that its pods were made with.
    pub image: String,
}

/// How far a deployment got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DeploymentState {
    /// It was seen.
    Created,
    /// Neither are the steps of the conversion completed nor all groups ready.
    #[serde(rename = "Resolving Manifest")]
    ResolvingManifest,
    /// One of the two holds.
    #[serde(rename = "Converting to Kubernetes Resources")]
    Converting,
    /// Both hold.
    Deployed,
}

/// A rule that was used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PluginUse {
    /// The stage.
    pub stage: StageName,
    /// Name of the plugin.
    pub name: String,
    /// Its version.
    pub version: String,
    /// sha256 of its code.
    pub digest: String,
}

/// Something that a deployment is made from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Input {
    /// What it is.
    pub kind: InputKind,
    /// Where it is: 'configmap/scale'. Of a variable: its name.
    pub name: String,
    /// Of its content. Of a Secret only of its UID and resourceVersion: a digest of a short value could be guessed.
    pub digest: String,
}

/// What an input is.
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
    /// The value of a variable, given or generated.
    Variable,
}
