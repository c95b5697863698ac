//! The CA that signs, read from the value of its variable.

use crate::options::{mismatch, unmarshal_message};
use crate::{RsaKey, SignerError, pem_text};
use boson_document::{Tree, go};
use x509_cert::certificate::{CertificateInner, Raw};
use x509_cert::der::oid::AssociatedOid;
use x509_cert::der::{Decode, Encode};
use x509_cert::ext::pkix::SubjectKeyIdentifier;
use x509_cert::name::Name;

/// A CA that can sign. As in BOSH, its flags are not checked.
#[derive(Debug)]
pub(crate) struct Signer {
    /// Its certificate, DER.
    pub certificate: Vec<u8>,
    /// Its subject, to be the issuer.
    pub name: Name,
    /// Its subject key identifier, if it has one.
    pub identifier: Option<Vec<u8>>,
    /// Its public key, DER.
    pub public_info: Vec<u8>,
    pub key: RsaKey,
}

// === impl Signer ===

impl Signer {
    /// Reads the value of the variable `name`.
    pub fn load(name: &str, value: Option<&Tree>) -> Result<Self, SignerError> {
        let value = value.ok_or_else(|| SignerError::Missing(name.to_string()))?;
        let [certificate, key] = texts(name, value)?;
        let certificate = pem_text::first_block(&certificate).ok_or(SignerError::NoCertificate)?;
        let parsed = CertificateInner::<Raw>::from_der(&certificate).map_err(|_| SignerError::BadCertificate)?;
        let body = parsed.tbs_certificate();
        let public_info = body
            .subject_public_key_info()
            .to_der()
            .map_err(|_| SignerError::BadCertificate)?;
        let identifier = body
            .extensions()
            .into_iter()
            .flatten()
            .find(|e| e.extn_id == SubjectKeyIdentifier::OID);
        let identifier = identifier.map(|extension| SubjectKeyIdentifier::from_der(extension.extn_value.as_bytes()));
        let identifier = identifier.transpose().map_err(|_| SignerError::BadCertificate)?;
        Ok(Self {
            name: body.subject().clone(),
            identifier: identifier
                .map(|id| id.0.as_bytes().to_vec())
                .filter(|id| !id.is_empty()),
            public_info,
            key: private_key(&key)?,
            certificate,
        })
    }
}

/// The two members that count, as text.
fn texts(name: &str, value: &Tree) -> Result<[String; 2], SignerError> {
    let shape =
        |found: &Tree, wanted| SignerError::Shape(name.to_string(), unmarshal_message(&[mismatch(1, found, wanted)]));
    if !matches!(value, Tree::Null | Tree::Object(_)) {
        return Err(shape(value, "opts.CertVal"));
    }
    let text = |member| {
        let found = value.get(member).unwrap_or(&Tree::Null);
        go::text(found).ok_or_else(|| shape(found, "string"))
    };
    Ok([text("certificate")?, text("private_key")?])
}

fn private_key(text: &str) -> Result<RsaKey, SignerError> {
    let der = pem_text::first_block(text).ok_or(SignerError::NoKey)?;
    RsaKey::from_der(&der).ok_or_else(|| SignerError::BadKey(reason(&der)))
}

/// Why the bosh command line refuses a key that CredHub accepts: it reads PKCS#1 only.
pub(crate) fn refused_by_bosh(signer: &Tree) -> Option<SignerError> {
    let der = pem_text::first_block(signer.str("private_key")?)?;
    let reason = if pkcs8::PrivateKeyInfoRef::try_from(der.as_slice()).is_ok() {
        "x509: failed to parse private key (use ParsePKCS8PrivateKey instead for this key format)"
    } else if is_curve(&der) {
        "x509: failed to parse private key (use ParseECPrivateKey instead for this key format)"
    } else {
        return None;
    };
    Some(SignerError::BadKey(reason))
}

/// The reason why a key is refused, in CredHub's words.
fn reason(der: &[u8]) -> &'static str {
    let inner = pkcs8::PrivateKeyInfoRef::try_from(der).map(|info| info.private_key.as_bytes());
    if pkcs1::RsaPrivateKeyRef::try_from(inner.unwrap_or(der)).is_ok() {
        "x509: the key is shorter than 2048 bits, longer than 8192, or inconsistent"
    } else if inner.is_ok() || is_curve(der) {
        "Key file does not contain an RSA private key"
    } else {
        "x509: malformed private key"
    }
}

/// Whether it is an elliptic curve's key (RFC 5915), which differs from RSA's in its version: 1 and not 0.
fn is_curve(der: &[u8]) -> bool {
    der.first() == Some(&0x30)
        && pkcs1::RsaPrivateKeyRef::try_from(der).is_err()
        && der.windows(3).take(4).any(|window| window == [2, 1, 1])
}
