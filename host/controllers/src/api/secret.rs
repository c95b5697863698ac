//! QuarksSecret: a Secret whose value the operator makes.

use super::Condition;
use super::request::Request;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What to make, and where to put it.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "quarks.cloudfoundry.org",
    version = "v1alpha1",
    kind = "QuarksSecret",
    plural = "quarkssecrets",
    shortname = "qsec",
    shortname = "qsecs",
    category = "quarks",
    namespaced,
    status = "QuarksSecretStatus",
    derive = "PartialEq",
    doc = "A Secret whose value is generated once and then kept. A Secret of the same name that you made yourself is left as it is.",
    printcolumn(
        name = "Type",
        type_ = "string",
        json_path = ".spec.type",
        description = "What is made"
    ),
    printcolumn(
        name = "Secret",
        type_ = "string",
        json_path = ".spec.secretName",
        description = "Where it is put"
    ),
    printcolumn(
        name = "Generated",
        type_ = "boolean",
        json_path = ".status.generated",
        description = "Whether the Secret is there"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Expires",
        type_ = "date",
        json_path = ".status.notAfter",
        description = "When the certificate expires; it is renewed before",
        priority = 1
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message",
        description = "What is waited for, or what failed",
        priority = 1
    )
)]
#[x_kube(validation = Rule::new("!(self.type in ['certificate', 'tls']) || (has(self.request) && has(self.request.certificate))").message("types certificate and tls need request.certificate"))]
#[x_kube(validation = Rule::new("self.type != 'tls' || !has(self.request) || !has(self.request.certificate) || self.request.certificate.signerType != 'cluster'").message("type tls is signed locally: signerType cluster is for type certificate"))]
#[x_kube(validation = Rule::new("self.type != 'dockerconfigjson' || (has(self.request) && has(self.request.imageCredentials))").message("type dockerconfigjson needs request.imageCredentials"))]
#[x_kube(validation = Rule::new("self.type != 'templatedconfig' || (has(self.request) && has(self.request.templatedConfig))").message("type templatedconfig needs request.templatedConfig"))]
#[serde(rename_all = "camelCase")]
pub struct QuarksSecretSpec {
    /// What to make. copy makes nothing: it says that this namespace takes a copy from another.
    #[serde(rename = "type")]
    pub kind: SecretType,
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253), regex(pattern = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"))]
    pub secret_name: String,
    /// Options of the type, in the member of its name. Without it the defaults hold, which are BOSH's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Request>,
    /// Copies of the Secret for other namespaces. Each has to agree: by a QuarksSecret of type copy that has this one's name, or by a
    /// Secret of the copy's name, either with the annotation quarks.cloudfoundry.org/secret-copy-of: NAMESPACE/NAME of this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["namespace", "name"]))]
    pub copies: Vec<Copy>,
    /// What becomes of the Secret when this object is deleted. The operator sets it for the variables of a BOSHDeployment, as
    /// spec.variables.retain of that says.
    #[serde(default)]
    pub reclaim_policy: ReclaimPolicy,
    /// Labels for the Secret.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "crate::api::schema::labels")]
    pub secret_labels: BTreeMap<String, String>,
    /// Annotations for the Secret.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secret_annotations: BTreeMap<String, String>,
}

/// What to make, and the keys of its Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SecretType {
    /// password.
    Password,
    /// username, password and password_hash.
    User,
    /// certificate, private_key, ca and is_ca.
    Certificate,
    /// tls.crt, tls.key and ca, as Ingresses want them.
    Tls,
    /// private_key and public_key.
    Rsa,
    /// private_key, public_key and public_key_fingerprint.
    Ssh,
    /// username and password, as Kubernetes wants them.
    #[serde(rename = "basic-auth")]
    BasicAuth,
    /// .dockerconfigjson, to pull images with.
    DockerConfigJson,
    /// A key for each template.
    TemplatedConfig,
    /// Nothing.
    Copy,
}

/// What becomes of a Secret whose QuarksSecret is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ReclaimPolicy {
    /// It is deleted, too.
    #[default]
    Delete,
    /// It stays, and a QuarksSecret of the same name adopts it. No other one does.
    Retain,
}

// === impl ReclaimPolicy ===

impl ReclaimPolicy {
    /// As the API spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Delete => "Delete",
            Self::Retain => "Retain",
        }
    }
}

/// Where a copy goes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Copy {
    /// Name of the copy.
    #[schemars(length(min = 1, max = 253), regex(pattern = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"))]
    pub name: String,
    /// Its namespace.
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub namespace: String,
}

/// How far it got.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuarksSecretStatus {
    /// When the operator last changed something for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::api::schema::optional_date_time")]
    pub last_reconcile: Option<Time>,
    /// Whether the Secret is there: generated, or made by you.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated: Option<bool>,
    /// UID of the Secret that this status is about.
    #[serde(default, rename = "secretUID", skip_serializing_if = "Option::is_none")]
    pub secret_uid: Option<String>,
    /// Whether all copies are what the Secret is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied: Option<bool>,
    /// When the certificate expires. It is renewed before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::api::schema::optional_date_time")]
    pub not_after: Option<Time>,
    /// The metadata.generation that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// Ready; Copied where there are copies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}
