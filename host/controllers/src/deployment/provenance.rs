//! The annotation that names the desired manifest of a group's documents. It is updated in place if a new manifest gives the same document. Pure.

use boson_pipeline::encoding;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Annotation of ig-resolved and bpm Secrets: digest of the desired manifest.
pub(super) const PROVENANCE: &str = "quarks.cloudfoundry.org/desired-manifest-digest";

/// The digest of a manifest's text, compressed or not.
pub(super) fn digest(manifest: &[u8]) -> String {
    let text = encoding::unpack(manifest);
    let bytes = Sha256::digest(text.as_deref().unwrap_or(manifest));
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The patch that sets the annotation; none if it is up to date.
pub(super) fn stamp(secret: &Secret, digest: &str) -> Option<Value> {
    let says = secret.annotations().get(PROVENANCE).map(String::as_str);
    (says != Some(digest)).then(|| json!({ "metadata": { "annotations": { PROVENANCE: digest } } }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_of_an_older_manifest_is_stamped_anew() {
        let mut secret = Secret::default();
        let (old, new) = (digest(b"old"), digest(b"new"));
        let members = stamp(&secret, &old).unwrap();
        assert_eq!(members["metadata"]["annotations"][PROVENANCE], old);
        secret.annotations_mut().insert(PROVENANCE.into(), old.clone());
        assert_eq!(stamp(&secret, &old), None);
        assert!(stamp(&secret, &new).is_some());
    }
}
