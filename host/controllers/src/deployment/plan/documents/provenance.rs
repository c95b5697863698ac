//! The annotation that names the desired manifest of a group's documents. It is updated in place if a new manifest
//! gives the same document. Pure.

use boson_pipeline::digest::sha256;
use boson_pipeline::encoding;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Annotation of ig-resolved and bpm Secrets: digest of the desired manifest.
pub const PROVENANCE: &str = "quarks.cloudfoundry.org/desired-manifest-digest";

/// The digest of a manifest's text, compressed or not.
pub fn digest(manifest: &[u8]) -> String {
    let text = encoding::unpack(manifest);
    sha256(text.as_deref().unwrap_or(manifest))
}

/// The patch that sets these annotations; none if they are up to date.
pub fn annotation_patch(secret: &Secret, wanted: &BTreeMap<String, String>) -> Option<Value> {
    let is_up_to_date = wanted
        .iter()
        .all(|(key, value)| secret.annotations().get(key) == Some(value));
    (!is_up_to_date).then(|| json!({ "metadata": { "annotations": wanted } }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_of_an_older_manifest_is_stamped_anew() {
        let mut secret = Secret::default();
        let of = |text: &[u8]| BTreeMap::from([(PROVENANCE.to_string(), digest(text)), ("tag".into(), "x".into())]);
        let (old, new) = (of(b"old"), of(b"new"));
        let members = annotation_patch(&secret, &old).unwrap();
        assert_eq!(members["metadata"]["annotations"], json!(old));
        secret.annotations_mut().extend(old.clone());
        secret.annotations_mut().insert("other".into(), "y".into());
        assert_eq!(annotation_patch(&secret, &old), None);
        assert!(annotation_patch(&secret, &new).is_some());
    }
}
