//! Loads a plugin: its component from ConfigMaps or from the disk, and then checked and compiled.

use super::approval;
use super::document::PluginDocument;
use super::gather::{self, Gathered};
use super::marks::{DIGEST_DIGITS, DOCUMENT, IN_PODS};
use super::pack;
use super::problem::PluginProblem;
use super::queue::Queued;
use super::registry::{Good, Key, Packed};
use crate::host::{ComponentImage, Components, Content, Package, PluginHost, Settings, StoredComponent};
use boson_api::ApprovedVersion;
use boson_cluster::client::{Cluster, Error};
use boson_pipeline::{Diagnostic, Stage};
use boson_signatures::Signed;
use std::sync::Arc;

/// What loads.
#[derive(Clone, Copy)]
pub struct Loader<'a> {
    pub cluster: &'a Cluster,
    pub components: &'a Arc<dyn Components>,
    pub host: &'a Arc<dyn PluginHost>,
}

/// What became of a plugin.
pub(super) enum Outcome {
    /// It can be used.
    Good(Box<Good>),
    /// It is refused.
    Refused(PluginProblem),
    /// It was deleted, or has changed meanwhile.
    Outdated,
    /// Its component was evicted from the disk before it was loaded.
    Evicted,
}

/// A version to be loaded.
struct Update {
    version: ApprovedVersion,
    /// Another component is in use, or other settings. Not of a shadow plugin: that all its calls fail is for its
    /// report, and takes nothing from a deployment.
    is_update: bool,
}

// === impl Loader ===

impl Loader<'_> {
    /// Loads a plugin. `in_use`: its version in use.
    pub(super) async fn load(
        &self,
        Queued { key, plugin }: &Queued,
        in_use: Option<&PluginDocument>,
    ) -> Result<Outcome, Error> {
        // Read again: queued ConfigMaps are not held in memory.
        let Some(described) = gather::describe(self.cluster, key, plugin).await? else {
            return Ok(Outcome::Outdated);
        };
        let (Ok(document), Some(stage)) = (described.document.clone(), described.stage) else {
            return Ok(Outcome::Outdated);
        };
        let Some(version) = approval::version(&document, described.record()) else {
            return Ok(Outcome::Outdated);
        };
        let sources = described.sources.clone();
        let digest = document
            .digest
            .as_deref()
            .and_then(|digest| digest.get(..DIGEST_DIGITS));
        let digest = digest.map(|digest| format!(", sha256:{digest}")).unwrap_or_default();
        let name = format!("plugin '{}'{digest} (ConfigMap '{key}')", document.name);
        let gathered = match &document.image {
            None => {
                let gathered = gather::gather(self.cluster, key, plugin, described, document.parts).await?;
                gathered.map(Some).map_err(|error| vec![error])
            }
            Some(source) => match source.pinned(described.record()) {
                Some(image) => {
                    let gathered = self.of_image(key, image, stage, described.signed()).await;
                    gathered.map(|gathered| {
                        gathered.map(|gathered| Gathered {
                            cases: described.cases(),
                            ..gathered
                        })
                    })
                }
                None => return Ok(Outcome::Outdated),
            },
        };
        let loaded = match gathered {
            Ok(Some(gathered)) => {
                // Another selector changes no call.
                let is_other =
                    |old: &PluginDocument| (&old.digest, &old.settings) != (&document.digest, &document.settings);
                let is_update = !document.is_shadow && in_use.is_some_and(is_other);
                let update = Update { version, is_update };
                self.loaded(key, document, update, gathered).await
            }
            Ok(None) => return Ok(Outcome::Evicted),
            Err(errors) => Err(errors),
        };
        Ok(match loaded {
            Ok(good) => Outcome::Good(Box::new(good)),
            Err(errors) => Outcome::Refused(PluginProblem::of(&name, &errors, &sources)),
        })
    }

    /// The component of an image, from the disk; none if it was evicted.
    async fn of_image(
        &self,
        key: &Key,
        image: String,
        stage: Stage,
        signed: Signed,
    ) -> Result<Option<Gathered>, Vec<Diagnostic>> {
        let image = ComponentImage {
            namespace: key.namespace.clone(),
            image,
            pull: Vec::new(),
        };
        let found = self.components.read(&image).await.map_err(|error| vec![error])?;
        let Some(StoredComponent { bytes, attached }) = found else {
            return Ok(None);
        };
        let signed = Signed {
            image: image.image.split_once('@').map(|(_, digest)| digest.to_string()),
            attached,
            ..signed
        };
        let work = tokio::task::spawn_blocking(move || {
            let packed = if IN_PODS.contains(&stage) {
                pack::for_pods(&bytes).map_err(|error| vec![error])?
            } else {
                Packed::default()
            };
            let content = Content::Whole(bytes);
            Ok(Some(Gathered {
                content,
                signed,
                packed,
                cases: None,
            }))
        });
        // None as well if the process ends.
        work.await.unwrap_or(Ok(None))
    }

    /// The loaded plugin, or why it is refused.
    async fn loaded(
        &self,
        key: &Key,
        mut document: PluginDocument,
        Update { version, is_update }: Update,
        Gathered {
            content,
            signed,
            packed,
            cases,
        }: Gathered,
    ) -> Result<Good, Vec<Diagnostic>> {
        let stage = document.stage;
        let package = Package {
            namespace: key.namespace.as_str().into(),
            name: document.name.clone(),
            stage,
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
        let loaded = self
            .host
            .load(package)
            .await
            .map_err(|errors| below_settings(errors, key))?;
        document.digest = Some(loaded.digest);
        Ok(Good {
            document,
            version,
            warnings: loaded.warnings,
            trial: Arc::default(),
            // Pods run the plugins of these stages, too: keep the bytes for them.
            packed: IN_PODS.contains(&stage).then(|| Arc::new(packed)),
        })
    }
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
