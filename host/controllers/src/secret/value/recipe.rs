//! The request of a QuarksSecret as options of the generator that the command line uses, so that both give the same.

use crate::secret::stored::marks::digest;
use crate::secret::{request, signer};
use boson_api::request::{CertificateRequest, KeyRequest, SignerType, Usage};
use boson_api::secret::SecretType;
use boson_api::{QuarksSecret, QuarksSecretSpec, word};
use boson_credentials::ignored_options;
use boson_document::{Tree, json};
use k8s_openapi::api::core::v1::Service;

/// The input of [`boson_credentials::generate`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recipe {
    pub kind: &'static str,
    pub options: Tree,
    /// The value of the CA.
    pub signer: Option<Tree>,
    /// A CA that users of the certificate trust beside this one, PEM.
    pub trusted: Option<String>,
    /// The private key to keep, PEM: only the certificate is new.
    pub kept_key: Option<String>,
}

// === impl Recipe ===

impl Recipe {
    /// A value with its own key, and its own CA.
    pub fn new(kind: &'static str, options: Tree) -> Self {
        Self {
            kind,
            options,
            ..Self::default()
        }
    }
}

/// The generator's type and options, for types that it knows. Services' names are not among the options yet.
pub fn recipe(spec: &QuarksSecretSpec) -> Option<Recipe> {
    let request = spec.request.clone().unwrap_or_default();
    let (kind, options) = match spec.kind {
        SecretType::Password => {
            let length = request.password.and_then(|password| password.length);
            ("password", set_options([("length", length.map(Tree::from))]))
        }
        SecretType::User => {
            let user = request.user.unwrap_or_default();
            let (name, length) = (user.username.map(Tree::from), user.length.map(Tree::from));
            ("user", set_options([("username", name), ("length", length)]))
        }
        SecretType::BasicAuth => {
            let name = request.basic_auth.and_then(|basic| basic.username);
            ("user", set_options([("username", name.map(Tree::from))]))
        }
        SecretType::Rsa => ("rsa", key(&request.rsa.unwrap_or_default())),
        SecretType::Ssh => ("ssh", key(&request.ssh.unwrap_or_default())),
        SecretType::Certificate | SecretType::Tls => ("certificate", certificate(&request.certificate?)),
        SecretType::DockerConfigJson | SecretType::TemplatedConfig | SecretType::Copy => return None,
    };
    Some(Recipe::new(kind, options))
}

/// The default length is omitted: it gives the same key.
fn key(request: &KeyRequest) -> Tree {
    let length = request.key_length.filter(|bits| *bits != 2048);
    set_options([
        ("key_length", length.map(Tree::from)),
        ("ssh_comment", request.comment.as_deref().map(Tree::from)),
    ])
}

/// Only options that are set: a new option of a later version must not change the digest of requests without it.
fn certificate(request: &CertificateRequest) -> Tree {
    let text = |text: &str| (!text.is_empty()).then(|| Tree::from(text));
    let optional = |value: &Option<String>| text(value.as_deref().unwrap_or_default());
    let names = request.alternative_names.iter().map(String::as_str);
    let usages = request.usages.iter().filter_map(|usage| extended_usage(*usage));
    set_options([
        ("common_name", text(&request.common_name)),
        ("alternative_names", list(names)),
        ("is_ca", request.is_ca.then_some(Tree::Bool(true))),
        // The name is only for messages: the value is in the recipe.
        ("ca", request.ca_ref.as_ref().map(|ca| ca.name.as_str().into())),
        ("extended_key_usage", list(usages)),
        ("duration", request.duration.map(Tree::from)),
        ("key_length", request.key_length.map(Tree::from)),
        ("organization", optional(&request.organization)),
        ("organization_unit", optional(&request.organization_unit)),
        ("country", optional(&request.country)),
        ("state", optional(&request.state)),
        ("locality", optional(&request.locality)),
        ("self_sign", request.self_sign.then_some(Tree::Bool(true))),
        ("key_usage", list(request.key_usage.iter().map(word))),
    ])
}

fn list(texts: impl Iterator<Item = impl Into<Tree>>) -> Option<Tree> {
    let texts: Vec<Tree> = texts.map(Into::into).collect();
    (!texts.is_empty()).then_some(Tree::Array(texts))
}

/// The usages that BOSH's generator knows; the others are implied by a leaf or a CA, or have no effect.
fn extended_usage(usage: Usage) -> Option<&'static str> {
    match usage {
        Usage::ServerAuth => Some("server_auth"),
        Usage::ClientAuth => Some("client_auth"),
        Usage::CodeSigning => Some("code_signing"),
        Usage::EmailProtection => Some("email_protection"),
        Usage::Timestamping => Some("timestamping"),
        _ => None,
    }
}

/// Options that were given and change nothing.
pub fn options_without_effect(spec: &QuarksSecretSpec) -> Vec<&'static str> {
    let request = spec.request.clone().unwrap_or_default();
    let mut out = Vec::new();
    if let Some(recipe) = recipe(spec).filter(|recipe| matches!(recipe.kind, "rsa" | "ssh")) {
        let options = ignored_options(recipe.kind, &recipe.options).into_iter();
        out.extend(options.map(|option| if option == "key_length" { "keyLength" } else { "comment" }));
    }
    let is_of_key = |usage: &Usage| matches!(usage, Usage::DigitalSignature | Usage::KeyEncipherment);
    let is_implied = |usage: &Usage| is_of_key(usage) || extended_usage(*usage).is_some();
    if let Some(certificate) = request.certificate {
        let local = certificate.signer_type == SignerType::Local;
        if local && !certificate.is_ca && !certificate.usages.iter().all(is_implied) {
            out.push("usages");
        }
        if certificate.is_ca && !(certificate.alternative_names.is_empty() && certificate.service_ref.is_empty()) {
            out.push("alternativeNames");
        }
    }
    out
}

