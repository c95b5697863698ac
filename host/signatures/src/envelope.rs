//! Attestations: signed statements about an image or a component, as `cosign attest` makes them. The envelope
//! (DSSE) has the statement (in-toto) and its signatures; a bundle of Sigstore has an envelope.

use crate::trust::Trust;
use crate::verdict::{Author, Reason, SignatureError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use oci_spec::image::Digest;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The type of a payload that is a statement.
const STATEMENT: &str = "application/vnd.in-toto+json";
/// Signatures of an envelope that are verified.
const MAX_SIGNATURES: usize = 16;

/// A payload with its type and signatures, which are not verified yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Envelope {
    payload_type: String,
    /// In base64.
    payload: String,
    signatures: Vec<EnvelopeSignature>,
    /// The whole bundle that it is from, if that has a certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bundle: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct EnvelopeSignature {
    /// In base64.
    sig: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bundle {
    dsse_envelope: Envelope,
    #[serde(default)]
    verification_material: Material,
}

/// Whether a bundle has a certificate, in the form of its version.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Material {
    certificate: Option<IgnoredAny>,
    x509_certificate_chain: Option<IgnoredAny>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The digests that it is about, as its author has written them behind `sha256:`.
    pub subjects: Vec<String>,
    /// What it says, as an address: `https://slsa.dev/provenance/v1`, `https://spdx.dev/Document`.
    pub predicate_type: String,
    pub predicate: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    #[serde(default)]
    subject: Vec<Subject>,
    predicate_type: String,
    #[serde(default)]
    predicate: Value,
}

#[derive(Deserialize)]
struct Subject {
    digest: Digests,
}

#[derive(Deserialize)]
struct Digests {
    sha256: Option<String>,
}

// === impl Envelope ===

impl Envelope {
    /// The envelope in a text: the text itself, or the one of a bundle.
    pub fn read(text: &[u8]) -> Option<Self> {
        let Ok(bundle) = serde_json::from_slice::<Bundle>(text) else {
            let alone = serde_json::from_slice(text).ok()?;
            return Some(Self { bundle: None, ..alone });
        };
        let material = bundle.verification_material;
        let is_keyless = material.certificate.is_some() || material.x509_certificate_chain.is_some();
        Some(Self {
            bundle: is_keyless.then(|| String::from_utf8_lossy(text).into_owned()),
            ..bundle.dsse_envelope
        })
    }

    pub fn author(&self, trust: &Trust) -> Result<Author, SignatureError> {
        let invalid = || SignatureError::new(Reason::Invalid, "the payload is malformed");
        let payload = STANDARD.decode(&self.payload).map_err(|_| invalid())?;
        let signed = encoded(&self.payload_type, &payload);
        let mut signatures = self.signatures.iter().take(MAX_SIGNATURES);
        if let Some(key) = signatures.find_map(|signature| trust.keys.signer(&signed, &signature.sig)) {
            return Ok(Author::Key(key.to_string()));
        }
        let (Some(identities), Some(bundle)) = (&trust.identities, &self.bundle) else {
            return Err(SignatureError::default());
        };
        let statement = self.statement().ok_or_else(invalid)?;
        let (author, verified) = identities.of_statement(bundle, &statement.subjects)?;
        // Two readers of one text: what counts is what was verified.
        if verified == payload {
            Ok(author)
        } else {
            Err(invalid())
        }
    }

    /// Its statement, and who has signed it.
    pub fn verified(&self, trust: &Trust) -> Result<(Author, Statement), SignatureError> {
        let author = self.author(trust)?;
        let statement = self.statement();
        let statement = statement.ok_or_else(|| SignatureError::new(Reason::Invalid, "it is no statement"))?;
        Ok((author, statement))
    }

    /// Its statement, which is as trustworthy as its signatures.
    pub fn statement(&self) -> Option<Statement> {
        if self.payload_type != STATEMENT {
            return None;
        }
        let payload = STANDARD.decode(&self.payload).ok()?;
        let document: Document = serde_json::from_slice(&payload).ok()?;
        let digests = document.subject.into_iter().filter_map(|subject| subject.digest.sha256);
        Some(Statement {
            subjects: digests.map(|digits| format!("sha256:{digits}")).collect(),
            predicate_type: document.predicate_type,
            predicate: document.predicate,
        })
    }
}

// === impl Statement ===

impl Statement {
    /// Whether it is about what has this digest.
    pub fn is_about(&self, digest: &Digest) -> bool {
        self.subjects.iter().any(|subject| subject == digest.as_ref())
    }
}

/// The bytes that are signed: with the type, so that no payload can be taken for one of another type.
fn encoded(kind: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::tests::{ecdsa, trusted};
    use serde_json::json;

    #[test]
    fn an_envelope_is_signed_together_with_its_type() {
        let (text, sign) = ecdsa();
        let trust = trusted(&text);
        // The example of the specification.
        let bytes = encoded("http://example.com/HelloWorld", b"hello world");
        assert_eq!(bytes, b"DSSEv1 29 http://example.com/HelloWorld 11 hello world");
        let statement = json!({
            "_type": "https://in-toto.io/Statement/v1", "predicateType": "https://slsa.dev/provenance/v1",
            "subject": [{"name": "p", "digest": {"sha256": "ab".repeat(32)}}, {"digest": {"sha512": "cd".repeat(32)}}],
            "predicate": {"a": 1},
        });
        let payload = statement.to_string().into_bytes();
        let envelope = |kind: &str, signed: &[u8]| {
            json!({"payloadType": kind, "payload": STANDARD.encode(&payload),
                "signatures": [{"keyid": "", "sig": "c2ln"}, {"sig": STANDARD.encode(sign(signed))}]})
        };
        let good = envelope(STATEMENT, &encoded(STATEMENT, &payload));
        let bundle = json!({"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json", "dsseEnvelope": good});
        for text in [&good, &bundle] {
            let read = Envelope::read(text.to_string().as_bytes()).unwrap();
            let key = trust.keys.fingerprints().next().unwrap().to_string();
            assert_eq!(read.author(&trust), Ok(Author::Key(key)));
            assert_eq!(
                read.author(&Trust::default()),
                Err(SignatureError::default()),
                "there is no key"
            );
            let statement = read.statement().unwrap();
            let is_about = |digits: &str| statement.is_about(&format!("sha256:{}", digits.repeat(32)).parse().unwrap());
            assert!(is_about("ab") && !is_about("cd"));
            assert_eq!(statement.predicate, json!({"a": 1}));
        }
        let of_payload_only = envelope(STATEMENT, &payload);
        let of_other_type = envelope("text/plain", &encoded(STATEMENT, &payload));
        for text in [of_payload_only, of_other_type] {
            let read = Envelope::read(text.to_string().as_bytes()).unwrap();
            assert_eq!(read.author(&trust), Err(SignatureError::default()), "{text}");
        }
        for nonsense in ["", "{}", r#"{"payloadType":"a","payload":"!","signatures":{}}"#] {
            assert_eq!(Envelope::read(nonsense.as_bytes()), None, "{nonsense}");
        }
    }
}
