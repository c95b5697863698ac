//! Components of plugins for the operator, from registries.

use crate::signatures::Mode;
use boson_controllers::conversion::{ComponentImage, Components, PullSecret, StoredComponent};
use boson_pipeline::Diagnostic;
use boson_registry::{Credentials, Owned, Registry, docker_config};
use std::future::Future;
use std::pin::Pin;

/// Components in registries, and in the cache of the operator.
pub struct RegistryComponents {
    registry: Registry,
    signatures: Mode,
}

// === impl RegistryComponents ===

impl RegistryComponents {
    /// With the cache of this registry client. `signatures`: whether those of images are read.
    pub fn new(registry: Registry, signatures: Mode) -> Self {
        Self { registry, signatures }
    }

    async fn pulled(&self, image: &ComponentImage) -> Result<String, Diagnostic> {
        let credentials = credentials(&image.pull, &image.image);
        let pulled = self.registry.pull_component(owned(image), credentials.as_ref()).await?;
        if self.signatures != Mode::Off && self.registry.signatures(owned(image)).await?.is_empty() {
            let found = self.registry.pull_signatures(owned(image), credentials.as_ref()).await;
            match (found, self.signatures) {
                (Err(error), Mode::Enforce) => return Err(error),
                (Err(error), _) => tracing::warn!(code = error.code, "{}", error.message),
                (Ok(_), _) => {}
            }
        }
        Ok(digits(pulled))
    }

    /// The digest of a component on the disk. If it must be signed and no signature is there, it does not count: the
    /// registry is asked for one.
    async fn found(&self, image: &ComponentImage) -> Result<Option<String>, Diagnostic> {
        let digest = self.registry.component_digest(owned(image)).await?;
        let must_ask = self.signatures == Mode::Enforce && self.registry.signatures(owned(image)).await?.is_empty();
        Ok(digest.filter(|_| !must_ask).map(digits))
    }

    async fn stored(&self, image: &ComponentImage) -> Result<Option<StoredComponent>, Diagnostic> {
        let Some(bytes) = self.registry.component(owned(image)).await? else {
            return Ok(None);
        };
        let signatures = match self.signatures {
            Mode::Off => Vec::new(),
            Mode::Warn | Mode::Enforce => self.registry.signatures(owned(image)).await?,
        };
        Ok(Some(StoredComponent { bytes, signatures }))
    }
}

impl Components for RegistryComponents {
    fn pin<'a>(
        &'a self,
        image: &'a ComponentImage,
    ) -> Pin<Box<dyn Future<Output = Result<String, Diagnostic>> + Send + 'a>> {
        Box::pin(async {
            let credentials = credentials(&image.pull, &image.image);
            self.registry.pin(&image.image, credentials.as_ref()).await
        })
    }

    fn pull<'a>(
        &'a self,
        image: &'a ComponentImage,
    ) -> Pin<Box<dyn Future<Output = Result<String, Diagnostic>> + Send + 'a>> {
        Box::pin(self.pulled(image))
    }

    fn present<'a>(
        &'a self,
        image: &'a ComponentImage,
    ) -> Pin<Box<dyn Future<Output = Result<Option<String>, Diagnostic>> + Send + 'a>> {
        Box::pin(self.found(image))
    }

    fn read<'a>(
        &'a self,
        image: &'a ComponentImage,
    ) -> Pin<Box<dyn Future<Output = Result<Option<StoredComponent>, Diagnostic>> + Send + 'a>> {
        Box::pin(self.stored(image))
    }
}

fn owned(image: &ComponentImage) -> Owned<'_> {
    Owned {
        namespace: &image.namespace,
        image: &image.image,
    }
}

fn digits(digest: String) -> String {
    digest.strip_prefix("sha256:").map_or(digest.clone(), str::to_owned)
}

/// Credentials of the first pull Secret with an entry for the registry of an image.
pub fn credentials(pull: &[PullSecret], image: &str) -> Option<Credentials> {
    let secrets = pull.iter();
    secrets
        .filter_map(|secret| docker_config(&secret.0, image).ok().flatten())
        .next()
}
