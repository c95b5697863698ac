//! Release images for the operator: fetched from their registry, read as releases, and kept in memory while they are in
//! use.

use boson_controllers::conversion::{Images, ReleaseImage};
use boson_pipeline::Diagnostic;
use boson_pipeline::release::Release;
use boson_plugin_tools::components::{RegistryComponents, credentials};
use boson_plugin_tools::signatures::Signatures;
use boson_registry::codes;
use boson_registry::{Registry, Settings};
use futures::future::BoxFuture;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::task;

/// Images in registries.
pub struct RegistryImages {
    registry: Registry,
}

// === impl RegistryImages ===

impl RegistryImages {
    /// `cache`: a directory of ours.
    ///
    /// # Errors
    /// `image-authority`: a trusted authority is not a certificate.
    pub fn new(cache: PathBuf, settings: &Settings) -> Result<Self, Vec<Diagnostic>> {
        let registry = Registry::new(cache, settings).map_err(|error| vec![error])?;
        Ok(Self { registry })
    }

    /// Components of plugins, from the same registries and in the same cache. `signatures`: whether those of images are
    /// read, and which are enough.
    pub fn components(&self, signatures: Arc<Signatures>) -> RegistryComponents {
        RegistryComponents::new(self.registry.clone(), signatures)
    }

    async fn read(&self, wanted: &ReleaseImage) -> Result<Release, Vec<Diagnostic>> {
        let credentials = credentials(&wanted.pull, &wanted.image);
        let layout = self
            .registry
            .fetch(&wanted.image, credentials.as_ref())
            .await
            .map_err(|error| vec![error])?;
        let (name, image) = (wanted.release.clone(), wanted.image.clone());
        // Messages use the image's name: the path of the layout differs each time.
        let read = task::spawn_blocking(move || boson_releases::read_titled(layout.path(), &image, &name));
        read.await.map_err(|_| {
            vec![Diagnostic::error(
                codes::IMAGE_REGISTRY,
                "reading the image was interrupted",
            )]
        })?
    }
}

impl Images for RegistryImages {
    fn release<'a>(&'a self, wanted: &'a ReleaseImage) -> BoxFuture<'a, Result<Release, Vec<Diagnostic>>> {
        Box::pin(self.read(wanted))
    }
}
