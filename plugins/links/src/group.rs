//! An instance group of the manifest.

use crate::codes;
use crate::job::{Job, Properties, collision, is_bpm, unknown_job};
use crate::manifest::Release;
use crate::properties::merged;
use crate::spec::Specs;
use crate::value::{plain, text};
use boson_document::{Map, Pointer, Report, Tree, closest, did_you_mean};
use boson_manifest::cloud::{CloudConfig, Disk};
use boson_manifest::dns::is_release;
use boson_manifest::instances::Instance;
use boson_manifest::members::Members;
use boson_manifest::types::Type;
use std::collections::{HashMap, HashSet};

/// An instance group.
#[derive(Debug)]
pub struct Group<'a> {
    /// The entry.
    pub tree: &'a Tree,
    /// Where it is.
    pub place: Pointer,
    /// Name.
    pub name: String,
    /// `service` by default.
    pub lifecycle: String,
    /// Names of the AZs.
    pub azs: Vec<String>,
    /// `instances`, as the manifest has it.
    pub stated: i64,
    /// All instances, once they are laid out.
    pub instances: Vec<Instance>,
    /// The first that it would have, if it has none: the conversion needs it to shape the pods.
    pub hypothetical: Option<Instance>,
    /// Jobs of the group, then of addons.
    pub jobs: Vec<Job<'a>>,
    /// Names of its `persistent_disks`.
    pub disks: Vec<String>,
    /// The definition of its `persistent_disk_type` in the cloud config.
    pub disk_type: Option<Disk>,
}

// === impl Group ===

impl Group<'_> {
    /// Names of its networks.
    pub fn networks(&self) -> Vec<String> {
        self.tree
            .items("networks")
            .iter()
            .filter_map(|network| network.str("name").map(String::from))
            .collect()
    }

    /// `spec.persistent_disk` in MB.
    pub fn persistent_disk(&self) -> Tree {
        if let Some(disk) = &self.disk_type {
            return Tree::from(disk.size);
        }
        self.tree
            .get("persistent_disk")
            .filter(|size| size.as_i64().is_some())
            .cloned()
            .unwrap_or_else(|| Tree::from(0_i64))
    }
}

/// Reads the groups of a manifest, one after the other.
pub struct GroupReader<'r, 'a> {
    /// The specs.
    pub specs: &'r Specs<'a>,
    /// The releases that the manifest lists.
    pub releases: &'r HashMap<String, Release<'a>>,
    /// The manifest's `properties`.
    pub global: Option<&'a Map>,
    /// The cloud config.
    pub cloud: Option<CloudConfig<'a>>,
    /// Canonical names of the groups read so far.
    pub canonical: HashSet<String>,
    /// Collects diagnostics.
    pub report: &'r mut Report,
}

// === impl GroupReader ===

