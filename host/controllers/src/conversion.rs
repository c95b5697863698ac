//! What controllers ask of rooms that they must not see: running rules, reading release images and web pages.

use crate::api::PluginUse;
use crate::api::deployment::StageName;
use boson_document::Tree;
use boson_pipeline::release::Release;
use boson_pipeline::{Diagnostic, Stage, Stages};
use futures::future::BoxFuture;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Who runs the rules: the installation's, and plugins that are loaded while it runs.
pub trait PluginHost: Send + Sync + 'static {
    /// The rules of the installation: what is used where nobody puts something in its place.
    fn built_in(&self) -> Vec<PluginUse>;
    /// Takes a component in: unpacked, checked, compiled apart, and its settings held against its schema. One at a time; what it says of itself.
    ///
    /// # Errors
    /// Why it is refused. Codes begin with `plugin-`.
    fn load(&self, package: Package) -> BoxFuture<'_, Result<PluginUse, Vec<Diagnostic>>>;
    /// Forgets all components that were loaded but these, by digest.
    fn keep(&self, digests: &BTreeSet<String>);
    /// The rules for one conversion in `namespace`, with these in their place, or after them. Their calls have fuel for one conversion together, and
    /// the memory and the places of the namespace.
    ///
    /// # Errors
    /// A component that was not loaded, or settings against its schema.
    fn with(&self, chosen: &[Chosen], namespace: &str) -> Result<ResolvedPlugins, Vec<Diagnostic>>;
}

/// A component as ConfigMaps hold it.
#[derive(Clone, Debug)]
pub struct Package {
    /// The namespace of its ConfigMaps: its machine code counts for that.
    pub namespace: Arc<str>,
    /// Name for messages, and as the status tells it.
    pub name: String,
    /// The stage that it is to be of.
    pub stage: Stage,
    /// sha256 that it is to have: 64 hexadecimal digits.
    pub digest: String,
    /// Its parts, in order.
    pub parts: Vec<Vec<u8>>,
    /// The parts are one zstd stream.
    pub compressed: bool,
    /// Settings for all its calls.
    pub settings: Settings,
}

/// Settings, and the document that messages about them name.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// An object.
    pub tree: Tree,
    /// Document.
    pub document: String,
}

/// A rule that one deployment uses beside or in place of the installation's.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// The stage.
    pub stage: Stage,
    /// Name of the plugin.
    pub name: String,
    /// sha256 of a component that was loaded; none: the installation's rule, with these settings.
    pub digest: Option<String>,
    /// For its calls.
    pub settings: Settings,
}

/// The rules for one deployment.
#[derive(Clone)]
pub struct ResolvedPlugins {
    /// To be called.
    pub stages: Arc<dyn Stages + Send + Sync>,
    /// What they are: for the status.
    pub uses: Vec<PluginUse>,
    /// Of all components with their settings: the same digest and the same inputs give the same output.
    pub digest: String,
    /// What of settings could not be checked.
    pub warnings: Vec<Diagnostic>,
}

impl From<StageName> for Stage {
    fn from(name: StageName) -> Self {
        match name {
            StageName::Ops => Self::Ops,
            StageName::Variables => Self::Variables,
            StageName::Links => Self::Links,
            StageName::Render => Self::Render,
            StageName::Bpm => Self::Bpm,
            StageName::Resources => Self::Resources,
        }
    }
}

impl From<Stage> for StageName {
    fn from(stage: Stage) -> Self {
        match stage {
            Stage::Ops => Self::Ops,
            Stage::Variables => Self::Variables,
            Stage::Links => Self::Links,
            Stage::Render => Self::Render,
            Stage::Bpm => Self::Bpm,
            Stage::Resources => Self::Resources,
        }
    }
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
    /// Whether its containers have to run as root: some job of it does not say that it needs none.
    pub as_root: bool,
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
