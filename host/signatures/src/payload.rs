//! Signatures of images, as version 2 of `cosign sign` attaches them: a payload ("simple signing") that names the
//! digest of the image, the signature of the payload, and for keyless ones a certificate and the entry of a log.

use crate::trust::Trust;
use crate::verdict::{Author, SignatureError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use data_encoding::HEXLOWER;
use oci_spec::image::Digest;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// What a payload says that it is.
const KIND: &str = "cosign container image signature";

/// A payload with its signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageSignature {
    /// The signed text, JSON.
    pub payload: String,
    /// The signature in base64.
    pub signature: String,
    /// A bundle with the signature, if it is keyless.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bundle: Option<String>,
}

/// The entry of a log, as cosign annotates it.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct LogEntry {
    signed_entry_timestamp: String,
    payload: LogPayload,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LogPayload {
    /// In base64.
    body: String,
    integrated_time: u64,
    log_index: u64,
    /// In hexadecimal digits.
    #[serde(rename = "logID")]
    log_id: String,
}

#[derive(Deserialize)]
struct Payload {
    critical: Critical,
}

#[derive(Deserialize)]
struct Critical {
    image: Image,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct Image {
    #[serde(rename = "docker-manifest-digest")]
    digest: String,
}

// === impl ImageSignature ===

impl ImageSignature {
    pub fn new(payload: String, signature: String) -> Self {
        Self {
            payload,
            signature,
            bundle: None,
        }
    }

    /// With a certificate in PEM, and the entry of a log in JSON. If one is malformed, only keys can verify it.
    pub fn with_certificate(mut self, certificate: &str, entry: &str) -> Self {
        self.bundle = bundle(&self.signature, certificate, entry);
        self
    }

    /// Who has signed the image with this digest. The name of the image in the payload does not count: images are
    /// copied to other registries.
    pub fn author(&self, digest: &Digest, trust: &Trust) -> Result<Author, SignatureError> {
        // The signature first: nothing of an unsigned text is parsed.
        let author = match (
            trust.keys.signer(self.payload.as_bytes(), &self.signature),
            &trust.identities,
        ) {
            (Some(key), _) => Author::Key(key.to_string()),
            (None, Some(identities)) => {
                let bundle = self.bundle.as_ref().ok_or_else(SignatureError::default)?;
                identities.of_bytes(self.payload.as_bytes(), bundle)?
            }
            (None, None) => return Err(SignatureError::default()),
        };
        let payload = serde_json::from_str(&self.payload);
        let Payload { critical } = payload.map_err(|_| SignatureError::default())?;
        let is_of_image = critical.kind == KIND && critical.image.digest == digest.as_ref();
        if is_of_image {
            Ok(author)
        } else {
            Err(SignatureError::default())
        }
    }
}

/// The same as a bundle; none if a part is malformed.
fn bundle(signature: &str, certificate: &str, entry: &str) -> Option<String> {
    let certificate = pem::parse(certificate).ok()?;
    let LogEntry {
        signed_entry_timestamp,
        payload,
    } = serde_json::from_str(entry).ok()?;
    let log = HEXLOWER.decode(payload.log_id.as_bytes()).ok()?;
    let entry = json!({
        "logIndex": payload.log_index.to_string(),
        "logId": {"keyId": STANDARD.encode(log)},
        "kindVersion": {"kind": "hashedrekord", "version": "0.0.1"},
        "integratedTime": payload.integrated_time.to_string(),
        "inclusionPromise": {"signedEntryTimestamp": signed_entry_timestamp},
        "canonicalizedBody": payload.body,
    });
    let bundle = json!({
        // The version in which the signed time of an entry is enough.
        "mediaType": "application/vnd.dev.sigstore.bundle+json;version=0.1",
        "verificationMaterial": {
            "x509CertificateChain": {"certificates": [{"rawBytes": STANDARD.encode(certificate.contents())}]},
            "tlogEntries": [entry],
        },
        "messageSignature": {"signature": signature},
    });
    Some(bundle.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::tests::{ecdsa, trusted};

    #[test]
    fn a_signature_is_of_the_image_that_its_payload_names() {
        let (text, sign) = ecdsa();
        let trust = trusted(&text);
        let digest = |letter: &str| -> Digest { format!("sha256:{}", letter.repeat(64)).parse().unwrap() };
        let signed = |kind: &str| {
            let payload = format!(
                r#"{{"critical":{{"identity":{{"docker-reference":"r.example/p"}},"image":{{"docker-manifest-digest":"{}"}},"type":"{kind}"}},"optional":null}}"#,
                digest("a")
            );
            let signature = STANDARD.encode(sign(payload.as_bytes()));
            ImageSignature::new(payload, signature)
        };
        let is_of = |one: &ImageSignature, digest: &Digest| one.author(digest, &trust).is_ok();
        let good = signed(KIND);
        let key = trust.keys.fingerprints().next().unwrap().to_string();
        assert_eq!(good.author(&digest("a"), &trust), Ok(Author::Key(key)));
        assert!(!is_of(&good, &digest("b")), "of another image");
        assert!(good.author(&digest("a"), &Trust::default()).is_err(), "there is no key");
        assert!(!is_of(&signed("atomic container signature"), &digest("a")));
        let changed = ImageSignature {
            payload: good.payload.replace(&digest("a").to_string(), digest("b").as_ref()),
            ..good.clone()
        };
        assert!(!is_of(&changed, &digest("b")), "the signature is of another text");
        let nonsense = ImageSignature::new("{}".into(), STANDARD.encode(sign(b"{}")));
        assert!(!is_of(&nonsense, &digest("a")));
    }
}
