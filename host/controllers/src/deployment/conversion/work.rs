//! What the steps of one conversion hand on.

use crate::deployment::act;
use crate::deployment::inputs;
use crate::deployment::jobs::{PodPlugins, Site};
use crate::deployment::manifest::{Manifest, unnamed};
use crate::deployment::plan::job_sources::JobSources;
use crate::deployment::plan::provenance;
use crate::deployment::plan::revisions::Revisions;
use crate::deployment::plan::stored::Stored;
use crate::deployment::reconcile::Reconcile;
use crate::deployment::stop::Stop;
use boson_cluster::objects::versioned::Series;
use boson_in_pod::{Held, Values};
use boson_manifest::names::NameError;
use boson_pipeline::convert::Group;
use boson_pipeline::stage::{JobFiles, ResolvedGroup};
use boson_pipeline::{Stage, plain};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::{BTreeMap, BTreeSet};

/// How many threads convert one deployment.
pub const CONVERSION_THREADS: usize = 2;

/// What all steps share.
pub struct Work {
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

// === impl RenderedGroup ===

impl RenderedGroup {
    /// As an input of the step that makes objects.
    pub fn ready(&self) -> Group<'_> {
        Group {
            resolved: &self.gathered.group,
            secret: self.gathered.secret.clone(),
            jobs: &self.jobs,
        }
    }
}

// === impl Work ===

impl Work {
    /// Before the first step that needs values.
    pub fn new(held: Vec<Held>, values: Values, existing: Vec<ObjectMeta>) -> Self {
        Self {
            held,
            values,
            existing,
            series: BTreeSet::new(),
            desired: String::new(),
            provenance: String::new(),
            external: None,
        }
    }

    /// Annotations of the documents of an instance group, or of the deployment itself.
    pub fn annotations(&self, manifest: &Manifest, group: Option<&str>) -> BTreeMap<String, String> {
        let mut annotations = plain::tags(&manifest.tree, group);
        annotations.insert(provenance::PROVENANCE.into(), self.provenance.clone());
        annotations
    }

    /// Marks a document as one of the present desired manifest, and its series as used by the deployment.
    pub async fn stamp(
        &mut self,
        run: &Reconcile<'_>,
        one: &Stored,
        annotations: &BTreeMap<String, String>,
    ) -> Result<(), Stop> {
        self.series.insert(one.series.clone());
        act::documents::stamp(run, one, annotations).await
    }

    /// What the pods of a step have in common.
    pub async fn site<'s>(
        &'s self,
        run: &'s Reconcile<'_>,
        stage: Stage,
        manifest: &'s Manifest,
    ) -> Result<Site<'s>, Stop> {
        Ok(Site {
            whose: run.whose(),
            deployment: &run.deployment,
            manifest: &manifest.name,
            values: &self.held,
            external: self.external.as_deref(),
            pull: inputs::pull_secrets(run, &manifest.tree).await?,
            plugins: PodPlugins::of(&run.copies.plugins, stage)?,
        })
    }
}

/// A series for each group.
pub fn series(
    groups: &[String],
    manifest: &Manifest,
    series: impl Fn(&str) -> Result<Series, NameError>,
) -> Result<Vec<Series>, Stop> {
    let one = |group: &String| series(group).map_err(|error| manifest.one(unnamed(&error)));
    groups.iter().map(one).collect()
}
