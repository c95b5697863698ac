//! What a QuarksSecret asks for, type by type.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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

/// Options of a key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyRequest {
    /// Bits of the key: 2048, 3072 or 4096. 2048 where it is not given; another number has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65536))]
    pub key_length: Option<i64>,
    /// Of type ssh: what follows the public key on its line.
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
#[x_kube(validation = Rule::new("self.isCA || self.signerType == 'cluster' || has(self.CARef) || (has(self.selfSign) && self.selfSign)").message("somebody has to sign: give CARef and CAKeyRef, or isCA, or selfSign"))]
#[x_kube(validation = Rule::new("!has(self.selfSign) || !self.selfSign || !has(self.CARef)").message("selfSign and CARef do not go together"))]
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
    /// Organizational unit of the subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub organization_unit: Option<String>,
    /// Country of the subject: two letters. US where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2))]
    pub country: Option<String>,
    /// State or province of the subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub state: Option<String>,
    /// Locality of the subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub locality: Option<String>,
    /// Whether it signs itself without being a CA.
    #[serde(default, skip_serializing_if = "is_false")]
    pub self_sign: bool,
    /// What its key may be used for, in BOSH's words. Where nothing is given: of a CA key_cert_sign and crl_sign, else digital_signature and
    /// key_encipherment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 9), extend("x-kubernetes-list-type" = "atomic"))]
    pub key_usage: Vec<KeyUsage>,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// What a key may be used for, in the words of CredHub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(
    missing_docs,
    reason = "RFC 5280 explains each; a list of words in 'kubectl explain' is all that is wanted"
)]
pub enum KeyUsage {
    DigitalSignature,
    NonRepudiation,
    KeyEncipherment,
    DataEncipherment,
    KeyAgreement,
    KeyCertSign,
    CrlSign,
    EncipherOnly,
    DecipherOnly,
}

// === impl KeyUsage ===

impl KeyUsage {
    /// The word.
    pub fn name(self) -> &'static str {
        match self {
            Self::DigitalSignature => "digital_signature",
            Self::NonRepudiation => "non_repudiation",
            Self::KeyEncipherment => "key_encipherment",
            Self::DataEncipherment => "data_encipherment",
            Self::KeyAgreement => "key_agreement",
            Self::KeyCertSign => "key_cert_sign",
            Self::CrlSign => "crl_sign",
            Self::EncipherOnly => "encipher_only",
            Self::DecipherOnly => "decipher_only",
        }
    }

    /// What a CertificateSigningRequest calls it.
    pub fn requested(self) -> Usage {
        match self {
            Self::DigitalSignature => Usage::DigitalSignature,
            Self::NonRepudiation => Usage::ContentCommitment,
            Self::KeyEncipherment => Usage::KeyEncipherment,
            Self::DataEncipherment => Usage::DataEncipherment,
            Self::KeyAgreement => Usage::KeyAgreement,
            Self::KeyCertSign => Usage::CertSign,
            Self::CrlSign => Usage::CrlSign,
            Self::EncipherOnly => Usage::EncipherOnly,
            Self::DecipherOnly => Usage::DecipherOnly,
        }
    }
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
