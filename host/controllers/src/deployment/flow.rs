//! One reconcile of one deployment: what all steps of its conversion share, and how they read and write its objects.

use super::manifest::Manifest;
use super::progress::Progress;
use super::secrets::Whose;
use super::stop::Stop;
use super::{Context, MANAGER};
use crate::conversion::ResolvedPlugins;
use crate::plugins::Copies;
use boson_api::BoshDeployment;
use boson_api::deployment::ConversionMode;
use boson_budget::Share;
use boson_cluster::client::{Created, Error};
use boson_cluster::objects;
use boson_cluster::objects::versioned::{Content, Next, Series};
use boson_document::{Tree, json};
use boson_manifest::labels;
use boson_manifest::names::{NameError, Names};
use boson_pipeline::Diagnostic;
use boson_pipeline::bundle::{MANAGED_BY, MANAGER as BOSON};
use boson_pipeline::release::Release;
use boson_pipeline::stage::Deployment;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// One reconcile of one deployment.
pub(super) struct Flow<'a> {
    pub context: &'a Context,
    pub object: &'a BoshDeployment,
    pub namespace: &'a str,
    pub deployment: Deployment,
    pub mode: ConversionMode,
    pub names: Names,
    pub owner: OwnerReference,
    /// The plugins that convert this deployment.
    pub plugins: ResolvedPlugins,
    /// Copies of plugins that its pods mount.
    pub copies: Copies,
    pub progress: &'a Progress,
    /// The releases, once a step in this process has read them.
    pub releases: OnceCell<ReadReleases>,
}

/// Releases that were read, and their share of the memory budget.
pub(super) struct ReadReleases {
    pub releases: Arc<Vec<Release>>,
    pub _share: Share,
}

// === impl Flow ===

impl Flow<'_> {
    pub(super) fn whose(&self) -> Whose<'_> {
        Whose {
            names: &self.names,
            namespace: self.namespace,
            owner: &self.owner,
        }
    }

    // --- Secrets ---

    /// The metadata of all existing versions. Not their data: they may be many, and large.
    pub(super) async fn existing(&self) -> Result<Vec<ObjectMeta>, Error> {
        let labels = format!(
            "{}={},{}={}",
            labels::DEPLOYMENT_NAME,
            self.names.deployment(),
            labels::SECRET_KIND,
            labels::secret_kind::VERSIONED
        );
        self.context
            .cluster
            .list_metadata::<Secret>(self.namespace, &labels)
            .await
    }

    /// The version with this content; creates it if needed, with these annotations.
    pub(super) async fn version(
        &self,
        series: &Series,
        existing: &[ObjectMeta],
        content: Content,
        annotations: BTreeMap<String, String>,
    ) -> Result<Secret, Stop> {
        let changed = || Stop::Waiting(format!("the new version of {}", series.name));
        let greatest = match series.greatest(existing) {
            None => None,
            // It was deleted meanwhile; its number must not be reused, so list again.
            Some(name) => Some(self.secret(name).await?.ok_or_else(changed)?),
        };
        let mut secret = match series.next(greatest.as_ref(), content) {
            Next::Keep(_, secret) => return Ok(*secret),
            Next::Make(_, secret) => secret,
        };
        secret.metadata.annotations.get_or_insert_default().extend(annotations);
        self.note_write();
        match self.context.cluster.create(MANAGER, &*secret).await? {
            Created::Made(made) => Ok(made),
            // Another process was faster, or an earlier try succeeded: read again.
            Created::Exists => {
                let name = secret.metadata.name.as_deref().unwrap_or_default();
                self.not_of_others(self.secret(name).await?.as_ref())?;
                Err(changed())
            }
        }
    }

    /// Applies a Secret of this deployment if the cluster has none or a different one.
    pub(super) async fn keep(&self, wanted: &Secret) -> Result<(), Stop> {
        let name = wanted.metadata.name.clone().unwrap_or_default();
        let live = self.secret(&name).await?;
        self.not_of_others(live.as_ref())?;
        let content = Content {
            data: wanted.data.clone().unwrap_or_default(),
            ..Content::default()
        };
        let has_annotations = |live: &Secret| {
            let mut annotations = wanted.metadata.annotations.iter().flatten();
            annotations
                .all(|(key, value)| live.metadata.annotations.as_ref().and_then(|all| all.get(key)) == Some(value))
        };
        let same = live.is_some_and(|live| {
            content.is_in(&live) && live.metadata.labels == wanted.metadata.labels && has_annotations(&live)
        });
        if !same {
            self.note_write();
            self.context.cluster.apply(MANAGER, wanted).await?;
        }
        Ok(())
    }

    // --- objects ---

    pub(super) fn own(&self, objects: Vec<Tree>, manifest: &Manifest) -> Result<Vec<Value>, Stop> {
        let owner = serde_json::to_value(&self.owner).unwrap_or_default();
        let one = |object: Tree| {
            let mut value: Value = serde_json::from_str(&json::to_text(&object)).map_err(|_| {
                manifest.one(Diagnostic::error(
                    "deployment-malformed-object",
                    "an object holds a number that JSON has not",
                ))
            })?;
            objects::own(&mut value, &self.names.deployment(), &owner);
            Ok(value)
        };
        objects.into_iter().map(one).collect()
    }

    pub(super) fn is_conversion_job(&self, object: &Value) -> bool {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        object["kind"] == "QuarksJob" && self.names.is_conversion(name)
    }

    pub(super) fn note_write(&self) {
        self.progress.writes();
    }

    pub(super) async fn write(&self, object: &Value) -> Result<(), Error> {
        self.note_write();
        self.context.cluster.apply_any(MANAGER, object).await.map(drop)
    }

    /// The objects of a kind that belong to this deployment: those that it owns, and claims.
    pub(super) async fn live(&self, resource: &kube::core::ApiResource) -> Result<Vec<Value>, Error> {
        let labels = format!(
            "{}={},{MANAGED_BY}={BOSON}",
            labels::DEPLOYMENT_NAME,
            self.names.deployment()
        );
        let mut found = self.context.cluster.list_any(resource, self.namespace, &labels).await?;
        found.retain(|object| objects::is_owned(object, &self.owner.uid) || object["kind"] == "PersistentVolumeClaim");
        Ok(found)
    }
}

pub(super) fn unnamed(error: &NameError) -> Diagnostic {
    Diagnostic::error("convert-no-name", error.to_string()).help("choose another name")
}
