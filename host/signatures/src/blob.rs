//! Signatures of components: the text that `cosign sign-blob` and `openssl dgst -sign` write.

use crate::trust::Trust;
use crate::verdict::{Author, SignatureError};
use serde::Deserialize;

/// A bundle of Sigstore for the bytes of a file, as far as keys verify it.
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

/// Who has signed a component. `text`: a signature in base64, or a bundle with one.
pub fn author(component: &[u8], text: &str, trust: &Trust) -> Result<Author, SignatureError> {
    let bundle: Option<Bundle> = serde_json::from_str(text).ok();
    let of_old = || serde_json::from_str(text).map(|bundle: OldBundle| bundle.base64_signature);
    let is_bundle = bundle.is_some();
    let signature = bundle.map(|bundle| bundle.message_signature.signature);
    let signature = signature.or_else(|| of_old().ok());
    if let Some(key) = trust.keys.signer(component, signature.as_deref().unwrap_or(text)) {
        return Ok(Author::Key(key.to_string()));
    }
    match &trust.identities {
        Some(identities) if is_bundle => identities.of_bytes(component, text),
        _ => Err(SignatureError::default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::tests::{ecdsa, trusted};
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    #[test]
    fn a_signature_counts_alone_and_in_a_bundle() {
        let (text, sign) = ecdsa();
        let trust = trusted(&text);
        let signature = STANDARD.encode(sign(b"component"));
        let bundle = json!({
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json", "verificationMaterial": {"publicKey": {}},
            "messageSignature": {"messageDigest": {"algorithm": "SHA2_256", "digest": ""}, "signature": signature},
        });
        let old = json!({"base64Signature": signature, "cert": "", "rekorBundle": null});
        for text in [signature.clone(), bundle.to_string(), old.to_string()] {
            let key = trust.keys.fingerprints().next().unwrap().to_string();
            assert_eq!(author(b"component", &text, &trust), Ok(Author::Key(key)), "{text}");
            assert_eq!(
                author(b"other", &text, &trust),
                Err(SignatureError::default()),
                "{text}"
            );
        }
        let of_statement =
            json!({"dsseEnvelope": {"payload": "", "payloadType": "", "signatures": [{"sig": signature}]}});
        assert!(author(b"component", &of_statement.to_string(), &trust).is_err());
    }

    /// Written by cosign 3.1.3 with keys that were made for this test: `cosign sign-blob --key KEY --signing-config
    /// FILE --bundle BUNDLE component`, with a file without services.
    #[test]
    fn bundles_that_cosign_has_written_count() {
        let recorded = include_str!("../tests/cosign-3.json");
        let recorded: Vec<serde_json::Value> = serde_json::from_str(recorded).unwrap();
        assert_eq!(recorded.len(), 3);
        for one in recorded {
            let trust = trusted(one["key"].as_str().unwrap());
            let bundle = one["bundle"].to_string();
            assert!(author(b"a component\n", &bundle, &trust).is_ok(), "{}", one["kind"]);
            assert!(
                author(b"another component\n", &bundle, &trust).is_err(),
                "{}",
                one["kind"]
            );
        }
    }
}
