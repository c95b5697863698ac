//! The conversion of a deployment: the same as `host convert`, but with a Secret after each step, and stopping where the cluster has to do something
//! first.

use super::flow::Flow;
use super::held_back::HeldBack;
use super::manifest;
use super::steps::Work;
use super::stop::{Stop, Wrong};
use super::traced::traced;
use boson_api::OutdatedGroup;
use boson_api::deployment::ConversionMode;
use boson_document::Tree;
use boson_in_pod::Values;
use boson_pipeline::Diagnostic;
use serde_json::Value;
use std::collections::BTreeSet;

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
    /// Converts and applies the deployment.
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
