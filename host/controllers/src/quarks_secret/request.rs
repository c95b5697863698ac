//! Our CertificateSigningRequests, and their conditions. Pure.

use super::draft::Trouble;
use super::marks;
use super::signing::{self, bad};
use boson_api::QuarksSecret;
use boson_api::request::{CertificateRequest, Usage};
use boson_credentials::signing_request;
use boson_document::Tree;
use boson_pipeline::bundle::{MANAGED_BY, MANAGER as BOSON};
use k8s_openapi::ByteString;
use k8s_openapi::api::certificates::v1::{CertificateSigningRequest, CertificateSigningRequestSpec};
use kube::api::ObjectMeta;

/// The desired request. The same key and options give an identical request.
///
/// # Errors
/// The options are invalid.
pub fn wanted(
    object: &QuarksSecret,
    signer: &str,
    options: &Tree,
    asked: &CertificateRequest,
    key: &str,
) -> Result<CertificateSigningRequest, Trouble> {
    let text = signing_request(options, key).map_err(|cause| bad(&cause.to_string()))?;
    let days = asked.duration.filter(|days| *days > 0);
    let seconds = days.and_then(|days| i32::try_from(days.saturating_mul(86_400)).ok());
    let place = |text: &Option<String>| text.clone().unwrap_or_default();
    let annotations = [
        (marks::REQUEST_NAMESPACE.to_string(), place(&object.metadata.namespace)),
        (marks::REQUEST_NAME.to_string(), place(&object.metadata.name)),
    ];
    Ok(CertificateSigningRequest {
        metadata: ObjectMeta {
            name: Some(signing::name(object)),
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
    let annotations = request.metadata.annotations.as_ref();
    let says = |key: &str| annotations.and_then(|all| all.get(key));
    says(marks::REQUEST_NAMESPACE) == object.metadata.namespace.as_ref()
        && says(marks::REQUEST_NAME) == object.metadata.name.as_ref()
}

/// Why it was approved or denied, or why it failed, if it was: one line.
pub fn said(request: &CertificateSigningRequest, kind: &str) -> Option<String> {
    let status = request.status.as_ref()?;
    let condition = status.conditions.iter().flatten().find(|one| one.type_ == kind)?;
    let message = condition.message.as_deref().unwrap_or_default();
    Some(message.lines().next().unwrap_or_default().to_string())
}

/// Options that only CertificateSigningRequests have, for the digest of the request.
pub fn words(asked: &CertificateRequest) -> String {
    let eks = if asked.activate_eks_workaround_for_san {
        " eks"
    } else {
        ""
    };
    format!("cluster {}{eks}", usages(asked).join(","))
}

fn usages(asked: &CertificateRequest) -> Vec<String> {
    let of_key = asked.key_usage.iter().map(|usage| usage.requested());
    let all = asked.usages.iter().copied().chain(of_key);
    let words = all.filter_map(|usage| serde_json::to_value(usage).ok());
    let mut words: Vec<String> = words.filter_map(|word| word.as_str().map(str::to_string)).collect();
    if asked.usages.is_empty() && !words.is_empty() {
        // Key usages do not tell the purpose of the certificate.
        words.push("server auth".to_string());
    }
    let given = |word: Usage| asked.usages.contains(&word);
    match words.is_empty() {
        true => ["digital signature", "key encipherment", "server auth"]
            .map(str::to_string)
            .into(),
        // A TLS certificate is useless without these, and signers of Kubernetes require them.
        false if given(Usage::ServerAuth) || given(Usage::ClientAuth) => {
            let mut all = vec!["digital signature".to_string(), "key encipherment".to_string()];
            all.extend(
                words
                    .into_iter()
                    .filter(|word| word != "digital signature" && word != "key encipherment"),
            );
            all
        }
        false => words,
    }
}
