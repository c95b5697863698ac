//! An instance group of the manifest, with its jobs and their specs.

use crate::codes;
use crate::job::{Job, Properties, unknown_job};
use crate::properties::merged;
use boson_document::{Map, Place, Pointer, Report, Tree};
use boson_manifest::cloud::{CloudConfig, Disk};
use boson_manifest::group::InstanceGroup;
use boson_manifest::instances::Instance;
use boson_manifest::job;
use boson_manifest::names::canonical;
use boson_manifest::redacted::plain;
use boson_manifest::release::Release;
use boson_manifest::spec::Specs;
use std::collections::{HashMap, HashSet};

#[derive(Debug)]
pub struct Group<'a> {
    /// The entry of the manifest.
    pub entry: InstanceGroup<'a>,
    pub azs: Vec<String>,
    /// `instances`, as the manifest has it.
    pub stated: u32,
    /// All instances, once they are laid out.
    pub instances: Vec<Instance>,
    /// The first that it would have, if it has none: the conversion needs it to shape the pods.
    pub hypothetical: Option<Instance>,
    /// Jobs of the group, then of addons.
    pub jobs: Vec<Job<'a>>,
    /// The definition of its `persistent_disk_type` in the cloud config.
    pub disk_type: Option<Disk>,
}

// === impl Group ===

impl Group<'_> {
    pub fn name(&self) -> &str {
        &self.entry.name
    }

    /// `spec.persistent_disk` in MB.
    pub fn persistent_disk(&self) -> Tree {
        if let Some(disk) = &self.disk_type {
            return Tree::from(disk.size);
        }
        let given = self.entry.tree.get("persistent_disk");
        given
            .filter(|size| size.as_i64().is_some())
            .cloned()
            .unwrap_or_else(|| Tree::from(0_i64))
    }
}

/// Reads the groups of a manifest, one after the other.
pub struct GroupReader<'r, 'a> {
    pub specs: &'r Specs<'a>,
    /// The releases that the manifest lists.
    pub releases: &'r HashMap<String, Release<'a>>,
    /// The manifest's `properties`.
    pub global: Option<&'a Map>,
    pub cloud: Option<CloudConfig<'a>>,
    /// Canonical names of the groups read so far.
    pub canonical: HashSet<String>,
    pub report: &'r mut Report,
}

// === impl GroupReader ===

impl<'a> GroupReader<'_, 'a> {
    /// Reads a group.
    pub fn group(&mut self, tree: &'a Tree, place: Place) -> Option<Group<'a>> {
        let entry = InstanceGroup::read(tree, place, codes::GROUPS, self.report)?;
        self.name(&entry);
        let jobs = self.jobs(&entry);
        Some(Group {
            stated: entry.instances(self.report).unwrap_or_default(),
            azs: entry.azs(self.report),
            instances: Vec::new(),
            hypothetical: None,
            jobs,
            disk_type: self.cloud.and_then(|config| config.disk(tree)),
            entry,
        })
    }

    fn name(&mut self, group: &InstanceGroup<'a>) {
        let (name, at) = (canonical(&group.name), group.place.at("name"));
        for (edge, found) in [("start", name.starts_with('-')), ("end", name.ends_with('-'))] {
            if found {
                let message = format!("Invalid DNS canonical name '{name}', cannot {edge} with a hyphen");
                self.report.error(codes::NAME, &at, message);
            }
        }
        if !self.canonical.insert(name) {
            let name = plain(&group.name);
            let message = format!("Invalid instance group name '{name}', canonical name already taken");
            self.report.error(codes::DUPLICATE_NAME, at, message);
        }
    }

    fn jobs(&mut self, group: &InstanceGroup<'a>) -> Vec<Job<'a>> {
        let inherited = self.inherited(group);
        let (mut names, mut jobs) = (job::Names::default(), Vec::new());
        for (place, tree) in group.jobs(self.report) {
            let Some(job) = self.job(tree, place, &group.name, &inherited) else {
                continue;
            };
            names.add(&job.name, &group.name, &job.place, codes::COLOCATED_JOB, self.report);
            jobs.push(job);
        }
        jobs
    }

    fn inherited(&mut self, group: &InstanceGroup<'a>) -> Properties<'a> {
        let own = group.object("properties", self.report);
        let (empty, at) = (Map::new(), group.place.at("properties"));
        match (self.global, own) {
            (None, Some(own)) => Properties::new(own, at),
            (Some(global), None) => Properties::new(global, Pointer::root().at("properties").into()),
            (global, own) => Properties::merged(merged(global.unwrap_or(&empty), own.unwrap_or(&empty)), at),
        }
    }

    fn job(&mut self, tree: &'a Tree, place: Place, group: &str, inherited: &Properties<'a>) -> Option<Job<'a>> {
        let entry = job::Job::read(tree, place, codes::MEMBERS, self.report)?;
        if entry.is_built_in() {
            return None;
        }
        if !self.releases.contains_key(&entry.release) {
            self.unknown_release(&entry, group);
            return None;
        }
        let Some(spec) = self.specs.find(&entry.release, &entry.name) else {
            let message = format!(
                "Job '{}' not found in release '{}'",
                plain(&entry.name),
                plain(&entry.release)
            );
            unknown_job(&entry, message, self.report);
            return None;
        };
        Some(Job::read(&entry, spec, inherited, self.report))
    }

    fn unknown_release(&mut self, job: &job::Job<'a>, group: &str) {
        let message = format!(
            "Job '{}' (instance group '{group}') references an unknown release '{}'",
            plain(&job.name),
            plain(&job.release)
        );
        let help = "add the release to the top-level list `releases`";
        self.report
            .error(codes::UNKNOWN_RELEASE, job.place().at("release"), message)
            .help(help)
            .suggest(&job.release, self.releases.keys().map(String::as_str));
    }
}
