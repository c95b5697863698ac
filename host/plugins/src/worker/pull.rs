//! Pulls the components of plugins whose `plugin.yaml` names an image. A registry may be slow, so several pulls run
//! beside each other and beside the loading of other plugins: four at a time, one of a namespace.
//!
//! Pull Secrets are read from the namespace of the plugin only, and only if the image is not on the disk.

use super::load::Loader;
use super::queue::Queued;
use crate::codes;
use crate::document::PluginDocument;
use crate::error::LoadError;
use crate::gather::{self, Described};
use crate::host::ComponentImage;
use crate::image::ImageSource;
use crate::problem::PluginProblem;
use crate::registry::Key;
use boson_cluster::client::{Error, ErrorKind};
use boson_cluster::pull_secret::PullSecret;
use boson_oci::Digest;
use boson_pipeline::Diagnostic;
use k8s_openapi::api::core::v1::Secret;

pub(super) const MAX_CONCURRENT_PULLS: usize = 4;

pub(super) enum Pulled {
    /// The component is on the disk; its digest.
    Done(Digest),
    Outdated,
    Refused(PluginProblem),
}

// === impl Loader ===

impl Loader<'_> {
    /// Pulls the component of a plugin. `pinned`: its image must have a digest in `plugin.yaml`.
    pub(super) async fn pull(&self, Queued { key, plugin }: &Queued, pinned: bool) -> Result<Pulled, Error> {
        let Some(described) = gather::describe(self.cluster, key, plugin).await? else {
            return Ok(Pulled::Outdated);
        };
        let Ok(document) = described.document.clone() else {
            return Ok(Pulled::Outdated);
        };
        let Some(source) = &document.image else {
            return Ok(Pulled::Outdated);
        };
        match self.component(key, &described, &document, source, pinned).await {
            Ok(digest) => Ok(Pulled::Done(digest)),
            Err(LoadError::Outdated | LoadError::Evicted) => Ok(Pulled::Outdated),
            Err(LoadError::Api(error)) => Err(error),
            Err(LoadError::Refused(error)) => {
                let name = format!("plugin '{}' (ConfigMap '{key}')", document.name);
                Ok(Pulled::Refused(PluginProblem::of(&name, &[error], &described.sources)))
            }
        }
    }

    async fn component(
        &self,
        key: &Key,
        described: &Described,
        document: &PluginDocument,
        source: &ImageSource,
        pinned: bool,
    ) -> Result<Digest, LoadError> {
        let mut image = ComponentImage {
            namespace: key.namespace.clone(),
            image: source.reference.clone(),
            pull: Vec::new(),
        };
        if pinned && source.pinned(None).is_none() {
            return Err(not_pinned_error(source, "the operator requires a digest", None).into());
        }
        if let Some(pinned) = source.pinned(described.record()) {
            image.image = pinned;
            if let Some(digest) = self.components.present(&image).await? {
                return check_digest(document, digest);
            }
            image.pull = self.secrets(key, source).await?;
            return check_digest(document, self.components.pull(&image).await?);
        }
        image.pull = self.secrets(key, source).await?;
        let digest = self.components.pin(&image).await?;
        self.record(described, source, &digest).await
    }

    /// Records the digest of a tag. The event of this change starts the pull.
    async fn record(&self, described: &Described, source: &ImageSource, digest: &Digest) -> Result<Digest, LoadError> {
        match described.write_record(self.cluster, &source.with(digest)).await {
            // Another process of the operator may have been faster.
            Ok(()) => Err(LoadError::Outdated),
            Err(error) => match error.kind {
                ErrorKind::Conflict | ErrorKind::NotFound => Err(LoadError::Outdated),
                ErrorKind::Forbidden => {
                    let why = "the operator may not record the digest of its tag in this namespace";
                    Err(not_pinned_error(source, why, Some(digest)).into())
                }
                _ => Err(LoadError::Api(error)),
            },
        }
    }

    async fn secrets(&self, key: &Key, source: &ImageSource) -> Result<Vec<PullSecret>, LoadError> {
        let mut contents = Vec::new();
        for name in &source.secrets {
            let wrong = |what: &str, help: &str| {
                let message = format!("pull Secret '{name}' {what}");
                LoadError::Refused(Diagnostic::error(codes::PLUGIN_PULL_SECRET, message).help(help))
            };
            let secret: Option<Secret> = match self.cluster.get(&key.namespace, name).await {
                Ok(secret) => secret,
                Err(error) if error.kind == ErrorKind::Forbidden => {
                    let help = "in the operator's own namespace, name it 'boson-plugin-pull'";
                    return Err(wrong("cannot be read: the operator lacks the permission", help));
                }
                Err(error) => return Err(LoadError::Api(error)),
            };
            let help = "create it with `kubectl create secret docker-registry`";
            let secret =
                secret.ok_or_else(|| wrong(&format!("does not exist in namespace '{}'", key.namespace), help))?;
            let content = PullSecret::of(secret);
            contents.push(content.ok_or_else(|| wrong("is not of the type kubernetes.io/dockerconfigjson", help))?);
        }
        Ok(contents)
    }
}

/// The digest of a component, if it is the one that `plugin.yaml` names.
fn check_digest(document: &PluginDocument, digest: Digest) -> Result<Digest, LoadError> {
    match document.digest.as_ref().filter(|wanted| **wanted != digest) {
        None => Ok(digest),
        Some(wanted) => {
            let what = format!("the component in the image has the digest {digest}, but plugin.yaml contains {wanted}");
            let error = Diagnostic::error(codes::PLUGIN_IMAGE_DIGEST, what);
            let help = "correct `digest` or `image`; with an image that has a digest, `digest` is not necessary";
            Err(error.help(help).into())
        }
    }
}

/// `digest`: what the tag refers to now.
fn not_pinned_error(source: &ImageSource, why: &str, digest: Option<&Digest>) -> Diagnostic {
    let image = &source.reference;
    let error = Diagnostic::error(
        codes::PLUGIN_NOT_PINNED,
        format!("image '{image}' has no digest: {why}"),
    );
    error.help(match digest {
        Some(digest) => format!("write `image: {}` in plugin.yaml", source.with(digest)),
        None => {
            "write the digest that `host plugin push` prints behind the tag in plugin.yaml: TAG@sha256:DIGEST".into()
        }
    })
}
