//! PluginApproval: the versions of a plugin that may be used, where an administrator requires approvals.

use boson_pipeline::Stage;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most versions of an approval.
pub const MAX_VERSIONS: usize = 64;

/// Which versions are approved.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "quarks.cloudfoundry.org",
    version = "v1alpha1",
    kind = "PluginApproval",
    plural = "pluginapprovals",
    singular = "pluginapproval",
    shortname = "pappr",
    category = "quarks",
    namespaced,
    derive = "PartialEq",
    doc = "The approved versions of the plugin in the ConfigMap of the same name. With '--plugin-updates approve', the operator uses a version only if an approved one covers it. 'host plugin approve' writes it.",
    printcolumn(
        name = "Plugin",
        type_ = "string",
        json_path = ".spec.versions[-1:].name",
        description = "Name of the plugin in the newest approved version"
    ),
    printcolumn(
        name = "Stage",
        type_ = "string",
        json_path = ".spec.versions[-1:].stage",
        description = "Stage of the newest approved version"
    ),
    printcolumn(
        name = "Component",
        type_ = "string",
        json_path = ".spec.versions[-1:].component",
        description = "Digest of the component of the newest approved version"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct PluginApprovalSpec {
    /// The approved versions, the newest last. A version that needs no more than one of these may be used, so a
    /// rollback to an earlier one needs no new approval. Remove a version to revoke its approval.
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "atomic"))]
    pub versions: Vec<ApprovedVersion>,
}

/// Everything that is approved about a version of a plugin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovedVersion {
    /// Name in plugin.yaml. Deployments name the plugin by it, and so do the operator's options that allow permissions.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The stage of the conversion.
    #[schemars(schema_with = "crate::schema::stage")]
    pub stage: Stage,
    /// sha256 of the component, or of the image that contains it.
    #[schemars(regex(pattern = r"^sha256:[0-9a-f]{64}$"))]
    pub component: String,
    /// Whether it wraps the rule of its stage instead of replacing it.
    #[serde(default)]
    pub wraps: bool,
    /// The order in plugin.yaml.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<i64>,
    /// Whether its errors fail a conversion: 'enforce' in plugin.yaml.
    #[serde(default)]
    pub enforce: bool,
    /// What happens if it fails itself.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// sha256 of each of its settings, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 1000))]
    pub settings: BTreeMap<String, String>,
    /// Namespaces in its selector. Without it, deployments of all namespaces that it can serve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1000), extend("x-kubernetes-list-type" = "atomic"))]
    pub namespaces: Option<Vec<String>>,
    /// Deployments in its selector. Without it, deployments of any name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1000), extend("x-kubernetes-list-type" = "atomic"))]
    pub deployments: Option<Vec<String>>,
    /// Instance groups in its selector. Without it, all instance groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1000), extend("x-kubernetes-list-type" = "atomic"))]
    pub instance_groups: Option<Vec<String>>,
}

/// What happens if a plugin fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    /// The conversion fails.
    #[default]
    Fail,
    /// The conversion continues without it.
    Skip,
}
