//! Keyless signatures: a certificate for a short time says who has signed, and a log or a timestamp when. All of it is
//! in the bundle, and is verified with the trusted root of the administrator, without a network. The cryptography is
//! that of `sigstore-verify`; what is accepted is decided here.

use crate::identity::{Identity, IdentityRule};
use crate::verdict::{Author, Reason, SignatureError};
use sigstore_verify::bundle::Error as Structure;
use sigstore_verify::trust_root::TrustedRoot;
use sigstore_verify::types::bundle::{SignatureContent, VerificationMaterialContent};
use sigstore_verify::types::{Artifact, Bundle, Sha256Hash};
use sigstore_verify::{Error, VerificationPolicy, Verifier};
use std::fmt;

/// The largest bundle, in bytes.
const MAX_BUNDLE_BYTES: usize = 256 << 10;
/// The largest trusted root, in bytes: that of Sigstore has 7 KiB.
const MAX_ROOT_BYTES: usize = 1 << 20;
/// Entries of logs, timestamps and certificates of a bundle, of each.
const MAX_ITEMS: usize = 8;
/// Hashes of a proof: a log has less than 2^64 entries.
const MAX_PROOF_HASHES: usize = 64;
/// The longest detail of a message, in characters.
const MAX_DETAIL_CHARS: usize = 300;

/// The identities whose signatures count, and the authorities and logs that vouch for them.
pub struct Identities {
    verifier: Verifier,
    policy: VerificationPolicy,
    rules: Vec<IdentityRule>,
}

// === impl Identities ===

impl Identities {
    /// `root`: a `trusted_root.json`. Each of its kinds of logs is required of a signature: an entry in a log
    /// (Rekor), and the log of certificates (CT). If it has no log of entries, a timestamp is enough.
    ///
    /// # Errors
    /// What is wrong with the root.
    pub fn new(root: &[u8], rules: Vec<IdentityRule>) -> Result<Self, String> {
        if root.len() > MAX_ROOT_BYTES {
            return Err(format!("it has more than {} KiB", MAX_ROOT_BYTES >> 10));
        }
        let text = std::str::from_utf8(root).map_err(|error| error.to_string())?;
        let root = TrustedRoot::from_json(text).map_err(|error| shown(&error))?;
        if root.certificate_authorities.is_empty() {
            return Err("it has no certificate authority".to_string());
        }
        if root.tlogs.is_empty() && root.timestamp_authorities.is_empty() {
            return Err("it has neither a log nor a timestamp authority".to_string());
        }
        let mut policy = VerificationPolicy::any_identity();
        if root.tlogs.is_empty() {
            policy = policy.skip_tlog_unsafe();
        }
        if root.ctlogs.is_empty() {
            policy = policy.skip_sct();
        }
        let verifier = Verifier::new(&root).map_err(|error| shown(&error))?;
        Ok(Self {
            verifier,
            policy,
            rules,
        })
    }

    /// Who has signed these bytes, by a bundle with a signature of them.
    pub(crate) fn of_bytes(&self, bytes: &[u8], text: &str) -> Result<Author, SignatureError> {
        let bundle = read(text)?;
        match &bundle.content {
            SignatureContent::MessageSignature(_) => self.verified(&bundle, Artifact::from_blob(bytes)),
            _ => Err(SignatureError::new(
                Reason::Invalid,
                "the bundle has a statement, not a signature",
            )),
        }
    }

    /// Who has made the statement about what has one of these digests in a bundle, and its text.
    pub(crate) fn of_statement(&self, text: &str, digests: &[String]) -> Result<(Author, Vec<u8>), SignatureError> {
        let bundle = read(text)?;
        let SignatureContent::DsseEnvelope(envelope) = &bundle.content else {
            return Err(SignatureError::new(Reason::Invalid, "the bundle has no statement"));
        };
        let mut digests = digests.iter();
        let digest = digests.find_map(|digest| Sha256Hash::from_hex(digest.strip_prefix("sha256:")?).ok());
        let digest = digest.ok_or_else(|| SignatureError::new(Reason::Invalid, "the statement has no digest"))?;
        let author = self.verified(&bundle, Artifact::from(digest))?;
        Ok((author, envelope.payload.as_bytes().to_vec()))
    }

