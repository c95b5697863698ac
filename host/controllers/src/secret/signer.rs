//! The signer of certificates with `signerType: cluster`.

use super::stored::desired;
use boson_api::QuarksSecret;
use boson_api::request::{CertificateRequest, KeyReference, SignerType};

/// Name of the built-in signer.
pub const OWN_SIGNER: &str = "quarks.cloudfoundry.org/boson";
/// The Secret with the authority of the built-in signer.
pub const AUTHORITY_SECRET: &str = "boson-signer";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signer {
    /// Its name in CertificateSigningRequests. None: the administrator has not turned on `signerType: cluster`.
    pub name: Option<String>,
    /// Namespace of the operator, with the authority of the built-in signer.
    pub namespace: String,
    /// Domain of the cluster, which full names of Services end in.
    pub cluster_domain: String,
}

// === impl Signer ===

impl Signer {
    /// Whether it is the built-in signer.
    pub fn is_built_in(&self) -> bool {
        self.name.as_deref() == Some(OWN_SIGNER)
    }
}

pub fn certificate_request(object: &QuarksSecret) -> Option<&CertificateRequest> {
    object.spec.request.as_ref()?.certificate.as_ref()
}

/// The CA of the certificate request, if it has `signerType: local`.
pub fn local_ca(object: &QuarksSecret) -> Option<&KeyReference> {
    let asked = certificate_request(object)?;
    let ca = asked.ca_ref.as_ref();
    ca.filter(|_| asked.signer_type == SignerType::Local)
}

/// The certificate request, if it has `signerType: cluster`.
pub fn cluster_request(object: &QuarksSecret) -> Option<&CertificateRequest> {
    let asked = certificate_request(object)?;
    let certified = desired::certificate_keys(object.spec.kind).is_some();
    (certified && asked.signer_type == SignerType::Cluster).then_some(asked)
}
