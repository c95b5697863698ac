//! Components of plugins for the operator, from registries.

use crate::signatures::{Mode, Signatures};
use boson_cluster::pull_secret::PullSecret;
use boson_oci::{Digest, parse_digest};
use boson_pipeline::Diagnostic;
use boson_plugins::host::{ComponentImage, Components, StoredComponent};
use boson_registry::{Credentials, Owned, Registry, docker_config};
use boson_signatures::Attached;
use futures::future::BoxFuture;
use std::sync::Arc;

/// Components in registries, and in the cache of the operator.
pub struct RegistryComponents {
    registry: Registry,
    signatures: Arc<Signatures>,
}

// === impl RegistryComponents ===

impl RegistryComponents {
    /// With the cache of this registry client. `signatures`: whether those of images are read, and which are enough.
    pub fn new(registry: Registry, signatures: Arc<Signatures>) -> Self {
        Self { registry, signatures }
    }

    async fn pull_signed(&self, image: &ComponentImage) -> Result<Digest, Diagnostic> {
        let credentials = credentials(&image.pull, &image.image);
        let pulled = self.registry.pull_component(owned(image), credentials.as_ref()).await?;
        let mode = self.signatures.mode();
        if mode != Mode::Off && !self.is_enough(image, &pulled).await? {
            let found = self.registry.pull_attached(owned(image), credentials.as_ref()).await;
            match (found, mode) {
                (Err(error), Mode::Enforce) => return Err(error),
                (Err(error), _) => tracing::warn!(code = error.code, "{}", error.message),
                (Ok(_), _) => {}
            }
        }
        Ok(pulled)
    }

    /// The digest of a component on the disk. If it must be signed or attested and what is there is not enough, it does
    /// not count: the registry is asked for more.
    async fn find(&self, image: &ComponentImage) -> Result<Option<Digest>, Diagnostic> {
        let Some(digest) = self.registry.component_digest(owned(image)).await? else {
            return Ok(None);
        };
        let must_ask = self.signatures.mode() == Mode::Enforce && !self.is_enough(image, &digest).await?;
        Ok((!must_ask).then_some(digest))
    }

    /// Whether the signatures and attestations on the disk are enough.
    async fn is_enough(&self, image: &ComponentImage, component: &Digest) -> Result<bool, Diagnostic> {
        let attached = self.registry.attached(owned(image)).await?;
        let digest = image.image.split_once('@').and_then(|(_, digest)| parse_digest(digest));
        Ok(self.signatures.are_satisfied_by(attached, digest, component))
    }

    async fn read_stored(&self, image: &ComponentImage) -> Result<Option<StoredComponent>, Diagnostic> {
        let Some(bytes) = self.registry.component(owned(image)).await? else {
            return Ok(None);
        };
        let attached = match self.signatures.mode() {
            Mode::Off => Attached::default(),
            Mode::Warn | Mode::Enforce => self.registry.attached(owned(image)).await?,
        };
        Ok(Some(StoredComponent { bytes, attached }))
    }
}

impl Components for RegistryComponents {
    fn pin<'a>(&'a self, image: &'a ComponentImage) -> BoxFuture<'a, Result<Digest, Diagnostic>> {
        Box::pin(async {
            let credentials = credentials(&image.pull, &image.image);
            self.registry.pin(&image.image, credentials.as_ref()).await
        })
    }

    fn pull<'a>(&'a self, image: &'a ComponentImage) -> BoxFuture<'a, Result<Digest, Diagnostic>> {
        Box::pin(self.pull_signed(image))
    }

    fn present<'a>(&'a self, image: &'a ComponentImage) -> BoxFuture<'a, Result<Option<Digest>, Diagnostic>> {
        Box::pin(self.find(image))
    }

    fn read<'a>(&'a self, image: &'a ComponentImage) -> BoxFuture<'a, Result<Option<StoredComponent>, Diagnostic>> {
        Box::pin(self.read_stored(image))
    }
}

fn owned(image: &ComponentImage) -> Owned<'_> {
    Owned {
        namespace: &image.namespace,
        image: &image.image,
    }
}

/// Credentials of the first pull Secret with an entry for the registry of an image.
pub fn credentials(pull: &[PullSecret], image: &str) -> Option<Credentials> {
    pull.iter()
        .find_map(|secret| docker_config(&secret.0, image).ok().flatten())
}
