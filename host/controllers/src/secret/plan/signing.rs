//! `signerType: cluster`: certificates from CertificateSigningRequests, and the steps before one can be written. Pure.
//!
//! # Guarantees
//! The private key is stored in a Secret before the request is created, and stays there until the certificate is
//! written: a crash between any two steps loses neither. The operator approves only a request that is identical to the
//! one that it would create itself.
//!
//! The built-in signer is off unless the administrator names it, and signs names of the QuarksSecret's own namespace
//! only (see [`super::own_names`]).

use crate::problem::Problem;
use crate::secret::cause::Cause;
use crate::secret::observe::{Observed, ObservedRequest};
use crate::secret::request::{self, certificate};
use crate::secret::signer::{OWN_SIGNER, cluster_request};
use crate::secret::stored::desired;
use crate::secret::value::recipe::Recipe;
use boson_api::QuarksSecret;
use boson_api::request::CertificateRequest;
use boson_cluster::objects::entry;
use boson_credentials::{Issued, KeySize, RsaKey, is_for_key, names_as_issuer};
use boson_document::Tree;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::Secret;
use std::ops::ControlFlow;
use std::time::SystemTime;

/// Key of the private key in its temporary Secret.
pub const PRIVATE_KEY: &str = "private_key";
/// Keys of the authority of the built-in signer: certificate and private key.
pub const AUTHORITY_KEYS: [&str; 2] = ["ca.crt", "ca.key"];
/// Message if `signerType: cluster` is requested but off.
const NO_SIGNER: &str = "signerType cluster is off: the administrator of the operator can name a signer with --signer-name; \
     signerType local needs none";

/// A step before the certificate exists, or a clean-up after it.
#[derive(Clone, Debug, PartialEq)]
pub enum Prior {
    /// Create the authority of the built-in signer, and replace this one.
    Authority(Option<Box<Secret>>),
    /// Store a new private key of this size, or this existing one.
    Key(KeySize, Option<String>),
    /// Create the request.
    Ask(Box<CertificateSigningRequest>),
    /// Approve our own request.
    Approve(Box<CertificateSigningRequest>),
    /// Sign it with this recipe.
    Sign(Box<CertificateSigningRequest>, Box<Recipe>),
    /// Delete the request, and the key if it is no longer needed.
    Clear { key: bool },
}

/// The next step before the value can be written; none once its certificate exists. `recipe`: as for local
/// certificates. `old`: the Secret to replace.
pub fn prior_step(
    object: &QuarksSecret,
    observed: &ObservedRequest,
    recipe: &Recipe,
    cause: Cause,
    old: Option<&Secret>,
    now: SystemTime,
) -> Result<Option<Prior>, Problem> {
    let Some(asked) = cluster_request(object) else {
        return Ok(None);
    };
    let Some(signer) = &observed.signer.name else {
        return Err(Problem::new("NoSigner", NO_SIGNER));
    };
    if asked.is_ca {
        return Err(Problem::bad_request(
            "signerType cluster cannot sign authorities; use signerType local",
        ));
    }
    if observed
        .request
        .as_ref()
        .is_some_and(|request| !request::is_ours(object, request))
    {
        let message = format!(
            "CertificateSigningRequest '{}' is not owned by this QuarksSecret",
            request::name(object).map_err(Problem::defect)?
        );
        return Err(Problem::new("NameConflict", message));
    }
    if is_collected(object, observed, old) {
        return Ok(Some(Prior::Clear { key: true }));
    }
    let before = old.and_then(|old| entry(old, desired::certificate_keys(object.spec.kind)?.private_key));
    let key = match key_to_certify(observed, key_size(asked)?, cause, before) {
        ControlFlow::Continue(key) => key,
        ControlFlow::Break(prior) => return Ok(Some(prior)),
    };
    let wanted = request::desired_request(object, signer, &recipe.options, asked, &key)?;
    match &observed.request {
        None => Ok(Some(Prior::Ask(Box::new(wanted)))),
        Some(request) if request::asks_the_same(request, &wanted) => next_step(observed, recipe, request, &key, now),
        Some(_) => Ok(Some(Prior::Clear { key: false })),
    }
}

/// Whether the certificate of the request is the one to replace. To write it again would not help.
fn is_collected(object: &QuarksSecret, observed: &ObservedRequest, old: Option<&Secret>) -> bool {
    let held = old.and_then(|old| entry(old, desired::certificate_keys(object.spec.kind)?.certificate));
    let came = collected_value(observed);
    held.is_some_and(|held| came.is_some_and(|came| came.str("certificate") == Some(held.as_str())))
}

/// The key to certify, or the step that creates it. `before`: the key of the certificate to replace.
fn key_to_certify(
    observed: &ObservedRequest,
    size: KeySize,
    cause: Cause,
    before: Option<String>,
) -> ControlFlow<Prior, String> {
    let held = observed.key.as_ref().and_then(|secret| entry(secret, PRIVATE_KEY));
    let fits = |key: &String| RsaKey::from_pem(key).is_some_and(|key| key.size() == size);
    // Left over from an earlier certificate, but a new key is required.
    let stale = !cause.keeps_key() && held.is_some() && held == before;
    let kept = before.filter(|key| cause.keeps_key() && fits(key));
    match held.filter(|key| fits(key) && !stale) {
        Some(key) => ControlFlow::Continue(key),
        None if observed.key.is_some() || observed.request.is_some() => ControlFlow::Break(Prior::Clear { key: true }),
        None => ControlFlow::Break(Prior::Key(size, kept)),
    }
}

