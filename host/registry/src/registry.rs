//! Fetches images from a registry: first the manifest with the given credentials, then the layers that are not cached.

use crate::cache::{Cache, Key, Sizes, cache_error};
use crate::client::{Client, Repository, Settings, within_timeout};
use crate::codes;
use crate::credentials::{Credentials, matched_bytes};
use crate::error::registry_error;
use crate::layer;
use crate::layout::{Draft, Layout};
use boson_oci::Descriptor;
use boson_pipeline::Diagnostic;
use futures::FutureExt;
use oci_spec::distribution::Reference;
use std::io;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// How long an image may take, all its layers included: an endless download would block every deployment of an
/// operator.
const IMAGE_TIMEOUT: Duration = Duration::from_secs(300);

/// Reads images, and caches them in a directory.
#[derive(Clone, Debug)]
pub struct Registry {
    pub(crate) cache: Cache,
    pub(crate) client: Client,
    allowed: Arc<Vec<String>>,
    pub(crate) image_timeout: Duration,
}

// === impl Registry ===

impl Registry {
    /// `cache`: a cache directory, created when it is needed. Files of killed processes are removed from it.
    ///
    /// # Errors
    /// `image-authority`: a trusted authority is not a certificate.
    pub fn new(cache: PathBuf, settings: &Settings) -> Result<Self, Diagnostic> {
        Self::sized(cache, settings, Sizes::default())
    }

    pub(crate) fn sized(cache: PathBuf, settings: &Settings, sizes: Sizes) -> Result<Self, Diagnostic> {
        let client =
            Client::new(settings).map_err(|error| error.help("set --registry-ca to files with certificates in PEM"))?;
        Ok(Self {
            cache: Cache::new(cache, sizes),
            client,
            allowed: Arc::new(settings.allowed.clone()),
            image_timeout: IMAGE_TIMEOUT,
        })
    }

    #[cfg(test)]
    pub(crate) fn with_timeout(self, timeout: Duration) -> Self {
        Self {
            image_timeout: timeout,
            ..self
        }
    }

    /// Fetches what a conversion needs of `image`.
    ///
    /// # Errors
    /// Codes `image-*`: there is no such image, no access, no answer; or those of `boson_releases` for a layer that is
    /// damaged or over a limit.
    pub async fn fetch(&self, image: &str, credentials: Option<&Credentials>) -> Result<Layout, Diagnostic> {
        // Libraries parse the registry's answers, and a panic there must fail this image only, not end the operator.
        let fetched = AssertUnwindSafe(self.read(image, credentials)).catch_unwind();
        match timeout(self.image_timeout, fetched).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(registry_error(image, "returned a response that cannot be read")),
            Err(_) => Err(registry_error(
                image,
                &format!("did not send all of it within {} s", self.image_timeout.as_secs()),
            )),
        }
    }

    async fn read(&self, image: &str, credentials: Option<&Credentials>) -> Result<Layout, Diagnostic> {
        let reference: Reference = image.parse().map_err(|_| {
            Diagnostic::error(codes::IMAGE_REFERENCE, format!("'{image}' is not a valid image name"))
                .help("it is composed of the release's url, name and version and the stemcell")
        })?;
        if !self.allows(&reference) {
            return Err(not_allowed(&reference, image));
        }
        let asked = within_timeout(async {
            let repository = self.client.repository(&reference, credentials).await?;
            let (manifest, _) = repository.image(&reference, "push the image itself").await?;
            Ok((repository, manifest))
        });
        let (repository, manifest) = asked.await.map_err(|error| error.explain(image))?;
        let (cache, name) = (self.cache.clone(), image.to_owned());
        let mut draft = layer::run_blocking(move || Draft::open(cache, name)).await?;
        for layer in manifest.layers() {
            let key = Key::new(reference.resolve_registry(), reference.repository(), layer.digest());
            draft = add_layer(&repository, draft, key, layer).await?;
        }
        layer::run_blocking(|| draft.finish()).await
    }

    pub(crate) fn allows(&self, image: &Reference) -> bool {
        let place = format!("{}/{}", image.registry(), image.repository());
        self.allowed.is_empty() || self.allowed.iter().any(|key| matched_bytes(key, &place).is_some())
    }

    /// Work in the cache, on a thread that may wait for the disk.
    pub(crate) async fn in_cache<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Cache) -> io::Result<T> + Send + 'static,
    ) -> Result<T, Diagnostic> {
        let cache = self.cache.clone();
        layer::run_blocking(move || work(&cache).map_err(|error| cache_error(&error))).await
    }
}

fn not_allowed(reference: &Reference, image: &str) -> Diagnostic {
    let registry = reference.registry();
    let message = format!("image '{image}' was not read: the operator may not read from registry '{registry}'");
    let error = Diagnostic::error(codes::IMAGE_REGISTRY_NOT_ALLOWED, message);
    error.help("push it to a registry that --registry-allowed lists, or add the registry to that list")
}

/// Adds a layer on top of `draft`, from the cache or from the registry.
async fn add_layer(
    repository: &Repository<'_>,
    mut draft: Draft,
    key: Key,
    layer: &Descriptor,
) -> Result<Draft, Diagnostic> {
    let wanted = key.clone();
    let (draft, kept) = layer::run_blocking(move || draft.take(&wanted).map(|kept| (draft, kept))).await?;
    if kept {
        return Ok(draft);
    }
    let asked = within_timeout(repository.blob(layer.digest())).await;
    let answer = asked.map_err(|error| error.explain(&draft.image))?;
    layer::receive(draft, key, layer, answer).await
}
