//! Loads a plugin: its component from ConfigMaps or from the disk, and then checked and compiled.

use super::queue::Queued;
use crate::approval;
use crate::document::PluginDocument;
use crate::error::LoadError;
use crate::gather::{self, Described, Gathered};
use crate::host::{ComponentImage, Components, Content, Package, PluginHost, Settings, StoredComponent};
use crate::marks::{DOCUMENT, IN_PODS};
use crate::pack;
use crate::problem::PluginProblem;
use crate::registry::{Good, Key, Packed};
use boson_cluster::client::{Cluster, Error};
use boson_oci::{parse_digest, short_digest};
use boson_pipeline::{Diagnostic, Stage};
use boson_signatures::Signed;
use std::sync::Arc;

#[derive(Clone, Copy)]
pub struct Loader<'a> {
    pub cluster: &'a Cluster,
    pub components: &'a Arc<dyn Components>,
    pub host: &'a Arc<dyn PluginHost>,
}

/// What became of a plugin.
pub(super) enum Outcome {
    Good(Box<Good>),
    Refused(PluginProblem),
    /// It was deleted, or has changed meanwhile.
    Outdated,
    /// Its component was evicted from the disk before it was loaded.
    Evicted,
}

// === impl Loader ===

impl Loader<'_> {
    /// Loads a plugin. `in_use`: its version in use.
    pub(super) async fn load(&self, queued: &Queued, in_use: Option<&PluginDocument>) -> Result<Outcome, Error> {
        let Queued { key, plugin } = queued;
        // Read again: queued ConfigMaps are not held in memory.
        let Some(described) = gather::describe(self.cluster, key, plugin).await? else {
            return Ok(Outcome::Outdated);
        };
        let Ok(document) = described.document.clone() else {
            return Ok(Outcome::Outdated);
        };
        let Some(version) = approval::version(&document, described.record()) else {
            return Ok(Outcome::Outdated);
        };
        let (name, sources) = (name_in_messages(key, &document), described.sources.clone());
        let refused = |errors: &[Diagnostic]| Ok(Outcome::Refused(PluginProblem::of(&name, errors, &sources)));
        let (package, packed) = match self.package(queued, &document, described, in_use).await {
            Ok(package) => package,
            Err(LoadError::Outdated) => return Ok(Outcome::Outdated),
            Err(LoadError::Evicted) => return Ok(Outcome::Evicted),
            Err(LoadError::Refused(error)) => return refused(&[error]),
            Err(LoadError::Api(error)) => return Err(error),
        };
        let loaded = match self.host.load(package).await {
            Ok(loaded) => loaded,
            Err(errors) => return refused(&below_settings(errors, key)),
        };
        // Pods run the plugins of these stages, too: keep the bytes for them.
        let packed = IN_PODS.contains(&document.stage).then(|| Arc::new(packed));
        Ok(Outcome::Good(Box::new(Good {
            document: PluginDocument {
                digest: Some(loaded.digest),
                ..document
            },
            version,
            packed,
            warnings: loaded.warnings,
            trial: Arc::default(),
        })))
    }

    /// What the host loads, and the component in the form of ConfigMaps.
    async fn package(
        &self,
        Queued { key, plugin }: &Queued,
        document: &PluginDocument,
        described: Described,
        in_use: Option<&PluginDocument>,
    ) -> Result<(Package, Packed), LoadError> {
        let (mut signed, cases) = (described.signed(), described.cases());
        let image = document.image.as_ref();
        let Gathered { content, packed } = match image.and_then(|source| source.pinned(described.record())) {
            Some(image) => self.gather_image(key, image, document.stage, &mut signed).await?,
            // Without an image: one that is not resolved has no version.
            None => gather::gather(self.cluster, key, plugin, described, document.parts).await?,
        };
        // Another selector changes no call. That all calls of a shadow plugin fail is for its report, and takes nothing
        // from a deployment.
        let is_other = |old: &PluginDocument| (&old.digest, &old.settings) != (&document.digest, &document.settings);
        let is_update = !document.is_shadow && in_use.is_some_and(is_other);
        let package = Package {
            namespace: key.namespace.as_str().into(),
            name: document.name.clone(),
            stage: document.stage,
            wraps: document.wraps,
            digest: document.digest.clone(),
            content,
            signed,
            settings: Settings {
                tree: document.settings.clone(),
                document: format!("configmap/{}/{DOCUMENT}", key.name),
            },
            cases,
            is_update,
        };
        Ok((package, packed))
    }

    /// The component of an image, from the disk. `signed`: gets what is attached to the image.
    async fn gather_image(
        &self,
        key: &Key,
        image: String,
        stage: Stage,
        signed: &mut Signed,
    ) -> Result<Gathered, LoadError> {
        let image = ComponentImage {
            namespace: key.namespace.clone(),
            image,
            pull: Vec::new(),
        };
        let stored = self.components.read(&image).await?;
        let StoredComponent { bytes, attached } = stored.ok_or(LoadError::Evicted)?;
        signed.image = image.image.split_once('@').and_then(|(_, digest)| parse_digest(digest));
        signed.attached = attached;
        let work = tokio::task::spawn_blocking(move || {
            let packed = if IN_PODS.contains(&stage) {
                pack::for_pods(&bytes)?
            } else {
                Packed::default()
            };
            let content = Content::Whole(bytes);
            Ok::<_, Diagnostic>(Gathered { content, packed })
        });
        // It is not finished only if the process ends.
        Ok(work.await.map_err(|_| LoadError::Evicted)??)
    }
}

/// The plugin with the beginning of its digest.
fn name_in_messages(key: &Key, document: &PluginDocument) -> String {
    let digest = document.digest.as_ref();
    let digest = digest.map(|digest| format!(", {}", short_digest(digest.as_ref())));
    format!(
        "plugin '{}'{} (ConfigMap '{key}')",
        document.name,
        digest.unwrap_or_default()
    )
}

/// Errors in settings with their places in `plugin.yaml`.
fn below_settings(mut errors: Vec<Diagnostic>, key: &Key) -> Vec<Diagnostic> {
    let document = format!("configmap/{}/{DOCUMENT}", key.name);
    let places = errors.iter_mut().map(|error| &mut error.place);
    let places = places.filter(|place| place.document.as_ref() == Some(&document));
    for pointer in places.filter_map(|place| place.pointer.as_mut()) {
        pointer.insert_str(0, "/settings");
    }
    errors
}
