//! The three steps of a conversion that write Secrets. Each runs in this process or as a job in the cluster; either way the next step starts from
//! these Secrets.

use super::flow::{Flow, unnamed};
use super::groups::{self, Gathered};
use super::held_back::HeldBack;
use super::jobs::{self, PodPlugins, Site};
use super::manifest::{self, Manifest, SharedStages};
use super::provenance;
use super::secrets;
use super::stop::Stop;
use super::stored::Kept;
use boson_api::deployment::ConversionMode;
use boson_cluster::objects::versioned::Series;
use boson_document::{Tree, json};
use boson_in_pod::{Held, Values};
use boson_manifest::names::NameError;
use boson_pipeline::convert::bpm_document;
use boson_pipeline::convert::job_sources::{self, Room};
use boson_pipeline::convert::kept::{self, Texts};
use boson_pipeline::plain;
use boson_pipeline::stage::ResolvedGroup;
use boson_pipeline::{Diagnostic, Stage};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::{BTreeMap, BTreeSet};

/// What the steps of one conversion share.
pub(super) struct Work {
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
}

// === impl Work ===

impl Work {
    /// Annotations of the documents of an instance group.
    fn annotations(&self, manifest: &Manifest, group: &str) -> BTreeMap<String, String> {
        let mut annotations = plain::tags(&manifest.tree, Some(group));
        annotations.insert(provenance::PROVENANCE.into(), self.provenance.clone());
        annotations
    }
}

// === impl Flow ===

