//! QuarksSecret: a Secret whose value the operator generates.

use crate::Condition;
use crate::request::Request;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Condition of a CA that is being rotated. It is gone afterwards.
pub const ROTATING: &str = "Rotating";

/// What to generate, and for which Secret.
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
    doc = "A Secret whose value is generated once and then kept. An existing Secret of the same name that you created is not changed.",
    printcolumn(
        name = "Type",
        type_ = "string",
        json_path = ".spec.type",
        description = "Type of the Secret"
    ),
    printcolumn(
        name = "Secret",
        type_ = "string",
        json_path = ".spec.secretName",
        description = "Name of the Secret"
    ),
    printcolumn(
        name = "Generated",
        type_ = "boolean",
        json_path = ".status.generated",
        description = "Whether the Secret exists"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Expires",
        type_ = "date",
        json_path = ".status.notAfter",
        description = "When the certificate expires; it is renewed earlier",
        priority = 1
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message",
        description = "What it waits for, or what failed",
        priority = 1
    )
)]
#[x_kube(validation = Rule::new("!(self.type in ['certificate', 'tls']) || (has(self.request) && has(self.request.certificate))").message("types certificate and tls need request.certificate"))]
#[x_kube(validation = Rule::new("self.type != 'tls' || !has(self.request) || !has(self.request.certificate) || self.request.certificate.signerType != 'cluster'").message("type tls is signed locally: signerType cluster is for type certificate"))]
#[x_kube(validation = Rule::new("self.type != 'dockerconfigjson' || (has(self.request) && has(self.request.imageCredentials))").message("type dockerconfigjson needs request.imageCredentials"))]
#[x_kube(validation = Rule::new("self.type != 'templatedconfig' || (has(self.request) && has(self.request.templatedConfig))").message("type templatedconfig needs request.templatedConfig"))]
#[serde(rename_all = "camelCase")]
pub struct QuarksSecretSpec {
    /// What to generate. copy generates nothing: it allows a copy from another namespace.
    #[serde(rename = "type")]
    pub kind: SecretType,
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253), regex(pattern = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"))]
    pub secret_name: String,
    /// Options of the type, in the member of its name. The defaults are those of BOSH.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Request>,
    /// Copies of the Secret for other namespaces. Each namespace must allow its copy: by a QuarksSecret of type copy
    /// with the name of this object, or by a Secret with the name of the copy; either needs the annotation
    /// quarks.cloudfoundry.org/secret-copy-of: NAMESPACE/NAME of this object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["namespace", "name"]))]
    pub copies: Vec<Copy>,
    /// Whether the Secret is deleted with this object. For variables of a BOSHDeployment, the operator sets it by
    /// spec.variables.retain.
    #[serde(default)]
    pub reclaim_policy: ReclaimPolicy,
    /// Labels for the Secret.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "crate::schema::labels")]
    pub secret_labels: BTreeMap<String, String>,
    /// Annotations for the Secret.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secret_annotations: BTreeMap<String, String>,
}

/// What to generate, and the keys of its Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SecretType {
    /// password.
    Password,
    /// username, password and password_hash.
    User,
    /// certificate, private_key, ca and is_ca.
    Certificate,
    /// tls.crt, tls.key and ca, as Ingresses need them.
    Tls,
    /// private_key and public_key.
    Rsa,
    /// private_key, public_key and public_key_fingerprint.
    Ssh,
    /// username and password, with the Secret type basic-auth.
    #[serde(rename = "basic-auth")]
    BasicAuth,
    /// .dockerconfigjson, to pull images with.
    DockerConfigJson,
    /// A key for each template.
    TemplatedConfig,
    /// Nothing.
    Copy,
}

/// Whether a Secret is deleted with its QuarksSecret.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ReclaimPolicy {
    /// It is deleted, too.
    #[default]
    Delete,
    /// It stays. Only a QuarksSecret of the same name adopts it.
    Retain,
}

/// A copy of the Secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Copy {
    /// Name of the copy.
    #[schemars(length(min = 1, max = 253), regex(pattern = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"))]
    pub name: String,
    /// Its namespace.
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub namespace: String,
}

/// The status of a QuarksSecret.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuarksSecretStatus {
    /// When the operator last changed something for this object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::schema::optional_date_time")]
    pub last_reconcile: Option<Time>,
    /// Whether the Secret exists: generated, or created by you.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated: Option<bool>,
    /// UID of the Secret that this status is about.
    #[serde(default, rename = "secretUID", skip_serializing_if = "Option::is_none")]
    pub secret_uid: Option<String>,
    /// Whether all copies are up to date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied: Option<bool>,
    /// When the certificate expires. It is renewed earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::schema::optional_date_time")]
    pub not_after: Option<Time>,
    /// The rotation that the value was last made for, by the annotation quarks.cloudfoundry.org/rotation. The rotation
    /// of a CA is complete when the condition Rotating is gone, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotation: Option<String>,
    /// The metadata.generation that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// Ready, Copied if there are copies, and Rotating while a CA is being rotated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}
