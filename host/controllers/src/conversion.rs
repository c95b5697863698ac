//! What the controllers need from crates that they must not depend on: running plugins, reading release images and web
//! pages.

use boson_api::PluginUse;
use boson_document::Tree;
use boson_pipeline::release::Release;
use boson_pipeline::{Diagnostic, Stage, Stages};
use futures::future::BoxFuture;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Loads and runs plugins: the built-in ones, and those that are loaded at runtime.
pub trait PluginHost: Send + Sync + 'static {
    /// The built-in plugins, which are used by default.
    fn built_in(&self) -> Vec<PluginUse>;
    /// Loads a component: unpacks, checks and compiles it, and validates its settings by its schema. One at a time.
    /// Returns its description.
    ///
    /// # Errors
    /// Why it is refused. Codes begin with `plugin-`.
    fn load(&self, package: Package) -> BoxFuture<'_, Result<PluginUse, Vec<Diagnostic>>>;
    /// Unloads all components but these, by digest.
    fn keep(&self, digests: &BTreeSet<String>);
    /// The plugins for one conversion of this deployment, with the chosen ones in place of the built-in ones, around
    /// them, or after them. Their calls share the fuel of one conversion, and the memory and the places of the namespace.
    ///
    /// # Errors
    /// A component is not loaded, settings violate its schema, or a rule has too many wrappers.
    fn with(&self, chosen: &[Chosen], namespace: &str, deployment: &str) -> Result<ResolvedPlugins, Vec<Diagnostic>>;
}

/// A component as ConfigMaps hold it.
#[derive(Clone, Debug)]
pub struct Package {
    /// The namespace of its ConfigMaps: its machine code counts for that.
    pub namespace: Arc<str>,
    /// Its name in messages and in the status.
    pub name: String,
    /// The stage that it must be for.
    pub stage: Stage,
    /// Whether it must be a wrapper of that stage.
    pub wraps: bool,
    /// Its expected sha256: 64 hexadecimal digits.
    pub digest: String,
    /// Its parts, in order.
    pub parts: Vec<Vec<u8>>,
    /// Whether the parts are one zstd stream.
    pub compressed: bool,
    /// Settings for all its calls.
    pub settings: Settings,
}

/// Settings of a plugin.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The settings, an object.
    pub tree: Tree,
    /// Name of their document in messages.
    pub document: String,
}

/// A plugin that one deployment uses in place of the built-in one, around it, or after it.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// The stage.
    pub stage: Stage,
    /// Name of the plugin.
    pub name: String,
    /// sha256 of a loaded component; none: the built-in plugin, with these settings.
    pub digest: Option<String>,
    /// `resources`: its place among the others was set explicitly.
    pub is_ordered: bool,
    /// `checks`: its errors fail the conversion.
    pub is_enforced: bool,
    /// Settings for its calls.
    pub settings: Settings,
}

/// The plugins of one deployment.
#[derive(Clone)]
pub struct ResolvedPlugins {
    /// The stages to call.
    pub stages: Arc<dyn Stages + Send + Sync>,
    /// The plugins, for the status.
    pub uses: Vec<PluginUse>,
    /// Digest of all components with their settings: the same digest and the same inputs give the same output.
    pub digest: String,
    /// Settings that could not be checked.
    pub warnings: Vec<Diagnostic>,
}

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

/// The content of a pull Secret. Its debug form does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct PullSecret(pub Vec<u8>);

impl std::fmt::Debug for PullSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PullSecret")
    }
}