impl<'a> GroupReader<'_, 'a> {
    /// Reads a group.
    pub fn group(&mut self, tree: &'a Tree, place: Pointer) -> Option<Group<'a>> {
        let members = Members::of(tree, place, codes::MEMBERS, self.report)?;
        let name = members.required_string("name", self.report)?;
        self.name(&name, &members);
        let lifecycle = members
            .string("lifecycle", self.report)
            .unwrap_or_else(|| "service".into());
        let jobs = self.jobs(&members, &name);
        let stated = self.stated(&members);
        let azs = self.azs(&members, &name);
        let disks = members
            .get("persistent_disks")
            .and_then(Tree::as_array)
            .into_iter()
            .flatten();
        let disks = disks.filter_map(|disk| disk.str("name").map(String::from)).collect();
        Some(Group {
            tree,
            place: members.place,
            name,
            lifecycle,
            azs,
            stated,
            instances: Vec::new(),
            hypothetical: None,
            jobs,
            disks,
            disk_type: self.cloud.and_then(|config| config.disk(tree)),
        })
    }

    fn name(&mut self, name: &str, members: &Members<'a>) {
        let canonical = canonical(name);
        let at = members.place.at("name");
        for (edge, found) in [("start", canonical.starts_with('-')), ("end", canonical.ends_with('-'))] {
            if found {
                let message = format!("Invalid DNS canonical name '{canonical}', cannot {edge} with a hyphen");
                self.report.error(codes::NAME, at.clone(), message);
            }
        }
        if !self.canonical.insert(canonical) {
            let message = format!(
                "Invalid instance group name '{}', canonical name already taken",
                plain(name)
            );
            self.report.error(codes::DUPLICATE_NAME, at, message);
        }
    }

    fn stated(&mut self, members: &Members<'a>) -> i64 {
        let stated = members.required_integer("instances", self.report).unwrap_or(0);
        if stated < 0 {
            let message = format!("'instances' value ({stated}) should be greater than 0");
            self.report
                .error(codes::WRONG_TYPE, members.place.at("instances"), message);
        }
        stated.max(0)
    }

    fn azs(&mut self, members: &Members<'a>, group: &str) -> Vec<String> {
        let Some(value) = members.get("azs") else {
            return Vec::new();
        };
        let (mut azs, place) = (Vec::new(), members.place.at("azs"));
        let Some(items) = value.as_array() else {
            members.wrong("azs", value, Type::Array, self.report);
            return azs;
        };
        if items.is_empty() {
            self.report.error(
                codes::ZONES,
                place,
                format!("Instance group '{group}' has empty availability zones"),
            );
            return azs;
        }
        let mut seen = HashSet::new();
        for (index, item) in items.iter().enumerate() {
            match item {
                Tree::String(az) if seen.insert(az) => azs.push(az.clone()),
                Tree::String(az) => {
                    let message = format!(
                        "Instance group '{group}' lists the availability zone '{}' twice",
                        plain(az)
                    );
                    self.report.error(codes::ZONES, place.at(index), message);
                }
                other => {
                    let shown = text(other).unwrap_or_else(|| "...".into());
                    let message =
                        format!("Instance group '{group}' has invalid availability zone '{shown}', string expected");
                    self.report.error(codes::ZONES, place.at(index), message);
                }
            }
        }
        azs
    }

    fn jobs(&mut self, members: &Members<'a>, group: &str) -> Vec<Job<'a>> {
        if members.get("jobs").is_none_or(Tree::is_null) {
            let message = format!("Instance group '{}' does not specify jobs key", plain(group));
            self.report.error(codes::MISSING_KEY, members.place.clone(), message);
            return Vec::new();
        }
        let inherited = self.inherited(members);
        let mut names = HashSet::new();
        let mut jobs = Vec::new();
        for (index, item) in members.list("jobs", self.report).iter().enumerate() {
            let Some(job) = self.job(item, members.place.at("jobs").at(index), group, &inherited) else {
                continue;
            };
            if !names.insert(job.name.clone()) {
                collision(&job, group, self.report);
            }
            jobs.push(job);
        }
        jobs
    }

    fn inherited(&mut self, members: &Members<'a>) -> Properties<'a> {
        let own = members.object("properties", self.report);
        let (empty, at) = (Map::new(), members.place.at("properties"));
        match (self.global, own) {
            (None, Some(own)) => Properties::new(own, at),
            (Some(global), None) => Properties::new(global, Pointer::root().at("properties")),
            (global, own) => Properties::merged(merged(global.unwrap_or(&empty), own.unwrap_or(&empty)), at),
        }
    }

    fn job(&mut self, tree: &'a Tree, place: Pointer, group: &str, inherited: &Properties<'a>) -> Option<Job<'a>> {
        let members = Members::of(tree, place, codes::MEMBERS, self.report)?;
        let (name, release) = (
            members.required_string("name", self.report),
            members.required_string("release", self.report),
        );
        let (name, release) = (name?, release?);
        // Its configuration becomes the deployment's DNS, which the bpm stage makes.
        if is_bpm(&name, &release) || is_release(&release) {
            return None;
        }
        if !self.releases.contains_key(&release) {
            let message = format!(
                "Job '{}' (instance group '{group}') references an unknown release '{}'",
                plain(&name),
                plain(&release)
            );
            let help = "add the release to the top-level list `releases`";
            let help = match closest(&release, self.releases.keys().map(String::as_str)) {
                Some(near) => did_you_mean(&plain(near), help),
                None => help.to_string(),
            };
            self.report
                .error(codes::UNKNOWN_RELEASE, members.place.at("release"), message)
                .help(help);
            return None;
        }
        let Some(spec) = self.specs.find(&release, &name) else {
            let message = format!("Job '{}' not found in release '{}'", plain(&name), plain(&release));
            unknown_job(members.place.at("name"), message, self.report);
            return None;
        };
        Some(Job {
            name,
            release,
            ..Job::read(&members, spec, inherited, self.report)
        })
    }
}

/// BOSH's canonical form of a name.
fn canonical(name: &str) -> String {
    let lower = name
        .chars()
        .map(|c| if c == '_' { '-' } else { c.to_ascii_lowercase() });
    lower
        .filter(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '-')
        .collect()
}
