//! What plugins need from crates that the operator's controllers must not depend on: running components, and pulling
//! them from registries.

use boson_api::PluginUse;
use boson_cluster::pull_secret::PullSecret;
use boson_document::Tree;
pub use boson_oci::Digest;
use boson_pipeline::shadow::Shadow;
use boson_pipeline::stage::{CheckPolicy, SharedStages};
use boson_pipeline::{Diagnostic, Installer, Stage};
use boson_signatures::{Attached, Signed};
use futures::future::BoxFuture;
use std::collections::HashSet;
use std::sync::Arc;

/// Loads and runs plugins: the built-in ones, and those that are loaded at runtime.
pub trait PluginHost: Send + Sync + 'static {
    /// The built-in plugins, which are used by default.
    fn built_in(&self) -> Vec<PluginUse>;
    /// Loads a component: unpacks, checks and compiles it, validates its settings by its schema, and runs its cases.
    /// One at a time.
    ///
    /// # Errors
    /// Why it is refused. Codes begin with `plugin-`.
    fn load(&self, package: Package) -> BoxFuture<'_, Result<LoadedPlugin, Vec<Diagnostic>>>;
    /// Unloads all components but these, by digest.
    fn keep(&self, digests: &HashSet<Digest>);
    /// The plugins for one conversion of this deployment, with the chosen ones in place of the built-in ones, around
    /// them, or after them. Their calls share the fuel of one conversion, and the memory and the places of the
    /// namespace.
    ///
    /// `shadows` run beside them: they have limits of their own, and all calls of one of them together the fuel of one
    /// call and a few seconds.
    ///
    /// # Errors
    /// A component is not loaded, settings violate its schema, or a rule has too many wrappers.
    fn with(
        &self,
        chosen: &[Chosen],
        shadows: &[Chosen],
        namespace: &str,
        deployment: &str,
    ) -> Result<ResolvedPlugins, Vec<Diagnostic>>;
}

#[derive(Clone)]
pub enum Content {
    /// As ConfigMaps hold it.
    Packed {
        /// Its parts, in order.
        parts: Vec<Vec<u8>>,
        /// Whether the parts are one zstd stream.
        compressed: bool,
    },
    /// As an image holds it.
    Whole(Vec<u8>),
}

#[derive(Clone)]
pub struct Package {
    /// The namespace of its ConfigMaps: its machine code counts for that.
    pub namespace: Arc<str>,
    /// Its name in messages and in the status.
    pub name: String,
    /// The stage that it must be for.
    pub stage: Stage,
    /// Whether it must be a wrapper of that stage.
    pub wraps: bool,
    /// Its expected digest; `None` if the digest of its image was checked instead.
    pub digest: Option<Digest>,
    pub content: Content,
    /// Its signatures and attestations, which are not verified yet.
    pub signed: Signed,
    /// Settings for all its calls.
    pub settings: Settings,
    /// The file with its cases, which it has to pass.
    pub cases: Option<Vec<u8>>,
    /// A version with another component or settings is in use, which stays if this one fails whatever it is called
    /// with.
    pub is_update: bool,
}

#[derive(Clone, Debug)]
pub struct LoadedPlugin {
    pub digest: Digest,
    /// What is to be reported where it is used.
    pub warnings: Vec<Diagnostic>,
}

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
    pub stage: Stage,
    pub name: String,
    /// Who installed it: permissions may depend on that.
    pub installer: Installer,
    /// Digest of a loaded component; none: the built-in plugin, with these settings.
    pub digest: Option<Digest>,
    /// `resources`: its place among the others was set explicitly.
    pub is_ordered: bool,
    /// Only of `checks`.
    pub policy: CheckPolicy,
    /// The instance groups that a wrapper is for; none: all.
    pub groups: Option<Vec<String>>,
    /// Settings for its calls.
    pub settings: Settings,
}

#[derive(Clone)]
pub struct ResolvedPlugins {
    pub stages: SharedStages,
    /// The plugins, for the status.
    pub uses: Vec<PluginUse>,
    /// The plugins that run beside them; `stages` calls them, too.
    pub shadows: Arc<[Shadow]>,
    /// Digest of all components with their settings: the same digest and the same inputs give the same output.
    pub digest: String,
    /// Settings that could not be checked.
    pub warnings: Vec<Diagnostic>,
}

/// Pulls components of plugins from registries.
pub trait Components: Send + Sync + 'static {
    /// The digest of the image that a tag refers to now.
    ///
    /// # Errors
    /// Codes `plugin-image-*`.
    fn pin<'a>(&'a self, image: &'a ComponentImage) -> BoxFuture<'a, Result<Digest, Diagnostic>>;
    /// Pulls the component of an image with a digest to the disk, in bounded time and size. Returns the component's
    /// digest.
    ///
    /// # Errors
    /// Codes `plugin-image-*`, or `image-cache` for the disk.
    fn pull<'a>(&'a self, image: &'a ComponentImage) -> BoxFuture<'a, Result<Digest, Diagnostic>>;
    /// The digest of the component of an image with a digest, if it is on the disk: this namespace has pulled it, and
    /// it was not evicted. No Secret is necessary.
    ///
    /// # Errors
    /// The registry is not allowed; the disk.
    fn present<'a>(&'a self, image: &'a ComponentImage) -> BoxFuture<'a, Result<Option<Digest>, Diagnostic>>;
    /// The component itself, as [`Self::present`], with the signatures and attestations of its image.
    ///
    /// # Errors
    /// As [`Self::present`].
    fn read<'a>(&'a self, image: &'a ComponentImage) -> BoxFuture<'a, Result<Option<StoredComponent>, Diagnostic>>;
}

/// A component that was pulled.
pub struct StoredComponent {
    pub bytes: Vec<u8>,
    /// Signatures and attestations of its image, which are not verified yet.
    pub attached: Attached,
}

/// An image with the component of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComponentImage {
    /// The namespace of the plugin. What one namespace has pulled is not available to others.
    pub namespace: String,
    pub image: String,
    /// Contents of its pull Secrets, all from its namespace.
    pub pull: Vec<PullSecret>,
}
