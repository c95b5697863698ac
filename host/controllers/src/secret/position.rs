//! How far the rotation of a CA is, which follows from its Secret alone, and the next step. Pure.

use super::signer::certificate_request;
use super::stored::desired::{self, CertificateKeys, Marks};
use boson_api::QuarksSecret;
use boson_api::request::SignerType;
use boson_cluster::objects::entry;
use boson_credentials::{Issued, is_for_key};
use boson_in_pod::secrets::TRANSITIONAL_PREFIX;
use k8s_openapi::api::core::v1::Secret;

/// Key of the CAs that users of a certificate trust, in both types of Secrets.
pub const TRUSTED_KEY: &str = "ca";

/// How far the rotation of a CA is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    Settled,
    /// A new CA is trusted, and the old one signs.
    Trusting,
    /// The new CA signs, and the old one is still trusted.
    Signing,
}

fn certificate_key() -> String {
    format!("{TRANSITIONAL_PREFIX}certificate")
}

fn private_key() -> String {
    format!("{TRANSITIONAL_PREFIX}private_key")
}

/// The keys of a CA that is signed here; none for other objects. Only such a CA is rotated in steps.
pub fn authority(object: &QuarksSecret) -> Option<CertificateKeys> {
    let asked = certificate_request(object)?;
    let is_authority = asked.is_ca && asked.signer_type == SignerType::Local;
    desired::certificate_keys(object.spec.kind).filter(|_| is_authority)
}

/// The certificate beside the CA that signs: of the one that follows, or of the one before.
pub fn certificate_beside(secret: &Secret) -> Option<String> {
    entry(secret, &certificate_key())
}

/// How far the rotation of the CA in this Secret is. The key of the CA that follows is kept until it signs.
pub fn position(secret: &Secret) -> Position {
    let beside = certificate_beside(secret).filter(|text| Issued::from_pem(text).is_some());
    match (beside, entry(secret, &private_key())) {
        (None, _) => Position::Settled,
        (Some(_), None) => Position::Signing,
        (Some(certificate), Some(key)) if is_for_key(&certificate, &key) => Position::Trusting,
        // Without its key it can never sign.
        (Some(_), Some(_)) => Position::Settled,
    }
}

/// Whether a rotation of the CA in this Secret has begun.
pub fn is_rotating(object: &QuarksSecret, secret: Option<&Secret>) -> bool {
    authority(object).is_some() && secret.is_some_and(|secret| position(secret) != Position::Settled)
}

/// Whether entries of a rotation are left that lead nowhere, because someone has changed them.
pub fn is_broken(secret: &Secret) -> bool {
    let has_entries = [certificate_key(), private_key()]
        .iter()
        .any(|key| entry(secret, key).is_some());
    has_entries && position(secret) == Position::Settled
}

/// The Secret of a CA in step 1. `new`: a Secret with the CA that follows.
///
/// # Errors
/// As [`desired::with_marks`].
pub fn begin(object: &QuarksSecret, old: &Secret, new: &Secret, marks: &Marks) -> Result<Secret, String> {
    let mut secret = desired::with_marks(object, &desired::without_marks(old.clone()), marks)?;
    let data = secret.data.get_or_insert_default();
    let keys = desired::certificate_keys(object.spec.kind);
    let entries = keys.map(|keys| [(keys.certificate, certificate_key()), (keys.private_key, private_key())]);
    for (from, to) in entries.into_iter().flatten() {
        if let Some(value) = new.data.as_ref().and_then(|data| data.get(from)) {
            data.insert(to, value.clone());
        }
    }
    Ok(secret)
}

/// The Secret in the next step.
pub fn advance(secret: &Secret, keys: CertificateKeys) -> Secret {
    let mut next = secret.clone();
    let position = position(secret);
    let data = next.data.get_or_insert_default();
    let (certificate, key) = (data.remove(&certificate_key()), data.remove(&private_key()));
    if let (Position::Trusting, Some(certificate), Some(key)) = (position, certificate, key) {
        let old = data.insert(keys.certificate.into(), certificate.clone());
        data.insert(keys.private_key.into(), key);
        // A root is its own CA. The CA above another one stays.
        if old.is_some() && data.get(TRUSTED_KEY) == old.as_ref() {
            data.insert(TRUSTED_KEY.into(), certificate);
        }
        data.extend(old.map(|old| (certificate_key(), old)));
    }
    next
}
