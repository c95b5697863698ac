//! The signatures and signed statements of an image, as the operator needs them, kept in the cache beside the
//! component. They are not verified here.

use crate::attachments::MAX_STATEMENT_BYTES;
use crate::cache::Key;
use crate::component::{Keys, Owned, component_reference};
use crate::credentials::Credentials;
use crate::registry::Registry;
use boson_pipeline::Diagnostic;
use boson_signatures::Attached;
use oci_spec::distribution::Reference;

/// The largest list in the cache, in bytes.
const MAX_LIST_BYTES: u64 = 16 << 20;

// === impl Registry ===

impl Registry {
    /// Reads the signatures and signed statements of an image with a digest from the registry, and caches them.
    ///
    /// # Errors
    /// Codes `plugin-image-*`: no access, no answer. An image without signatures is no error.
    pub async fn pull_attached(
        &self,
        wanted: Owned<'_>,
        credentials: Option<&Credentials>,
    ) -> Result<Attached, Diagnostic> {
        let found = self.read_attachments(wanted.image, credentials, MAX_STATEMENT_BYTES);
        let found = found.await?.attached();
        if !found.is_empty() {
            let reference = component_reference(self, wanted.image)?;
            let key = key(wanted, &reference);
            let text = serde_json::to_vec(&found).unwrap_or_default();
            self.in_cache(move |cache| {
                let place = cache.place()?;
                let path = place.path().join("attached");
                std::fs::write(&path, &text)?;
                cache.keep(&key, &path)
            })
            .await?;
        }
        Ok(found)
    }

    /// The signatures and signed statements of an image with a digest, from the cache.
    ///
    /// # Errors
    /// The reference is invalid or its registry not allowed; the disk.
    pub async fn attached(&self, wanted: Owned<'_>) -> Result<Attached, Diagnostic> {
        let reference = component_reference(self, wanted.image)?;
        let key = key(wanted, &reference);
        self.in_cache(move |cache| {
            let found = cache.read(&key, MAX_LIST_BYTES)?;
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
    Keys::new(wanted.namespace, reference).of(&format!("attached to {digest}"))
}
