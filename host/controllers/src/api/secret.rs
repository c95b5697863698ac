//! QuarksSecret: a Secret whose value the operator makes.

use super::Condition;
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

/// Options, in the member that the type names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// Of type password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<PasswordRequest>,
    /// Of type user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserRequest>,
    /// Of types certificate and tls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<CertificateRequest>,
    /// Of type rsa.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rsa: Option<KeyRequest>,
    /// Of type ssh.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssh: Option<KeyRequest>,
    /// Of type basic-auth.
    #[serde(default, rename = "basic-auth", skip_serializing_if = "Option::is_none")]
    pub basic_auth: Option<BasicAuthRequest>,
    /// Of type dockerconfigjson.
    #[serde(default, rename = "imageCredentials", skip_serializing_if = "Option::is_none")]
    pub image_credentials: Option<ImageCredentials>,
    /// Of type templatedconfig.
    #[serde(default, rename = "templatedConfig", skip_serializing_if = "Option::is_none")]
    pub templated_config: Option<TemplatedConfig>,
}

/// Options of a password.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PasswordRequest {
    /// Characters. 20 where it is not given, or 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 65536))]
    pub length: Option<i64>,
}

/// Options of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserRequest {
    /// The name. Generated where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub username: Option<String>,
    /// Characters of the password. 20 where it is not given, or 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 65536))]
    pub length: Option<i64>,
}

/// Options of a key. BOSH has none, so these give a warning; keys have 2048 bits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyRequest {
    /// Has no effect, as in BOSH.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65536))]
    pub key_length: Option<i64>,
    /// Has no effect, as in BOSH.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub comment: Option<String>,
}

/// Options of a user name and password.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BasicAuthRequest {
    /// The name. Generated where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub username: Option<String>,
}

/// Options of a certificate.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[x_kube(validation = Rule::new("has(self.CARef) == has(self.CAKeyRef)").message("CARef and CAKeyRef go together"))]
#[x_kube(validation = Rule::new("self.isCA || self.signerType == 'cluster' || has(self.CARef)").message("only a CA signs itself: give CARef and CAKeyRef, or isCA"))]
#[x_kube(validation = Rule::new("!self.activateEKSWorkaroundForSAN || (self.signerType == 'cluster' && has(self.serviceRef) && self.serviceRef.size() > 0)").message("activateEKSWorkaroundForSAN needs signerType cluster and a serviceRef"))]
#[serde(rename_all = "camelCase")]
pub struct CertificateRequest {
    /// Common name of the subject.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    pub common_name: String,
    /// Names and addresses that it is valid for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), inner(length(min = 1, max = 253)), extend("x-kubernetes-list-type" = "atomic"))]
    pub alternative_names: Vec<String>,
    /// Whether it signs other certificates.
    #[serde(default, rename = "isCA")]
    pub is_ca: bool,
    /// The certificate of the CA that signs this one.
    #[serde(default, rename = "CARef", skip_serializing_if = "Option::is_none")]
    pub ca_ref: Option<KeyReference>,
    /// The private key of that CA.
    #[serde(default, rename = "CAKeyRef", skip_serializing_if = "Option::is_none")]
    pub ca_key_ref: Option<KeyReference>,
    /// Who signs: local is the operator, with the key of the CA; cluster is a signer of Kubernetes, through a
    /// CertificateSigningRequest.
    #[serde(default)]
    pub signer_type: SignerType,
    /// What it may be used for. server auth where nothing is given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "atomic"))]
    pub usages: Vec<Usage>,
    /// Services whose names and addresses it is valid for, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub service_ref: Vec<ServiceReference>,
    /// Whether to use the address of the first of these Services as common name, because the signer of EKS drops alternative names.
    #[serde(default, rename = "activateEKSWorkaroundForSAN")]
    pub activate_eks_workaround_for_san: bool,
    /// Days that it is valid. 365 where it is not given, or 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 106_751))]
    pub duration: Option<i64>,
    /// Bits of the key: 2048, 3072 or 4096. 3072 where it is not given, or 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self in [0, 2048, 3072, 4096]").message("keys have 2048, 3072 or 4096 bits"))]
    pub key_length: Option<i64>,
    /// Organization of the subject. Cloud Foundry where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub organization: Option<String>,
}

/// Who signs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SignerType {
    /// The operator.
    #[default]
    Local,
    /// A signer of Kubernetes.
    Cluster,
}

/// What a certificate may be used for, in the words of Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(
    missing_docs,
    reason = "RFC 5280 explains each; a list of words in 'kubectl explain' is all that is wanted"
)]
pub enum Usage {
    Signing,
    #[serde(rename = "digital signature")]
    DigitalSignature,
    #[serde(rename = "content commitment")]
    ContentCommitment,
    #[serde(rename = "key encipherment")]
    KeyEncipherment,
    #[serde(rename = "key agreement")]
    KeyAgreement,
    #[serde(rename = "data encipherment")]
    DataEncipherment,
    #[serde(rename = "cert sign")]
    CertSign,
    #[serde(rename = "crl sign")]
    CrlSign,
    #[serde(rename = "encipher only")]
    EncipherOnly,
    #[serde(rename = "decipher only")]
    DecipherOnly,
    Any,
    #[serde(rename = "server auth")]
    ServerAuth,
    #[serde(rename = "client auth")]
    ClientAuth,
    #[serde(rename = "code signing")]
    CodeSigning,
    #[serde(rename = "email protection")]
    EmailProtection,
    #[serde(rename = "s/mime")]
    Smime,
    #[serde(rename = "ipsec end system")]
    IpsecEndSystem,
    #[serde(rename = "ipsec tunnel")]
    IpsecTunnel,
    #[serde(rename = "ipsec user")]
    IpsecUser,
    Timestamping,
    #[serde(rename = "ocsp signing")]
    OcspSigning,
    #[serde(rename = "microsoft sgc")]
    MicrosoftSgc,
    #[serde(rename = "netscape sgc")]
    NetscapeSgc,
}

/// An entry of a Secret in the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct KeyReference {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253), regex(pattern = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"))]
    pub name: String,
    /// Key in it.
    #[schemars(length(min = 1, max = 253), regex(pattern = r"^[-._a-zA-Z0-9]+$"))]
    pub key: String,
}

/// A Service in the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceReference {
    /// Name of the Service.
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^[a-z]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: String,
}

/// How to pull images.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImageCredentials {
    /// Address of the registry, as images name it.
    #[schemars(length(min = 1, max = 1024))]
    pub registry: String,
    /// Mail address of the user; some old registries want one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 320))]
    pub email: Option<String>,
    /// The user's name. Generated where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username: Option<KeyReference>,
    /// The user's password. Generated where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<KeyReference>,
}

/// Texts with values of other Secrets in them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TemplatedConfig {
    /// Language of the templates: helm, of which '{{ .Values.NAME }}' is understood, with the functions quote, b64enc, b64dec, trim,
    /// upper and lower behind '|'.
    #[serde(rename = "type")]
    pub kind: TemplateType,
    /// By the key that it gets in the Secret: a template.
    #[schemars(length(min = 1))]
    pub templates: BTreeMap<String, String>,
    /// By the name that templates know it by: a value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, KeyReference>,
}

/// Language of templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TemplateType {
    /// Helm's.
    Helm,
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
