//! Components of plugins for the operator, from registries.

use crate::signatures::{Mode, Signatures};
use boson_cluster::pull_secret::PullSecret;
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

    async fn pulled(&self, image: &ComponentImage) -> Result<String, Diagnostic> {
        let credentials = credentials(&image.pull, &image.image);
        let pulled = self.registry.pull_component(owned(image), credentials.as_ref()).await?;
        let mode = self.signatures.mode();
        if mode != Mode::Off && !self.is_enough(image, pulled.as_ref()).await? {
            let found = self.registry.pull_attached(owned(image), credentials.as_ref()).await;
            match (found, mode) {
                (Err(error), Mode::Enforce) => return Err(error),
                (Err(error), _) => tracing::warn!(code = error.code, "{}", error.message),
                (Ok(_), _) => {}
            }
        }
        Ok(pulled.digest().to_owned())
    }

    /// The digest of a component on the disk. If it must be signed or attested and what is there is not enough, it does
    /// not count: the registry is asked for more.
    async fn found(&self, image: &ComponentImage) -> Result<Option<String>, Diagnostic> {
        let Some(digest) = self.registry.component_digest(owned(image)).await? else {
            return Ok(None);
        };
        let must_ask = self.signatures.mode() == Mode::Enforce && !self.is_enough(image, digest.as_ref()).await?;
        Ok((!must_ask).then(|| digest.digest().to_owned()))
    }

    /// Whether the signatures and attestations on the disk are enough.
    async fn is_enough(&self, image: &ComponentImage, component: &str) -> Result<bool, Diagnostic> {
        let attached = self.registry.attached(owned(image)).await?;
        let digest = image.image.split_once('@').map_or("", |(_, digest)| digest);
        Ok(self.signatures.are_satisfied_by(attached, digest, component))
    }

    async fn stored(&self, image: &ComponentImage) -> Result<Option<StoredComponent>, Diagnostic> {
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
    fn pin<'a>(&'a self, image: &'a ComponentImage) -> BoxFuture<'a, Result<String, Diagnostic>> {
        Box::pin(async {
            let credentials = credentials(&image.pull, &image.image);
            let digest = self.registry.pin(&image.image, credentials.as_ref()).await?;
            Ok(digest.to_string())
        })
    }

    fn pull<'a>(&'a self, image: &'a ComponentImage) -> BoxFuture<'a, Result<String, Diagnostic>> {
        Box::pin(self.pulled(image))
    }

    fn present<'a>(&'a self, image: &'a ComponentImage) -> BoxFuture<'a, Result<Option<String>, Diagnostic>> {
        Box::pin(self.found(image))
    }

    fn read<'a>(&'a self, image: &'a ComponentImage) -> BoxFuture<'a, Result<Option<StoredComponent>, Diagnostic>> {
        Box::pin(self.stored(image))
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