/// Names and addresses of Services, as the certificate's alternative names.
pub fn service_names<'s>(services: impl IntoIterator<Item = &'s Service>) -> Vec<String> {
    let mut out = Vec::new();
    for service in services {
        let meta = &service.metadata;
        // Without either, it has no name in DNS.
        let (Some(name), Some(namespace)) = (&meta.name, &meta.namespace) else {
            continue;
        };
        out.extend([
            name.clone(),
            format!("{name}.{namespace}"),
            format!("*.{name}"),
            format!("*.{name}.{namespace}"),
        ]);
        let spec = service.spec.clone().unwrap_or_default();
        let addresses = [spec.cluster_ip, spec.load_balancer_ip, spec.external_name];
        let addresses = addresses
            .into_iter()
            .flatten()
            .chain(spec.external_ips.unwrap_or_default());
        out.extend(addresses.filter(|address| !address.is_empty() && address != "None"));
    }
    out
}

/// Adds alternative names to a certificate's options.
pub fn add_names(options: &mut Tree, names: &[String]) {
    if names.is_empty() {
        return;
    }
    let mut all = options.items("alternative_names").to_vec();
    let added = names.iter().map(|name| Tree::from(name.as_str()));
    let added: Vec<Tree> = added.filter(|name| !all.contains(name)).collect();
    all.extend(added);
    options.set("alternative_names", all);
}

pub fn request_digest(object: &QuarksSecret) -> String {
    let asked = match recipe(&object.spec) {
        Some(recipe) => json::to_text(&recipe.options),
        None => serde_json::json!(object.spec.request).to_string(),
    };
    let kind = word(object.spec.kind);
    match signer::cluster_request(object) {
        Some(by_cluster) => digest(&[&kind, &asked, &request::digest_text(by_cluster)]),
        None => digest(&[&kind, &asked]),
    }
}

/// The options that have a value.
fn set_options<const N: usize>(options: [(&str, Option<Tree>); N]) -> Tree {
    let options = options.into_iter();
    options.filter_map(|(key, value)| Some((key, value?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::made::asked;

    /// Written out: if one of these changed, an upgrade of the operator would generate all values again.
    #[test]
    fn digests_of_requests_are_for_ever() {
        for (spec, expected) in [
            (r#"{"type": "password", "secretName": "s"}"#, "password {}"),
            (
                r#"{"type": "password", "secretName": "s", "request": {"password": {"length": 30}}}"#,
                "password {\"length\":30}",
            ),
            (
                r#"{"type": "certificate", "secretName": "s", "request": {"certificate": {"commonName": "a", "isCA": true}}}"#,
                "certificate {\"common_name\":\"a\",\"is_ca\":true}",
            ),
            (
                r#"{"type": "rsa", "secretName": "s", "request": {"rsa": {"keyLength": 2048}}}"#,
                "rsa {}",
            ),
            (
                r#"{"type": "ssh", "secretName": "s", "request": {"ssh": {"keyLength": 4096, "comment": "me"}}}"#,
                "ssh {\"key_length\":4096,\"ssh_comment\":\"me\"}",
            ),
            (
                r#"{"type": "certificate", "secretName": "s", "request": {"certificate": {"selfSign": true, "country": "DE", "state": "BE",
                    "locality": "B", "organizationUnit": "u", "keyUsage": ["digital_signature"], "usages": ["code signing"]}}}"#,
                "certificate {\"extended_key_usage\":[\"code_signing\"],\"organization_unit\":\"u\",\"country\":\"DE\",\"state\":\"BE\",\"locality\":\"B\",\"self_sign\":true,\"key_usage\":[\"digital_signature\"]}",
            ),
            (
                r#"{"type": "tls", "secretName": "s", "request": {"certificate": {"commonName": "a", "alternativeNames": ["b"],
                    "usages": ["client auth"], "CARef": {"name": "c", "key": "certificate"}, "CAKeyRef": {"name": "c", "key": "private_key"}}}}"#,
                "tls {\"common_name\":\"a\",\"alternative_names\":[\"b\"],\"ca\":\"c\",\"extended_key_usage\":[\"client_auth\"]}",
            ),
        ] {
            let (kind, options) = expected.split_once(' ').unwrap();
            assert_eq!(request_digest(&asked(spec)), digest(&[kind, options]), "{spec}");
        }
        assert_eq!(
            digest(&["password", "{}"]),
            "41149394b92c44033e019426d889352c586975bbaf7488d8d8de318dbf147797"
        );
    }

    #[test]
    fn the_name_of_the_secret_is_no_part_of_the_request() {
        let one = asked(r#"{"type": "password", "secretName": "s"}"#);
        let other = asked(
            r#"{"type": "password", "secretName": "t", "secretLabels": {"a": "b"}, "copies": [{"name": "a", "namespace": "b"}]}"#,
        );
        assert_eq!(request_digest(&one), request_digest(&other));
    }
}
