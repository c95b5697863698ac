//! Signatures of images, as `cosign sign --key` attaches them: a payload ("simple signing") that names the digest of
//! the image, and the signature of the payload.

use crate::key::Keys;
use serde::{Deserialize, Serialize};

/// What a payload says that it is.
const KIND: &str = "cosign container image signature";

/// A payload with its signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageSignature {
    /// The signed text, JSON.
    pub payload: String,
    /// The signature in base64.
    pub signature: String,
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
    /// The fingerprint of the key that has signed the image with this digest, `sha256:` and 64 digits. The name of the
    /// image in the payload does not count: images are copied to other registries.
    pub fn signer<'k>(&self, digest: &str, keys: &'k Keys) -> Option<&'k str> {
        // The signature first: nothing of an unsigned text is parsed.
        let key = keys.signer(self.payload.as_bytes(), &self.signature)?;
        let Payload { critical } = serde_json::from_str(&self.payload).ok()?;
        (critical.kind == KIND && critical.image.digest == digest).then_some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::tests::ecdsa;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    #[test]
    fn a_signature_is_of_the_image_that_its_payload_names() {
        let (text, sign) = ecdsa();
        let mut keys = Keys::default();
        keys.add(text.as_bytes()).unwrap();
        let digest = |letter: &str| format!("sha256:{}", letter.repeat(64));
        let signed = |kind: &str| {
            let payload = format!(
                r#"{{"critical":{{"identity":{{"docker-reference":"r.example/p"}},"image":{{"docker-manifest-digest":"{}"}},"type":"{kind}"}},"optional":null}}"#,
                digest("a")
            );
            let signature = STANDARD.encode(sign(payload.as_bytes()));
            ImageSignature { payload, signature }
        };
        let is_of = |one: &ImageSignature, digest: &str| one.signer(digest, &keys).is_some();
        let good = signed(KIND);
        assert_eq!(good.signer(&digest("a"), &keys), keys.fingerprints().next());
        assert!(!is_of(&good, &digest("b")), "of another image");
        assert_eq!(good.signer(&digest("a"), &Keys::default()), None, "there is no key");
        assert!(!is_of(&signed("atomic container signature"), &digest("a")));
        let changed = ImageSignature {
            payload: good.payload.replace(&digest("a"), &digest("b")),
            ..good.clone()
        };
        assert!(!is_of(&changed, &digest("b")), "the signature is of another text");
        let nonsense = ImageSignature {
            payload: "{}".into(),
            signature: STANDARD.encode(sign(b"{}")),
        };
        assert!(!is_of(&nonsense, &digest("a")));
    }
}
