//! Attestations: signed statements about an image or a component, as `cosign attest --key` makes them. The envelope
//! (DSSE) has the statement (in-toto) and its signatures; a bundle of Sigstore has an envelope.

use crate::key::Keys;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
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
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct EnvelopeSignature {
    /// In base64.
    sig: String,
}

/// What a bundle has beside certificates and records of logs, which are not used.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bundle {
    dsse_envelope: Envelope,
}

/// What an envelope says.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The digests that it is about: `sha256:` and 64 digits.
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
        let of_bundle = serde_json::from_slice(text).map(|bundle: Bundle| bundle.dsse_envelope);
        of_bundle.or_else(|_| serde_json::from_slice(text)).ok()
    }

    /// The fingerprint of the key that has signed it.
    pub fn signer<'k>(&self, keys: &'k Keys) -> Option<&'k str> {
        let payload = STANDARD.decode(&self.payload).ok()?;
        let signed = encoded(&self.payload_type, &payload);
        let mut signatures = self.signatures.iter().take(MAX_SIGNATURES);
        signatures.find_map(|signature| keys.signer(&signed, &signature.sig))
    }

    /// Its statement, and the fingerprint of the key that has signed it.
    pub fn verified<'k>(&self, keys: &'k Keys) -> Option<(&'k str, Statement)> {
        // The signature first: nothing of an unsigned text is parsed.
        let key = self.signer(keys)?;
        Some((key, self.statement()?))
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
    pub fn is_about(&self, digest: &str) -> bool {
        self.subjects.iter().any(|subject| subject == digest)
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
    use crate::key::tests::ecdsa;
    use serde_json::json;

    #[test]
    fn an_envelope_is_signed_together_with_its_type() {
        let (text, sign) = ecdsa();
        let mut keys = Keys::default();
        keys.add(text.as_bytes()).unwrap();
        // The example of the specification.
        let bytes = encoded("http://example.com/HelloWorld", b"hello world");
        assert_eq!(bytes, b"DSSEv1 29 http://example.com/HelloWorld 11 hello world");
        let statement = json!({
            "_type": "https://in-toto.io/Statement/v1", "predicateType": "https://slsa.dev/provenance/v1",
            "subject": [{"name": "p", "digest": {"sha256": "ab"}}, {"digest": {"sha512": "cd"}}], "predicate": {"a": 1},
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
            assert_eq!(read.signer(&keys), keys.fingerprints().next());
            assert_eq!(read.signer(&Keys::default()), None, "there is no key");
            let statement = read.statement().unwrap();
            assert!(statement.is_about("sha256:ab") && !statement.is_about("sha256:cd"));
            assert_eq!(statement.predicate, json!({"a": 1}));
        }
        let of_payload_only = envelope(STATEMENT, &payload);
        let of_other_type = envelope("text/plain", &encoded(STATEMENT, &payload));
        for text in [of_payload_only, of_other_type] {
            let read = Envelope::read(text.to_string().as_bytes()).unwrap();
            assert_eq!(read.signer(&keys), None, "{text}");
        }
        for nonsense in ["", "{}", r#"{"payloadType":"a","payload":"!","signatures":{}}"#] {
            assert_eq!(Envelope::read(nonsense.as_bytes()), None, "{nonsense}");
        }
    }
}
