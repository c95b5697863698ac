//! What the controllers need from crates that they must not depend on: reading release images and web pages.

use boson_cluster::pull_secret::PullSecret;
use boson_pipeline::Diagnostic;
use boson_pipeline::release::Release;
use futures::future::BoxFuture;

/// Reads release images.
pub trait Images: Send + Sync + 'static {
    /// The release in an image.
    ///
    /// # Errors
    /// Everything that is wrong with it. Codes begin with `image-` or `release-`.
    fn release<'a>(&'a self, wanted: &'a ReleaseImage) -> BoxFuture<'a, Result<Release, Vec<Diagnostic>>>;
}

/// Reads documents from web servers.
pub trait Web: Send + Sync + 'static {
    /// The present document at this address.
    ///
    /// # Errors
    /// `deployment-url`: the address is not allowed; `deployment-url-unread`: it cannot be read now.
    fn document<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Vec<u8>, Diagnostic>>;
}

/// An image that holds a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseImage {
    /// Name of the release.
    pub release: String,
    /// Reference of the image.
    pub image: String,
    /// Whether its containers have to run as root, because any of its jobs may need that.
    pub as_root: bool,
    /// Contents of the available pull Secrets (`.dockerconfigjson`), that of the release first.
    pub pull: Vec<PullSecret>,
}
