//! Signatures of components: the text that `cosign sign-blob --key` and `openssl dgst -sign` write.

use crate::key::Keys;
use serde::Deserialize;

/// A bundle of Sigstore for the bytes of a file. Certificates and records of logs in it are not used.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bundle {
    message_signature: MessageSignature,
}

#[derive(Deserialize)]
struct MessageSignature {
    /// In base64.
    signature: String,
}

/// A bundle as version 2 of cosign writes it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OldBundle {
    base64_signature: String,
}

/// The fingerprint of the key that has signed a component. `text`: a signature in base64, or a bundle with one.
pub fn signer<'k>(component: &[u8], text: &str, keys: &'k Keys) -> Option<&'k str> {
    let of_bundle = serde_json::from_str(text).map(|bundle: Bundle| bundle.message_signature.signature);
    let of_old = || serde_json::from_str(text).map(|bundle: OldBundle| bundle.base64_signature);
    let signature = of_bundle.or_else(|_| of_old());
    keys.signer(component, signature.as_deref().unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::tests::ecdsa;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    #[test]
    fn a_signature_counts_alone_and_in_a_bundle() {
        let (text, sign) = ecdsa();
        let mut keys = Keys::default();
        keys.add(text.as_bytes()).unwrap();
        let signature = STANDARD.encode(sign(b"component"));
        let bundle = json!({
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json", "verificationMaterial": {"publicKey": {}},
            "messageSignature": {"messageDigest": {"algorithm": "SHA2_256", "digest": ""}, "signature": signature},
        });
        let old = json!({"base64Signature": signature, "cert": "", "rekorBundle": null});
        for text in [signature.clone(), bundle.to_string(), old.to_string()] {
            assert_eq!(signer(b"component", &text, &keys), keys.fingerprints().next(), "{text}");
            assert_eq!(signer(b"other", &text, &keys), None, "{text}");
        }
        let of_statement =
            json!({"dsseEnvelope": {"payload": "", "payloadType": "", "signatures": [{"sig": signature}]}});
        assert_eq!(signer(b"component", &of_statement.to_string(), &keys), None);
    }

    /// Written by cosign 3.1.3 with keys that were made for this test: `cosign sign-blob --key KEY --signing-config
    /// FILE --bundle BUNDLE component`, with a file without services.
    #[test]
    fn bundles_that_cosign_has_written_count() {
        let recorded = include_str!("../tests/cosign-3.json");
        let recorded: Vec<serde_json::Value> = serde_json::from_str(recorded).unwrap();
        assert_eq!(recorded.len(), 3);
        for one in recorded {
            let mut keys = Keys::default();
            keys.add(one["key"].as_str().unwrap().as_bytes()).unwrap();
            let bundle = one["bundle"].to_string();
            assert!(signer(b"a component\n", &bundle, &keys).is_some(), "{}", one["kind"]);
            assert_eq!(signer(b"another component\n", &bundle, &keys), None, "{}", one["kind"]);
        }
    }
}