    fn verified(&self, bundle: &Bundle, what: Artifact<'_>) -> Result<Author, SignatureError> {
        let result = self.verifier.verify(what, bundle, &self.policy);
        let result = result.map_err(|error| SignatureError::new(reason(&error), shown(&error)))?;
        let (Some(name), Some(issuer)) = (result.identity(), result.issuer()) else {
            return Err(SignatureError::new(
                Reason::Certificate,
                "the certificate names no identity and issuer",
            ));
        };
        let identity = Identity {
            name: name.as_str().to_string(),
            issuer: issuer.to_string(),
        };
        if self.rules.iter().any(|rule| rule.accepts(&identity)) {
            return Ok(Author::Identity(identity));
        }
        Err(if self.rules.iter().any(|rule| rule.is_of(&identity.issuer)) {
            SignatureError::new(Reason::Identity, shown(&identity.name))
        } else {
            SignatureError::new(Reason::Issuer, shown(&identity.issuer))
        })
    }
}

impl fmt::Debug for Identities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identities")
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

/// A bundle with a certificate, within the limits.
fn read(text: &str) -> Result<Bundle, SignatureError> {
    let invalid = |what: String| SignatureError::new(Reason::Invalid, what);
    if text.len() > MAX_BUNDLE_BYTES {
        return Err(invalid(format!(
            "the bundle has more than {} KiB",
            MAX_BUNDLE_BYTES >> 10
        )));
    }
    let bundle = Bundle::from_json(text).map_err(|error| invalid(shown(&error)))?;
    let material = &bundle.verification_material;
    let certificates = match &material.content {
        VerificationMaterialContent::Certificate(_) => 1,
        VerificationMaterialContent::X509CertificateChain { certificates } => certificates.len(),
        _ => return Err(SignatureError::default()),
    };
    let entries = &material.tlog_entries;
    let timestamps = material.timestamp_verification_data.rfc3161_timestamps.len();
    if [certificates, entries.len(), timestamps]
        .iter()
        .any(|count| *count > MAX_ITEMS)
    {
        return Err(invalid(format!(
            "the bundle has more than {MAX_ITEMS} certificates, entries or timestamps"
        )));
    }
    for proof in entries.iter().filter_map(|entry| entry.inclusion_proof.as_ref()) {
        if proof.hashes.len() > MAX_PROOF_HASHES {
            return Err(invalid(format!(
                "a proof of the bundle has more than {MAX_PROOF_HASHES} hashes"
            )));
        }
        // The library trims the lines of signatures, and nothing signs their ends.
        let is_other_space = |one: char| one.is_whitespace() && one != '\n' && one != ' ';
        if proof.checkpoint.envelope().contains(is_other_space) {
            return Err(invalid(
                "a checkpoint of the bundle has white space other than spaces and ends of lines".to_string(),
            ));
        }
    }
    Ok(bundle)
}

fn reason(error: &Error) -> Reason {
    match error {
        Error::Certificate(_) | Error::TrustedCertificate(_) => Reason::Certificate,
        Error::TransparencyLog(_) | Error::Timestamp(_) => Reason::Log,
        Error::Bundle(
            Structure::MissingInclusionProof(_)
            | Structure::MissingInclusionPromise(_)
            | Structure::MissingSigningTimeEvidence
            | Structure::MissingCheckpoint
            | Structure::CheckpointRootMismatch
            | Structure::LogIndexOutOfRange { .. },
        ) => Reason::Log,
        _ => Reason::Invalid,
    }
}

/// A text whose author may be anybody, for a message.
fn shown(text: &impl fmt::Display) -> String {
    let text = text.to_string();
    let clean = text.chars().map(|one| if one.is_control() { '\u{fffd}' } else { one });
    clean.take(MAX_DETAIL_CHARS).collect()
}
