//! What controllers ask of rooms that they must not see: running rules, reading release images and web pages.

use crate::api::PluginUse;
use boson_pipeline::release::Release;
use boson_pipeline::{Diagnostic, Stages};
use futures::future::BoxFuture;
use std::sync::Arc;

/// Who runs the rules.
pub trait Rules: Send + Sync + 'static {
    /// The stages, as they are now.
    fn stages(&self) -> Arc<dyn Stages + Send + Sync>;
    /// What they are: for the status.
    fn uses(&self) -> Vec<PluginUse>;
}

/// Who reads release images.
pub trait Images: Send + Sync + 'static {
    /// The release in an image.
    ///
    /// # Errors
    /// All that is wrong with it. Codes begin with `image-` or `release-`.
    fn release<'a>(&'a self, wanted: &'a ReleaseImage) -> BoxFuture<'a, Result<Release, Vec<Diagnostic>>>;
}

/// Who reads documents from web servers.
pub trait Web: Send + Sync + 'static {
    /// The document at this address, as it is now.
    ///
    /// # Errors
    /// `deployment-url`: it may not be asked for; `deployment-url-unread`: it cannot be read now.
    fn document<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Vec<u8>, Diagnostic>>;
}

/// An image that holds a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseImage {
    /// Name of the release.
    pub release: String,
    /// Reference of the image.
    pub image: String,
    /// Contents of the pull Secrets at hand (`.dockerconfigjson`), the release's own first.
    pub pull: Vec<PullSecret>,
}

/// The content of a pull Secret. Its debug form does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct PullSecret(pub Vec<u8>);

impl std::fmt::Debug for PullSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PullSecret")
    }
}
