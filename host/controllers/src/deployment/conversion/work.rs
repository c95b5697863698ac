//! What the steps of one conversion hand on.

use crate::deployment::act;
use crate::deployment::error::DeployError;
use crate::deployment::inputs;
use crate::deployment::jobs::{PodPlugins, Site};
use crate::deployment::manifest::{Manifest, name_error};
use crate::deployment::plan::documents::{Document, Stored, provenance};
use crate::deployment::plan::held_back::HeldBack;
use crate::deployment::plan::pods::job_sources::JobSources;
use crate::deployment::plan::pods::revisions::Revisions;
use crate::deployment::reconcile::Reconcile;
use boson_cluster::objects::versioned::Series;
use boson_document::Tree;
use boson_in_pod::{Held, Values};
use boson_manifest::names::NameError;
use boson_pipeline::convert::stored_documents;
use boson_pipeline::stage::{JobFiles, Reply, ResolvedGroup, SharedStages, Variable};
use boson_pipeline::{Stage, Stages, plain, yaml};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How many threads convert one deployment.
pub const CONVERSION_THREADS: usize = 2;

/// A conversion whose values exist: what its steps share.
pub struct Work {
    pub stages: SharedStages,
    /// The desired manifest, once [`super::interpolate()`] has made it.
    pub manifest: Manifest,
    /// The manifest with its placeholders, if plugins need it.
    pub without_values: Arc<Tree>,
    /// Variables that the manifest defines.
    pub variables: Vec<Variable>,
    /// Variables that the manifest no longer has.
    pub removed: Vec<String>,
    pub held: Vec<Held>,
    pub values: Values,
    /// All versions that existed at the beginning.
    pub existing: Vec<ObjectMeta>,
    /// Names of the series that the deployment has.
    pub series: BTreeSet<String>,
    /// Name of the Secret with the desired manifest.
    pub desired: String,
    /// Digest of the desired manifest.
    pub provenance: String,
    /// Name of the Secret with the links from outside of the deployment, for pods; none if there are no links.
    pub external: Option<String>,
    /// Groups that cannot be converted.
    pub held_back: HeldBack,
}

/// An instance group, resolved.
pub struct Gathered {
    pub group: ResolvedGroup,
    /// Name of the Secret with its resolved document.
    pub secret: String,
}

/// The instance groups that could be rendered.
#[derive(Default)]
pub struct Rendered {
    pub groups: Vec<RenderedGroup>,
    /// Those of their job sources that are stored and small enough for pods to mount them.
    pub sources: JobSources,
    /// The revisions of their instances, by the name of the group.
    pub revisions: Vec<(String, Revisions)>,
}

/// An instance group, resolved and rendered.
pub struct RenderedGroup {
    pub gathered: Gathered,
    pub jobs: Vec<JobFiles>,
}

// === impl Work ===

impl Work {
    /// Calls a step of the pipeline outside the threads of the runtime. Its warnings become those of the manifest.
    pub async fn call<T: Send + 'static>(
        &mut self,
        step: impl FnOnce(&dyn Stages, &Manifest) -> Reply<T> + Send + 'static,
    ) -> Result<T, DeployError> {
        let stages = self.stages.clone();
        let done = self
            .manifest
            .blocking(move |manifest| step(&*stages, manifest).map_err(|error| manifest.stage_error(error)));
        let (done, reported) = done.await??;
        self.manifest.warnings.extend(reported);
        Ok(done)
    }

    /// Annotations of the documents of an instance group, or of the deployment itself.
    pub fn annotations(&self, group: Option<&str>) -> BTreeMap<String, String> {
        let mut annotations = plain::tags(&self.manifest.tree, group);
        annotations.insert(provenance::PROVENANCE.into(), self.provenance.clone());
        annotations
    }

    /// Stores each document, as a new version if its text has changed.
    pub async fn store(&self, run: &Reconcile<'_>, documents: Vec<Document<'_>>) -> Result<Vec<Stored>, DeployError> {
        act::documents::store(run, documents, &self.manifest, &self.existing).await
    }

    /// Reads a document that was stored.
    pub fn read(&self, one: &Stored, key: &str) -> Result<yaml::Document, DeployError> {
        stored_documents::read(&one.name, one.bytes(key)).map_err(|error| self.manifest.error(error))
    }

    /// Marks a document as one of the present desired manifest, and its series as used by the deployment.
    pub async fn stamp(
        &mut self,
        run: &Reconcile<'_>,
        one: &Stored,
        annotations: &BTreeMap<String, String>,
    ) -> Result<(), DeployError> {
        self.series.insert(one.series.clone());
        act::documents::annotate(run, one, annotations).await
    }

    /// What the pods of a step have in common.
    pub async fn site<'s>(&'s self, run: &'s Reconcile<'_>, stage: Stage) -> Result<Site<'s>, DeployError> {
        Ok(Site {
            ownership: run.ownership(),
            deployment: &run.deployment,
            by_monit: run.by_monit,
            manifest: &self.manifest.name,
            values: &self.held,
            external: self.external.as_deref(),
            pull: inputs::pull_secrets(run, &self.manifest.tree).await?,
            plugins: PodPlugins::of(&run.copies.plugins, stage)?,
        })
    }
}

pub fn series(
    groups: &[String],
    manifest: &Manifest,
    series: impl Fn(&str) -> Result<Series, NameError>,
) -> Result<Vec<Series>, DeployError> {
    let one = |group: &String| series(group).map_err(|error| manifest.error(name_error(&error)));
    groups.iter().map(one).collect()
}
