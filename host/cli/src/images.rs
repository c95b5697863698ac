//! Release images for the operator: fetched from their registry, read as releases, and kept in memory while they are in
//! use.

use boson_controllers::conversion::{Images, ReleaseImage};
use boson_pipeline::Diagnostic;
use boson_pipeline::release::Release;
use boson_plugin_tools::components::credentials;
use boson_registry::Registry;
use boson_registry::codes;
use futures::future::BoxFuture;
use tokio::task;

pub struct RegistryImages(pub Registry);

// === impl RegistryImages ===

impl RegistryImages {
    async fn read(&self, wanted: &ReleaseImage) -> Result<Release, Vec<Diagnostic>> {
        let credentials = credentials(&wanted.pull, &wanted.image);
        let fetched = self.0.fetch(&wanted.image, credentials.as_ref()).await;
        let layout = fetched?;
        let (name, image) = (wanted.release.clone(), wanted.image.clone());
        // Messages use the image's name: the path of the layout differs each time.
        let read = task::spawn_blocking(move || boson_releases::read_titled(layout.path(), &image, &name));
        let interrupted = || Diagnostic::error(codes::IMAGE_REGISTRY, "reading the image was interrupted");
        read.await.map_err(|_| interrupted())?
    }
}

impl Images for RegistryImages {
    fn release<'a>(&'a self, wanted: &'a ReleaseImage) -> BoxFuture<'a, Result<Release, Vec<Diagnostic>>> {
        Box::pin(self.read(wanted))
    }
}
