//! `signerType: cluster`: certificates by way of a CertificateSigningRequest. What has to be done before there is one to write. Pure.
//!
//! # Guarantees
//! The private key lies in a Secret before anybody is asked to certify it, and stays there until the certificate is where it belongs: a crash
//! between any two steps loses neither. The operator approves only a request that is to the byte the one that it would make itself.
//!
//! The built-in signer is off unless the administrator names it, and signs names of the QuarksSecret's own namespace only (see [`super::own_names`]).

use super::draft::{Cause, Trouble};
use super::observe::{Observed, entry};
use super::recipe::Recipe;
use super::{request, secret};
use crate::api::QuarksSecret;
use crate::api::request::{CertificateRequest, SignerType};
use boson_credentials::{Issued, KeySize, RsaKey, belongs, names_as_issuer};
use boson_document::Tree;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::Secret;
use std::time::SystemTime;

/// The signer that the operator is itself.
pub const OWN_SIGNER: &str = "quarks.cloudfoundry.org/boson";
/// Where the key lies meanwhile.
pub const KEY: &str = "private_key";
/// The Secret with the authority of our own signer.
pub const AUTHORITY_SECRET: &str = "boson-signer";
/// Its keys: certificate and private key.
pub const AUTHORITY: [&str; 2] = ["ca.crt", "ca.key"];
/// What to do where `signerType: cluster` is asked for, and off.
const NO_SIGNER: &str = "signerType cluster is off: the administrator of the operator can name a signer with --signer-name; \
     signerType local needs none";
/// Characters of a QuarksSecret's name in that of its request.
const NAME: usize = 120;

/// Who signs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signer {
    /// As CertificateSigningRequests name it. None: the administrator has not turned on `signerType: cluster`.
    pub name: Option<String>,
    /// Where the authority of our own signer is: the operator's namespace.
    pub namespace: String,
    /// Domain of the cluster, which full names of Services end in.
    pub cluster_domain: String,
}

/// What was seen of a request that is on its way.
#[derive(Clone, Debug)]
pub struct ObservedRequest {
    /// Who signs.
    pub signer: Signer,
    /// The Secret with the private key.
    pub key: Option<Secret>,
    /// The request.
    pub request: Option<CertificateSigningRequest>,
    /// The authority of our own signer.
    pub authority: Option<Secret>,
    /// The authority that the cluster shows to its pods.
    pub root: Option<String>,
}

/// What to do before there is a certificate; after it, to clean up.
#[derive(Clone, Debug, PartialEq)]
pub enum Prior {
    /// Make the authority of our own signer, in place of this one.
    Authority(Option<Box<Secret>>),
    /// Make a private key of this size, or keep this one, and lay it down.
    Key(KeySize, Option<String>),
    /// Ask.
    Ask(Box<CertificateSigningRequest>),
    /// Say yes to our own request.
    Approve(Box<CertificateSigningRequest>),
    /// Sign it, by this recipe.
    Sign(Box<CertificateSigningRequest>, Box<Recipe>),
    /// Take back the request, and the key if it is of no more use.
    Clear {
        /// The key, too.
        key: bool,
    },
}

// === impl Signer ===

impl Signer {
    /// Whether the operator signs itself.
    pub fn is_built_in(&self) -> bool {
        self.name.as_deref() == Some(OWN_SIGNER)
    }
}

/// Whether this is about certificates of such a signer, and what is asked.
pub fn asked(object: &QuarksSecret) -> Option<&CertificateRequest> {
    let asked = object.spec.request.as_ref()?.certificate.as_ref()?;
    let certified = secret::certificate_keys(object.spec.kind).is_some();
    (certified && asked.signer_type == SignerType::Cluster).then_some(asked)
}

/// Name of the request; the Secret with its key is called `<name>-csr-private-key`. No other object has it, one that came before of the same
/// name included.
pub fn name(object: &QuarksSecret) -> String {
    let meta = &object.metadata;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (namespace, name, uid) = (text(&meta.namespace), text(&meta.name), text(&meta.uid));
    let digest: String = super::recipe::digest(&[&namespace, &name, &uid])
        .chars()
        .take(10)
        .collect();
    let short: String = name.chars().take(NAME).collect();
    format!("{namespace}-{}-{digest}", short.trim_end_matches(['-', '.']))
}

