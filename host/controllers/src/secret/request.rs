//! Our CertificateSigningRequests, and their conditions. Pure.

use super::stored::marks;
use crate::problem::Problem;
use boson_api::request::{CertificateRequest, Usage};
use boson_api::{QuarksSecret, word};
use boson_cluster::client::{Error, Identity};
use boson_cluster::objects::annotation;
use boson_credentials::signing_request;
use boson_document::Tree;
use boson_pipeline::bundle::{MANAGED_BY, MANAGER as BOSON};
use k8s_openapi::ByteString;
use k8s_openapi::api::certificates::v1::{CertificateSigningRequest, CertificateSigningRequestSpec};
use kube::api::ObjectMeta;

/// Most characters of the name of a QuarksSecret in the name of its request.
const MAX_NAME_CHARS: usize = 120;

/// Name of the request; the Secret with its key is called `<name>-csr-private-key`. It is unique: an earlier object of
/// the same name had another one.
///
/// # Errors
/// See [`Identity::of`].
pub fn name(object: &QuarksSecret) -> Result<String, Error> {
    let Identity { namespace, name, uid } = Identity::of(object)?;
    let digest: String = marks::digest(&[namespace, name, uid]).chars().take(10).collect();
    let short: String = name.chars().take(MAX_NAME_CHARS).collect();
    Ok(format!("{namespace}-{}-{digest}", short.trim_end_matches(['-', '.'])))
}

/// Name of the Secret with the key.
///
/// # Errors
/// See [`Identity::of`].
pub fn key_name(object: &QuarksSecret) -> Result<String, Error> {
    Ok(format!("{}-csr-private-key", name(object)?))
}

/// The desired request. The same key and options give an identical request.
///
/// # Errors
/// The options are invalid.
pub fn desired_request(
    object: &QuarksSecret,
    signer: &str,
    options: &Tree,
    asked: &CertificateRequest,
    key: &str,
) -> Result<CertificateSigningRequest, Problem> {
    let text = signing_request(options, key).map_err(|cause| Problem::bad_request(&cause.to_string()))?;
    let days = asked.duration.filter(|days| *days > 0);
    let seconds = days.and_then(|days| i32::try_from(days.saturating_mul(86_400)).ok());
    let place = Identity::of(object).map_err(Problem::defect)?;
    let annotations = [
        (marks::REQUEST_NAMESPACE.to_string(), place.namespace.to_string()),
        (marks::REQUEST_NAME.to_string(), place.name.to_string()),
    ];
    Ok(CertificateSigningRequest {
        metadata: ObjectMeta {
            name: Some(name(object).map_err(Problem::defect)?),
            labels: Some([(MANAGED_BY.to_string(), BOSON.to_string())].into()),
            annotations: Some(annotations.into()),
            ..ObjectMeta::default()
        },
        spec: CertificateSigningRequestSpec {
            request: ByteString(text.into_bytes()),
            signer_name: signer.to_string(),
            usages: Some(usages(asked)),
            // Kubernetes refuses less than ten minutes; a day is our minimum.
            expiration_seconds: seconds,
            ..CertificateSigningRequestSpec::default()
        },
        status: None,
    })
}

/// Whether both ask the same signer for the same certificate.
pub fn asks_the_same(one: &CertificateSigningRequest, other: &CertificateSigningRequest) -> bool {
    let (one, other) = (&one.spec, &other.spec);
    one.request == other.request && one.signer_name == other.signer_name && one.usages == other.usages
}

/// Whether it was created by us for exactly this object.
pub fn is_ours(object: &QuarksSecret, request: &CertificateSigningRequest) -> bool {
    let says = |key| annotation(&request.metadata, key);
    says(marks::REQUEST_NAMESPACE) == object.metadata.namespace.as_deref()
        && says(marks::REQUEST_NAME) == object.metadata.name.as_deref()
}

/// Why it was approved or denied, or why it failed, if it was: one line.
pub fn condition_message(request: &CertificateSigningRequest, kind: &str) -> Option<String> {
    let status = request.status.as_ref()?;
    let condition = status.conditions.iter().flatten().find(|one| one.type_ == kind)?;
    let message = condition.message.as_deref().unwrap_or_default();
    Some(message.lines().next().unwrap_or_default().to_string())
}

/// Its certificate, once it has one.
pub fn certificate(request: &CertificateSigningRequest) -> Option<String> {
    let bytes = request.status.as_ref()?.certificate.as_ref()?;
    String::from_utf8(bytes.0.clone())
        .ok()
        .filter(|text| !text.trim().is_empty())
}

/// Options that only CertificateSigningRequests have, for the digest of the request.
pub fn digest_text(asked: &CertificateRequest) -> String {
    let eks = if asked.activate_eks_workaround_for_san {
        " eks"
    } else {
        ""
    };
    format!("cluster {}{eks}", usages(asked).join(","))
}

fn usages(asked: &CertificateRequest) -> Vec<String> {
    let of_key = asked.key_usage.iter().map(|usage| usage.requested());
    let mut usages: Vec<Usage> = asked.usages.iter().copied().chain(of_key).collect();
    let given = |usage: Usage| asked.usages.contains(&usage);
    let is_tls = usages.is_empty() || given(Usage::ServerAuth) || given(Usage::ClientAuth);
    if asked.usages.is_empty() {
        // Key usages do not tell the purpose of the certificate.
        usages.push(Usage::ServerAuth);
    }
    if is_tls {
        // A TLS certificate is useless without these, and signers of Kubernetes require them.
        let required = [Usage::DigitalSignature, Usage::KeyEncipherment];
        usages.retain(|usage| !required.contains(usage));
        usages.splice(0..0, required);
    }
    usages.into_iter().map(word).collect()
}
