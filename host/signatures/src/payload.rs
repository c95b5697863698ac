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
    /// Whether one of the keys has signed the image with this digest, `sha256:` and 64 digits. The name of the image in
    /// the payload does not count: images are copied to other registries.
    pub fn is_of(&self, digest: &str, keys: &Keys) -> bool {
        // The signature first: nothing of an unsigned text is parsed.
        if !keys.have_signed(self.payload.as_bytes(), &self.signature) {
            return false;
        }
        let payload: Option<Payload> = serde_json::from_str(&self.payload).ok();
        payload.is_some_and(|payload| payload.critical.kind == KIND && payload.critical.image.digest == digest)
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
        let good = signed(KIND);
        assert!(good.is_of(&digest("a"), &keys));
        assert!(!good.is_of(&digest("b"), &keys), "of another image");
        assert!(!good.is_of(&digest("a"), &Keys::default()), "there is no key");
        assert!(!signed("atomic container signature").is_of(&digest("a"), &keys));
        let changed = ImageSignature {
            payload: good.payload.replace(&digest("a"), &digest("b")),
            ..good.clone()
        };
        assert!(!changed.is_of(&digest("b"), &keys), "the signature is of another text");
        let nonsense = ImageSignature {
            payload: "{}".into(),
            signature: STANDARD.encode(sign(b"{}")),
        };
        assert!(!nonsense.is_of(&digest("a"), &keys));
    }
}
