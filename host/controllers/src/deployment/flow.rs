//! The conversion of a deployment: the same as `host convert`, but with a Secret after each step, and stopping where the cluster has to do something
//! first.

use super::held_back::HeldBack;
use super::manifest::{self, Manifest};
use super::progress::Progress;
use super::releases::Read;
use super::secrets::Whose;
use super::steps::Work;
use super::stop::{Stop, Wrong};
use super::traced::traced;
use super::{Context, MANAGER};
use crate::conversion::ResolvedPlugins;
use crate::plugins::Copies;
use boson_api::deployment::ConversionMode;
use boson_api::{BoshDeployment, OutdatedGroup};
use boson_cluster::client::{Created, Error};
use boson_cluster::objects;
use boson_cluster::objects::versioned::{Content, Next, Series};
use boson_document::{Tree, json};
use boson_in_pod::Values;
use boson_manifest::labels;
use boson_manifest::names::{NameError, Names};
use boson_pipeline::Diagnostic;
use boson_pipeline::bundle::{MANAGED_BY, MANAGER as BOSON};
use boson_pipeline::stage::Deployment;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
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
    pub releases: OnceCell<Read>,
}

/// A conversion that ended.
pub(super) struct Done {
    /// The desired objects of the deployment.
    pub objects: Vec<Value>,
    /// What is wrong with the instance groups that cannot be converted.
    pub held_back: Option<Wrong>,
    /// Groups whose pods keep an older operator image.
    pub outdated: Vec<OutdatedGroup>,
    /// Variables that the manifest no longer has; their values are retained.
    pub removed: Vec<String>,
    /// What has no effect, as `host convert` prints it.
    pub warnings: Vec<Diagnostic>,
}

// === impl Flow ===

impl Flow<'_> {
    pub(super) async fn run(&self) -> Result<Done, Stop> {
        let documents = self.read_documents().await?.whole()?;
        let stages = traced(self.plugins.stages.clone());
        let manifest = manifest::merge(stages.clone(), documents).await?;
        self.progress.counted(services(&manifest.tree));
        let mut held = self.given(stages.clone(), &manifest).await?;
        let given = Values::of(&held).map_err(|errors| manifest.fail(errors))?.given;
        let with_ops = self.whose().with_ops(&manifest.tree);
        self.keep(&with_ops.map_err(|error| manifest.one(error))?).await?;
        let (mut manifest, variables, removed) = self.generate(stages.clone(), manifest, &given).await?;
        held.extend(self.generated(&variables).await?);
        let values = Values::of(&held).map_err(|errors| manifest.fail(errors))?;
        manifest.secrets.add(values.secrets());
        let mut work = Work {
            held,
            values,
            existing: self.existing().await?,
            series: BTreeSet::new(),
            desired: String::new(),
            provenance: String::new(),
        };
        if self.mode == ConversionMode::Jobs {
            self.copy_plugins().await?;
        }
        let mut manifest = self.interpolate(&stages, manifest, &mut work).await?;
        manifest.secrets.except_names(&manifest.tree);
        self.progress.done(1);
        let (manifest, gathered) = self.gather(&stages, manifest, &mut work).await?;
        self.progress.done(2);
        let mut held_back = HeldBack::default();
        let (manifest, mut gathered) = self
            .render(&stages, manifest, gathered, &mut work, &mut held_back)
            .await?;
        self.progress.done(3);
        let sources = self.job_sources(&manifest, &mut gathered)?;
        let (manifest, made) = self
            .convert(stages, manifest, variables, gathered, &mut held_back)
            .await?;
        self.copy_plugins().await?;
        let applied = self.apply(made, &manifest, &work.desired, &held_back, &sources);
        let (objects, outdated) = applied.await?;
        // List again to include new versions; else the oldest would stay until the next change.
        let existing = match self.progress.has_written() {
            true => self.existing().await?,
            false => work.existing,
        };
        self.collect_garbage(&work.series, &existing, &objects).await?;
        let mut warnings = self.plugins.warnings.clone();
        warnings.extend(manifest.secrets.scrub(manifest.warnings, &manifest.sources));
        Ok(Done {
            objects,
            held_back: held_back.wrong(),
            outdated,
            removed,
            warnings,
        })
    }

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

/// How many instance groups of a manifest are services.
fn services(manifest: &Tree) -> i32 {
    let lifecycle = |group: &Tree| group.str("lifecycle").unwrap_or("service") == "service";
    let services = manifest
        .items("instance_groups")
        .iter()
        .filter(|group| lifecycle(group));
    i32::try_from(services.count()).unwrap_or(i32::MAX)
}

pub(super) fn unnamed(error: &NameError) -> Diagnostic {
    Diagnostic::error("convert-no-name", error.to_string()).help("choose another name")
}