impl Flow<'_> {
    /// The manifest with the values of all variables.
    pub(super) async fn interpolate(
        &self,
        stages: &SharedStages,
        manifest: Manifest,
        work: &mut Work,
    ) -> Result<Manifest, Stop> {
        let series = [self.whose().desired()];
        let (mut manifest, kept) = match self.mode {
            ConversionMode::InProcess => {
                let manifest = manifest::desired(stages.clone(), manifest, work.values.clone()).await?;
                let texts = vec![kept::manifest(&manifest.tree)];
                let annotations = vec![plain::tags(&manifest.tree, None)];
                let kept = self.keep_all(&series, texts, annotations, &manifest, work).await?;
                (manifest, kept)
            }
            ConversionMode::Jobs => {
                let mut manifest = manifest;
                let text = kept::manifest(&manifest.tree)
                    .remove(kept::MANIFEST)
                    .unwrap_or_default();
                let inputs = boson_in_pod::digest(text.as_bytes(), &work.held);
                let with_ops = self.names.with_ops();
                let job = jobs::interpolation(
                    &self.site(Stage::Variables, &manifest, work).await?,
                    &with_ops,
                    &inputs,
                    &series[0],
                );
                let kept = self.by_job(&job, &series, &mut manifest).await?;
                (manifest, kept)
            }
        };
        for one in kept {
            work.desired = one.name();
            let bytes = one.bytes(kept::MANIFEST);
            work.provenance = provenance::digest(bytes);
            manifest.tree = kept::read(&manifest.name, bytes)
                .map_err(|error| manifest.one(error))?
                .tree;
            self.stamp(one, &plain::tags(&manifest.tree, None), work).await?;
        }
        Ok(manifest)
    }

    /// All instance groups with properties bound and links resolved.
    pub(super) async fn gather(
        &self,
        stages: &SharedStages,
        manifest: Manifest,
        work: &mut Work,
    ) -> Result<(Manifest, Vec<Gathered>), Stop> {
        let names = group_names(&manifest.tree);
        let series = self.series(&names, &manifest, |group| self.whose().resolved(group))?;
        let (manifest, kept) = match self.mode {
            ConversionMode::InProcess => {
                let releases = self.releases(&manifest).await?;
                let (manifest, resolved) =
                    groups::gather(stages.clone(), manifest, self.deployment.clone(), releases).await?;
                let texts = resolved.iter().map(kept::resolved).collect();
                let groups = resolved.iter().map(|group| group.name.as_str());
                let annotations = groups.map(|group| work.annotations(&manifest, group)).collect();
                let kept = self.keep_all(&series, texts, annotations, &manifest, work).await?;
                (manifest, kept)
            }
            ConversionMode::Jobs => {
                let mut manifest = manifest;
                let releases = self.images(&manifest)?;
                self.keep_pull_secrets(stages, &manifest).await?;
                let groups = of_job(&names, &series, None);
                let job = jobs::gathering(
                    &self.site(Stage::Links, &manifest, work).await?,
                    &work.desired,
                    &groups,
                    &releases,
                );
                let kept = self.by_job(&job, &series, &mut manifest).await?;
                (manifest, kept)
            }
        };
        let mut gathered = Vec::new();
        for (name, one) in names.iter().zip(kept) {
            let annotations = work.annotations(&manifest, name);
            let one = self.stamp(one, &annotations, work).await?;
            let secret = one.name();
            let document = kept::read(&secret, one.bytes(kept::RESOLVED)).map_err(|error| manifest.one(error))?;
            gathered.push(Gathered {
                group: ResolvedGroup {
                    name: name.clone(),
                    document: document.tree,
                },
                resolved: secret,
                jobs: Vec::new(),
                sources: None,
            });
        }
        Ok((manifest, gathered))
    }

    /// The rendered BPM configuration of every group. All other templates are rendered, too, to find errors early.
    pub(super) async fn render(
        &self,
        stages: &SharedStages,
        manifest: Manifest,
        gathered: Vec<Gathered>,
        work: &mut Work,
        held_back: &mut HeldBack,
    ) -> Result<(Manifest, Vec<Gathered>), Stop> {
        let names: Vec<String> = gathered.iter().map(|one| one.group.name.clone()).collect();
        let series = self.series(&names, &manifest, |group| self.whose().bpm(group))?;
        let (mut manifest, kept) = match self.mode {
            ConversionMode::InProcess => {
                let releases = self.releases(&manifest).await?;
                let resolved = gathered.iter().map(|one| one.group.clone()).collect();
                let (manifest, texts) = groups::render(stages.clone(), manifest, resolved, releases).await?;
                let kept = self
                    .keep_each(&names, &series, texts, &manifest, work, held_back)
                    .await?;
                (manifest, kept)
            }
            ConversionMode::Jobs => {
                let mut manifest = manifest;
                let releases = self.images(&manifest)?;
                let resolved: Vec<&str> = gathered.iter().map(|one| one.resolved.as_str()).collect();
                let groups = of_job(&names, &series, Some(&resolved));
                let site = self.site(Stage::Render, &manifest, work).await?;
                let job = jobs::rendering(&site, &groups, &releases);
                let left = self.by_job_each(&job, &series, &mut manifest).await?;
                let failed = names.iter().zip(&left.kept).filter(|(_, kept)| kept.is_none());
                if let Some(wrong) = left.wrong {
                    held_back.add(failed.map(|(name, _)| name.clone()), wrong);
                }
                (manifest, left.kept)
            }
        };
        // The versions that pods of a group use are retained while the group is held back.
        work.series.extend(series.iter().map(|series| series.name.clone()));
        let (mut rendered, mut room) = (Vec::new(), Room::default());
        for (mut to, one) in gathered.into_iter().zip(kept) {
            let Some(one) = one else { continue };
            let annotations = work.annotations(&manifest, &to.group.name);
            let one = self.stamp(one, &annotations, work).await?;
            let document = kept::read(&one.name(), one.bytes(kept::BPM)).map_err(|error| manifest.one(error))?;
            let (jobs, files) = bpm_document::read(&document).map_err(|error| manifest.one(error))?;
            to.jobs = jobs;
            to.sources = one
                .find(job_sources::KEY)
                .and_then(|stored| job_sources::pack(stored, &mut room));
            for file in files {
                manifest.sources.add_document(file, true);
            }
            rendered.push(to);
        }
        Ok((manifest, rendered))
    }

    /// Stores versions of the rendered groups and holds the others back. Fails if no group can be rendered.
    async fn keep_each(
        &self,
        names: &[String],
        series: &[Series],
        rendered: Vec<Result<Texts, Vec<Diagnostic>>>,
        manifest: &Manifest,
        work: &Work,
        held_back: &mut HeldBack,
    ) -> Result<Vec<Option<Kept>>, Stop> {
        if !rendered.is_empty() && rendered.iter().all(Result::is_err) {
            let errors = rendered.into_iter().filter_map(Result::err).flatten();
            return Err(manifest.fail(errors.collect()));
        }
        let (mut series_of_rendered, mut texts, mut is_rendered) = (Vec::new(), Vec::new(), Vec::new());
        let mut annotations = Vec::new();
        for ((name, series), rendered) in names.iter().zip(series).zip(rendered) {
            is_rendered.push(rendered.is_ok());
            match rendered {
                Ok(of_group) => {
                    series_of_rendered.push(series.clone());
                    texts.push(of_group);
                    annotations.push(work.annotations(manifest, name));
                }
                Err(errors) => held_back.add([name.clone()], manifest.wrong_with(errors)),
            }
        }
        let kept = self.keep_all(&series_of_rendered, texts, annotations, manifest, work);
        let mut kept = kept.await?.into_iter();
        let each = is_rendered
            .into_iter()
            .map(|rendered| rendered.then(|| kept.next()).flatten());
        Ok(each.collect())
    }

    /// Stores a new version of each series whose text has changed.
    async fn keep_all(
        &self,
        series: &[Series],
        texts: Vec<Texts>,
        annotations: Vec<BTreeMap<String, String>>,
        manifest: &Manifest,
        work: &Work,
    ) -> Result<Vec<Kept>, Stop> {
        // Texts that are too large are reported before anything is written.
        let (mut contents, mut errors) = (Vec::new(), Vec::new());
        for ((series, texts), annotations) in series.iter().zip(texts).zip(annotations) {
            match secrets::content(&series.name, texts) {
                Ok(content) => contents.push((series, content, annotations)),
                Err(error) => errors.push(error),
            }
        }
        if !errors.is_empty() {
            return Err(manifest.fail(errors));
        }
        let mut kept = Vec::new();
        for (series, content, annotations) in contents {
            let secret = self.version(series, &work.existing, content, annotations).await?;
            kept.push(Kept::new(series, secret));
        }
        Ok(kept)
    }

    /// Sets annotations of a document: its tags, and that it is made from the present desired manifest. Marks its series as used by the deployment.
    async fn stamp(&self, one: Kept, annotations: &BTreeMap<String, String>, work: &mut Work) -> Result<Kept, Stop> {
        work.series.insert(one.series.clone());
        if let Some(members) = provenance::stamp(&one.secret, annotations) {
            self.note_write();
            self.context.cluster.merge(super::MANAGER, &one.secret, members).await?;
        }
        Ok(one)
    }

    fn series(
        &self,
        groups: &[String],
        manifest: &Manifest,
        series: impl Fn(&str) -> Result<Series, NameError>,
    ) -> Result<Vec<Series>, Stop> {
        let one = |group: &String| series(group).map_err(|error| manifest.one(unnamed(&error)));
        groups.iter().map(one).collect()
    }

    /// `stage`: the stage that the pods run.
    async fn site<'s>(&'s self, stage: Stage, manifest: &'s Manifest, work: &'s Work) -> Result<Site<'s>, Stop> {
        Ok(Site {
            whose: self.whose(),
            deployment: &self.deployment,
            manifest: &manifest.name,
            values: &work.held,
            pull: self.pull_secret_names(&manifest.tree).await?,
            plugins: self.pod_plugins(stage),
        })
    }

    /// Volumes and arguments that give the pods of a conversion the plugins of this deployment that are not in their image.
    fn pod_plugins(&self, stage: Stage) -> PodPlugins {
        let value = |tree: Tree| serde_json::from_str(&json::to_text(&tree)).unwrap_or_default();
        let plugins = self.copies.plugins.iter().filter(|plugin| plugin.stage == stage);
        plugins.fold(PodPlugins::default(), |mut all, plugin| {
            all.arguments.extend(plugin.arguments());
            all.volumes.push(value(plugin.volume()));
            all.mounts.push(value(plugin.mount()));
            all
        })
    }
}

fn of_job<'g>(names: &'g [String], series: &'g [Series], resolved: Option<&[&'g str]>) -> Vec<jobs::Group<'g>> {
    let both = names.iter().zip(series).enumerate();
    both.map(|(nth, (name, series))| jobs::Group {
        name,
        series,
        resolved: resolved.and_then(|all| all.get(nth).copied()),
    })
    .collect()
}

/// Names of the instance groups, in manifest order.
fn group_names(manifest: &Tree) -> Vec<String> {
    let groups = manifest.items("instance_groups").iter();
    groups
        .filter_map(|group| group.str("name").map(str::to_string))
        .collect()
}
