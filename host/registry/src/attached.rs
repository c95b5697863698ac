//! The signatures and signed statements of an image, as the operator needs them, kept in the cache beside the
//! component. They are not verified here.

use crate::attachments::{self, MAX_STATEMENT_BYTES};
use crate::cache::Key;
use crate::component::{Keys, Owned, component_reference};
use crate::credentials::Credentials;
use crate::error::Error;
use crate::layer::blocking;
use crate::registry::Registry;
use crate::space::unwritable;
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
        let found = self.bounded(wanted.image, async {
            let reference = component_reference(self, wanted.image)?;
            let found = async {
                let repository = self.client.repository(&reference, credentials).await?;
                attachments::read(&repository, reference.digest().unwrap_or_default(), MAX_STATEMENT_BYTES).await
            };
            let found = found.await;
            found.map_err(|failure: Error| failure.explain_component(wanted.image))
        });
        let found = found.await?.attached();
        if !found.is_empty() {
            let reference = component_reference(self, wanted.image)?;
            let (cache, key) = (self.cache.clone(), key(wanted, &reference));
            let text = serde_json::to_vec(&found).unwrap_or_default();
            blocking(move || {
                let keep = || {
                    let place = cache.place()?;
                    let path = place.path().join("attached");
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

    /// The signatures and signed statements of an image with a digest, from the cache.
    ///
    /// # Errors
    /// The reference is invalid or its registry not allowed; the disk.
    pub async fn attached(&self, wanted: Owned<'_>) -> Result<Attached, Diagnostic> {
        let reference = component_reference(self, wanted.image)?;
        let (cache, key) = (self.cache.clone(), key(wanted, &reference));
        blocking(move || {
            let found = cache.read(&key, MAX_LIST_BYTES).map_err(|error| unwritable(&error))?;
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