/// Name of the Secret with the key.
pub fn key_name(object: &QuarksSecret) -> String {
    format!("{}-csr-private-key", name(object))
}

/// The next thing to do before the value can be written; none when its certificate is there. `recipe`: as for local certificates. `old`: the
/// Secret that is to be replaced.
pub fn prior(
    object: &QuarksSecret,
    observed: &ObservedRequest,
    recipe: &Recipe,
    cause: Cause,
    old: Option<&Secret>,
    now: SystemTime,
) -> Result<Option<Prior>, Trouble> {
    let Some(asked) = asked(object) else { return Ok(None) };
    let Some(signer) = &observed.signer.name else {
        return Err(trouble("NoSigner", NO_SIGNER.into()));
    };
    if asked.is_ca {
        return Err(bad(
            "a signer of the cluster certifies no authorities; use signerType local",
        ));
    }
    if observed
        .request
        .as_ref()
        .is_some_and(|request| !request::is_ours(object, request))
    {
        let message = format!("CertificateSigningRequest '{}' was made by somebody else", name(object));
        return Err(trouble("NameTaken", message));
    }
    if is_spent(object, observed, old) {
        return Ok(Some(Prior::Clear { key: true }));
    }
    let before = old.and_then(|old| entry(old, secret::certificate_keys(object.spec.kind)?.private_key));
    let key = match key(observed, size(asked)?, cause, before) {
        Ok(key) => key,
        Err(prior) => return Ok(Some(prior)),
    };
    let wanted = request::wanted(object, signer, &recipe.options, asked, &key)?;
    match &observed.request {
        None => Ok(Some(Prior::Ask(Box::new(wanted)))),
        Some(request) if request::asks_the_same(request, &wanted) => signed(observed, recipe, request, &key, now),
        Some(_) => Ok(Some(Prior::Clear { key: false })),
    }
}

/// Whether the certificate of the request is the very one that is to be replaced: written again, it would be as wrong as before, for ever.
fn is_spent(object: &QuarksSecret, observed: &ObservedRequest, old: Option<&Secret>) -> bool {
    let held = old.and_then(|old| entry(old, secret::certificate_keys(object.spec.kind)?.certificate));
    let came = collected(observed);
    held.is_some_and(|held| came.is_some_and(|came| came.str("certificate") == Some(held.as_str())))
}

/// The key that is to be certified, or what has to be done before there is one. `before`: the key of the certificate that is to be replaced.
fn key(observed: &ObservedRequest, size: KeySize, cause: Cause, before: Option<String>) -> Result<String, Prior> {
    let held = observed.key.as_ref().and_then(|secret| entry(secret, KEY));
    let fits = |key: &String| RsaKey::from_pem(key).is_some_and(|key| key.size() == size);
    // Left over from an earlier certificate: somebody wants another key.
    let stale = !cause.keeps_key() && held.is_some() && held == before;
    let kept = before.filter(|key| cause.keeps_key() && fits(key));
    match held.filter(|key| fits(key) && !stale) {
        Some(key) => Ok(key),
        None if observed.key.is_some() || observed.request.is_some() => Err(Prior::Clear { key: true }),
        None => Err(Prior::Key(size, kept)),
    }
}

