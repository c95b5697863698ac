//! Signatures as cosign makes them, with keys of openssl's: cosign itself need not be installed.

use crate::compiled::sha256;
use anyhow::{Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// The type of a statement's envelope.
const STATEMENT: &str = "application/vnd.in-toto+json";

/// A key of openssl's: ECDSA with P-256.
#[derive(Debug)]
pub struct SigningKey(TempDir);

// === impl SigningKey ===

impl SigningKey {
    /// A new one.
    ///
    /// # Errors
    /// openssl is missing.
    pub fn new() -> Result<Self> {
        let key = Self(tempfile::tempdir()?);
        key.openssl(&["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "key.pem"])?;
        key.openssl(&["ec", "-in", "key.pem", "-pubout", "-out", "public.pem"])?;
        Ok(key)
    }

    /// The file of the public key.
    pub fn public(&self) -> PathBuf {
        self.0.path().join("public.pem")
    }

    /// The signature of these bytes, in base64.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn sign(&self, bytes: &[u8]) -> Result<String> {
        fs::write(self.0.path().join("signed"), bytes)?;
        self.openssl(&["dgst", "-sha256", "-sign", "key.pem", "-out", "signature", "signed"])?;
        Ok(STANDARD.encode(fs::read(self.0.path().join("signature"))?))
    }

    fn openssl(&self, arguments: &[&str]) -> Result<()> {
        let output = Command::new("openssl")
            .args(arguments)
            .current_dir(self.0.path())
            .output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }
}

/// The payload that names the image with this digest, and its signature, as `cosign sign --key` makes them.
///
/// # Errors
/// As [`SigningKey::sign`].
pub fn of_image(key: &SigningKey, digest: &str) -> Result<(String, String)> {
    let payload = json!({
        "critical": {
            "identity": {"docker-reference": "registry.example.com/team/plugin"},
            "image": {"docker-manifest-digest": digest},
            "type": "cosign container image signature",
        },
        "optional": null,
    });
    let payload = payload.to_string();
    let signature = key.sign(payload.as_bytes())?;
    Ok((payload, signature))
}

/// A signed statement about what has this digest, as `cosign attest --key` makes it: an envelope.
///
/// # Errors
/// As [`SigningKey::sign`].
pub fn statement(key: &SigningKey, digest: &str, kind: &str, predicate: &Value) -> Result<Value> {
    let digits = digest.trim_start_matches("sha256:");
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "plugin", "digest": {"sha256": digits}}],
        "predicateType": kind,
        "predicate": predicate,
    });
    let statement = statement.to_string();
    let signed = format!("DSSEv1 {} {STATEMENT} {} {statement}", STATEMENT.len(), statement.len());
    Ok(json!({
        "payloadType": STATEMENT,
        "payload": STANDARD.encode(&statement),
        "signatures": [{"keyid": "", "sig": key.sign(signed.as_bytes())?}],
    }))
}

/// The digest of these bytes, with its algorithm.
pub fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", sha256(bytes))
}

/// SLSA provenance of this builder.
pub fn provenance(builder: &str) -> Value {
    json!({
        "buildDefinition": {"buildType": "https://example.com/make", "externalParameters": {}},
        "runDetails": {"builder": {"id": builder}},
    })
}