/// The next step for a request that matches ours.
fn next_step(
    observed: &ObservedRequest,
    recipe: &Recipe,
    request: &CertificateSigningRequest,
    key: &str,
    now: SystemTime,
) -> Result<Option<Prior>, Problem> {
    let name = request.metadata.name.clone().unwrap_or_default();
    let about = |reason, what: String| Problem::new(reason, format!("CertificateSigningRequest '{name}' {what}"));
    if let Some(certificate) = certificate(request) {
        return if is_for_key(&certificate, key) {
            Ok(None)
        } else {
            Err(about("Refused", "has a certificate for another key".into()))
        };
    }
    for (word, what) in [("Denied", "was denied"), ("Failed", "failed")] {
        if let Some(why) = request::condition_message(request, word) {
            return Err(about(word, format!("{what}: {why}")));
        }
    }
    let approved = request::condition_message(request, "Approved").is_some();
    if !observed.signer.is_built_in() {
        let whom = if approved { "its signer" } else { "approval" };
        let signer = &request.spec.signer_name;
        return Err(about("Waiting", format!("waits for {whom} ('{signer}')")));
    }
    if !authority(observed).is_some_and(|(certificate, _)| has_third_left(&certificate, now)) {
        return Ok(Some(Prior::Authority(observed.authority.clone().map(Box::new))));
    }
    let request = Box::new(request.clone());
    Ok(Some(if approved {
        Prior::Sign(request, Box::new(built_in_recipe(observed, recipe, key)))
    } else {
        Prior::Approve(request)
    }))
}

const END_OF_CERTIFICATE: &str = "-----END CERTIFICATE-----";

/// The value, once its certificate exists. Its `ca` is the issuer, if that is known; else the rest of the chain from
/// the signer, if any.
pub fn collected_value(observed: &ObservedRequest) -> Option<Tree> {
    let key = entry(observed.key.as_ref()?, PRIVATE_KEY)?;
    let chain = certificate(observed.request.as_ref()?)?;
    let (leaf, rest) = chain.split_once(END_OF_CERTIFICATE)?;
    let issuers = [
        authority(observed).map(|(certificate, _)| certificate),
        observed.root.clone(),
    ];
    let issuer = issuers
        .into_iter()
        .flatten()
        .find(|authority| names_as_issuer(&chain, authority))
        .or_else(|| Some(rest.trim_start().to_string()).filter(|rest| rest.contains(END_OF_CERTIFICATE)));
    let leaf = format!("{leaf}{END_OF_CERTIFICATE}\n");
    let value = Tree::object().with("certificate", leaf).with("private_key", key);
    Some(match issuer {
        Some(issuer) => value.with("ca", issuer),
        None => value,
    })
}

/// The clean-up after the Secret is up to date, if needed.
pub fn cleanup_step(observed: &Observed) -> Option<Prior> {
    let observed = observed.request.as_ref()?;
    (observed.key.is_some() || observed.request.is_some()).then_some(Prior::Clear { key: true })
}

/// Fingerprint of the authority of the built-in signer, if that signs: after a change all certificates are signed
/// again. Empty if the authority is missing, which counts as a change.
pub fn fingerprint(observed: &ObservedRequest) -> Option<String> {
    if !observed.signer.is_built_in() {
        return None;
    }
    let issued = authority(observed).and_then(|(certificate, _)| Issued::from_pem(&certificate));
    Some(issued.map_or_else(String::new, |issued| issued.fingerprint))
}

/// The recipe to sign the stored key with the built-in authority.
fn built_in_recipe(observed: &ObservedRequest, recipe: &Recipe, key: &str) -> Recipe {
    let signer = authority(observed)
        .map(|(certificate, key)| Tree::object().with("certificate", certificate).with("private_key", key));
    let mut recipe = recipe.clone();
    recipe.options.set("ca", OWN_SIGNER);
    recipe.signer = signer;
    recipe.kept_key = Some(key.to_string());
    recipe
}

fn authority(observed: &ObservedRequest) -> Option<(String, String)> {
    let secret = observed.authority.as_ref()?;
    let [certificate, key] = AUTHORITY_KEYS;
    Some((entry(secret, certificate)?, entry(secret, key)?))
}

/// Whether a third of its validity is left.
fn has_third_left(certificate: &str, now: SystemTime) -> bool {
    Issued::from_pem(certificate).is_some_and(|issued| {
        let life = issued.not_after.duration_since(issued.not_before).unwrap_or_default();
        issued.not_after.duration_since(now).is_ok_and(|left| left > life / 3)
    })
}

fn key_size(asked: &CertificateRequest) -> Result<KeySize, Problem> {
    let bits = asked.key_length.filter(|bits| *bits != 0).unwrap_or(3072);
    KeySize::from_bits(bits).ok_or_else(|| Problem::bad_request("a key must have 2048, 3072 or 4096 bits"))
}