/// What becomes of a request that is as we would make it.
fn signed(
    observed: &ObservedRequest,
    recipe: &Recipe,
    request: &CertificateSigningRequest,
    key: &str,
    now: SystemTime,
) -> Result<Option<Prior>, Trouble> {
    let name = request.metadata.name.clone().unwrap_or_default();
    let about = |reason, what: String| trouble(reason, format!("CertificateSigningRequest '{name}' {what}"));
    if let Some(certificate) = certificate(request) {
        return match belongs(&certificate, key) {
            true => Ok(None),
            false => Err(about("Refused", "has a certificate for another key".into())),
        };
    }
    for (word, what) in [("Denied", "was denied"), ("Failed", "failed")] {
        if let Some(why) = request::said(request, word) {
            return Err(about(word, format!("{what}: {why}")));
        }
    }
    let approved = request::said(request, "Approved").is_some();
    if !observed.signer.is_built_in() {
        let whom = if approved { "its signer" } else { "approval" };
        let signer = &request.spec.signer_name;
        return Err(about("Waiting", format!("waits for {whom} ('{signer}')")));
    }
    if !authority(observed).is_some_and(|(certificate, _)| lasts(&certificate, now)) {
        return Ok(Some(Prior::Authority(observed.authority.clone().map(Box::new))));
    }
    let request = Box::new(request.clone());
    Ok(Some(match approved {
        true => Prior::Sign(request, Box::new(by_us(observed, recipe, key))),
        false => Prior::Approve(request),
    }))
}

const END: &str = "-----END CERTIFICATE-----";

/// The value, once its certificate is there. Its `ca` is the authority that the certificate names, of those that are known; else the rest of
/// the signer's chain, if it gave one.
pub fn collected(observed: &ObservedRequest) -> Option<Tree> {
    let key = entry(observed.key.as_ref()?, KEY)?;
    let chain = certificate(observed.request.as_ref()?)?;
    let (leaf, rest) = chain.split_once(END)?;
    let issuers = [
        authority(observed).map(|(certificate, _)| certificate),
        observed.root.clone(),
    ];
    let issuer = issuers
        .into_iter()
        .flatten()
        .find(|authority| names_as_issuer(&chain, authority))
        .or_else(|| Some(rest.trim_start().to_string()).filter(|rest| rest.contains(END)));
    let leaf = format!("{leaf}{END}\n");
    let value = Tree::object().with("certificate", leaf).with("private_key", key);
    Some(match issuer {
        Some(issuer) => value.with("ca", issuer),
        None => value,
    })
}

/// Whether there is a certificate in it.
pub fn is_signed(request: &CertificateSigningRequest) -> bool {
    certificate(request).is_some()
}

/// Whether something is left over once the Secret is as it should be.
pub fn leftovers(observed: &Observed) -> Option<Prior> {
    let observed = observed.request.as_ref()?;
    (observed.key.is_some() || observed.request.is_some()).then_some(Prior::Clear { key: true })
}

/// Fingerprint of the authority of our own signer, if that is who signs: another one means that all is signed again. Empty where it is gone,
/// which is another one.
pub fn fingerprint(observed: &ObservedRequest) -> Option<String> {
    if !observed.signer.is_built_in() {
        return None;
    }
    let issued = authority(observed).and_then(|(certificate, _)| Issued::from_pem(&certificate));
    Some(issued.map_or_else(String::new, |issued| issued.fingerprint))
}

/// By our own authority, for the key that lies there.
fn by_us(observed: &ObservedRequest, recipe: &Recipe, key: &str) -> Recipe {
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
    let [certificate, key] = AUTHORITY;
    Some((entry(secret, certificate)?, entry(secret, key)?))
}

/// Whether a third of its life is left.
fn lasts(certificate: &str, now: SystemTime) -> bool {
    Issued::from_pem(certificate).is_some_and(|issued| {
        let life = issued.not_after.duration_since(issued.not_before).unwrap_or_default();
        issued.not_after.duration_since(now).is_ok_and(|left| left > life / 3)
    })
}

fn certificate(request: &CertificateSigningRequest) -> Option<String> {
    let bytes = request.status.as_ref()?.certificate.as_ref()?;
    String::from_utf8(bytes.0.clone())
        .ok()
        .filter(|text| !text.trim().is_empty())
}

fn size(asked: &CertificateRequest) -> Result<KeySize, Trouble> {
    let bits = asked.key_length.filter(|bits| *bits != 0).unwrap_or(3072);
    KeySize::from_bits(bits).ok_or_else(|| bad("a key must have 2048, 3072 or 4096 bits"))
}

pub fn bad(message: &str) -> Trouble {
    trouble("BadRequest", message.to_string())
}

fn trouble(reason: &'static str, message: String) -> Trouble {
    Trouble { reason, message }
}
