//! Signatures of images, as `cosign sign --key` attaches them: an image with the tag `sha256-<digits>.sig`, whose
//! layers are the signed payloads and whose annotations are the signatures. They are not verified here.

use crate::cache::Key;
use crate::client::Repository;
use crate::component::{Keys, Owned, component_reference};
use crate::failure::Failure;
use crate::layer::blocking;
use crate::manifest::is_digest;
use crate::registry::{MANIFEST, Registry};
use crate::space::unwritable;
use boson_pipeline::Diagnostic;
use boson_signatures::ImageSignature;
use oci_spec::distribution::Reference;
use serde::Deserialize;
use std::collections::BTreeMap;
use tokio::time::timeout;

/// The type of a payload.
const PAYLOAD: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
/// The annotation with a signature.
const SIGNATURE: &str = "dev.cosignproject.cosign/signature";
/// Signatures of an image that are read.
const MOST: usize = 16;
/// The largest payload, in bytes.
const LARGEST: u64 = 64 << 10;
/// The largest list of signatures in the cache, in bytes.
const LARGEST_LIST: u64 = 4 << 20;

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    layers: Vec<Layer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Layer {
    digest: String,
    size: u64,
    #[serde(default)]
    media_type: String,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

// === impl Registry ===

impl Registry {
    /// Reads the signatures of an image with a digest from the registry, and caches them.
    ///
    /// # Errors
    /// Codes `plugin-image-*`: no access, no answer. An image without signatures is no error.
    pub async fn pull_signatures(
        &self,
        wanted: Owned<'_>,
        credentials: Option<&crate::Credentials>,
    ) -> Result<Vec<ImageSignature>, Diagnostic> {
        let reference = component_reference(self, wanted.image)?;
        let asked = timeout(MANIFEST, async {
            let repository = self.client.repository(&reference, credentials).await?;
            read(&repository, &reference).await
        });
        let found = asked.await.unwrap_or(Err(Failure::Odd("does not answer")));
        let found = found.map_err(|failure| failure.explain_component(wanted.image))?;
        if !found.is_empty() {
            let (cache, key) = (self.cache.clone(), key(wanted, &reference));
            let text = serde_json::to_vec(&found).unwrap_or_default();
            blocking(move || {
                let keep = || {
                    let place = cache.place()?;
                    let path = place.path().join("signatures");
                    std::fs::write(&path, &text)?;
                    cache.forget(&key);
                    cache.keep(&key, &path, text.len() as u64)
                };
                keep().map_err(|error| unwritable(&error))
            })
            .await?;
        }
        Ok(found)
    }

    /// The signatures of an image with a digest in the cache.
    ///
    /// # Errors
    /// The reference is invalid or its registry not allowed; the disk.
    pub async fn signatures(&self, wanted: Owned<'_>) -> Result<Vec<ImageSignature>, Diagnostic> {
        let reference = component_reference(self, wanted.image)?;
        let (cache, key) = (self.cache.clone(), key(wanted, &reference));
        blocking(move || {
            let found = cache.read(&key, LARGEST_LIST).map_err(|error| unwritable(&error))?;
            // A damaged list is like none.
            Ok(found
                .and_then(|text| serde_json::from_slice(&text).ok())
                .unwrap_or_default())
        })
        .await
    }
}

fn key(wanted: Owned<'_>, reference: &Reference) -> Key {
    let digest = reference.digest().unwrap_or_default();
    Keys::new(wanted.namespace, reference).of(&format!("signatures of {digest}"))
}

async fn read(repository: &Repository<'_>, reference: &Reference) -> Result<Vec<ImageSignature>, Failure> {
    let Some(digest) = reference.digest() else {
        return Ok(Vec::new());
    };
    let body = match repository.manifest(&format!("{}.sig", digest.replace(':', "-"))).await {
        Err(Failure::Missing) => return Ok(Vec::new()),
        body => body?,
    };
    let mut found = Vec::new();
    for (layer, signature) in layers(&body).into_iter().take(MOST) {
        let payload = repository.document(&layer).await?;
        if let Ok(payload) = String::from_utf8(payload) {
            found.push(ImageSignature { payload, signature });
        }
    }
    Ok(found)
}

/// The digests of payloads, with their signatures. Everything else is ignored.
fn layers(body: &[u8]) -> Vec<(String, String)> {
    let document: Document = serde_json::from_slice(body).unwrap_or(Document { layers: Vec::new() });
    let layers = document.layers.into_iter();
    let payloads =
        layers.filter(|layer| layer.media_type == PAYLOAD && layer.size <= LARGEST && is_digest(&layer.digest));
    payloads
        .filter_map(|mut layer| Some((layer.digest, layer.annotations.remove(SIGNATURE)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_have_a_type_and_a_signature() {
        let digest = format!("sha256:{}", "a".repeat(64));
        let layer = |media_type: &str, size: u64, annotation: &str| {
            format!(
                r#"{{"mediaType":"{media_type}","digest":"{digest}","size":{size},"annotations":{{"{annotation}":"c2ln"}}}}"#
            )
        };
        let body = format!(
            r#"{{"schemaVersion":2,"layers":[{},{},{},{}]}}"#,
            layer(PAYLOAD, 200, SIGNATURE),
            layer("text/plain", 200, SIGNATURE),
            layer(PAYLOAD, LARGEST + 1, SIGNATURE),
            layer(PAYLOAD, 200, "other"),
        );
        assert_eq!(layers(body.as_bytes()), [(digest, "c2ln".to_string())]);
        for body in ["", "{}", r#"{"layers":[{"digest":7}]}"#] {
            assert!(layers(body.as_bytes()).is_empty(), "{body}");
        }
    }
}
