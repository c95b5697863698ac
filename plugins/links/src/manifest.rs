//! The manifest as this stage needs it: releases, instance groups and their jobs.

use crate::codes;
use crate::diagnostic::Report;
use crate::properties::merged;
use crate::spec::{JobSpec, Spec};
use crate::value::{Members, hash, plain, text};
use boson_deployment::instances::Instance;
use boson_document::{Map, Pointer, Tree};
use std::collections::{HashMap, HashSet};
use std::ops::Deref;
use std::rc::Rc;

/// The specs at hand.
#[derive(Debug, Default)]
pub struct Specs<'a> {
    all: Vec<Spec<'a>>,
    by_name: HashMap<(&'a str, &'a str), usize>,
}

/// Releases whose jobs are DNS configuration, never containers.
const DNS_RELEASES: [&str; 2] = ["bosh-dns", "bosh-dns-aliases"];

/// The job property with what only Kubernetes knows; its older name.
pub const QUARKS: [&str; 2] = ["quarks", "bosh_containerization"];

/// The manifest.
#[derive(Debug)]
pub struct Manifest<'a> {
    /// All of it.
    pub tree: &'a Tree,
    /// By name.
    pub releases: HashMap<String, Release<'a>>,
    /// In order.
    pub groups: Vec<Group<'a>>,
}

/// A release that the manifest lists.
#[derive(Debug)]
pub struct Release<'a> {
    /// The entry.
    pub tree: &'a Tree,
    /// Its `version`.
    pub version: String,
}

/// An instance group.
#[derive(Debug)]
pub struct Group<'a> {
    /// The entry.
    pub tree: &'a Tree,
    /// Where it is.
    pub place: Pointer,
    /// Name.
    pub name: String,
    /// `service` where the manifest is silent.
    pub lifecycle: String,
    /// Names of the AZs.
    pub azs: Vec<String>,
    /// `instances`: replicas in each AZ.
    pub replicas: i64,
    /// All instances, once they are laid out.
    pub instances: Vec<Instance>,
    /// Jobs of the group, then of addons.
    pub jobs: Vec<Job<'a>>,
    /// Names of its `persistent_disks`.
    pub disks: Vec<String>,
}

/// A job of a group.
#[derive(Debug)]
pub struct Job<'a> {
    /// Name.
    pub name: String,
    /// Name of the release.
    pub release: String,
    /// Where it is: in the group, or in an addon.
    pub place: Pointer,
    /// What the manifest gives.
    pub properties: Properties<'a>,
    /// Links that it consumes, as far as the manifest says something about them.
    pub consumes: Option<&'a Map>,
    /// The same for links that it provides.
    pub provides: Option<&'a Map>,
    /// `custom_provider_definitions`.
    pub custom: &'a [Tree],
    /// Number of its spec.
    pub spec: usize,
}

/// Properties of a job: its own, or those of group and manifest where it has none.
#[derive(Clone, Debug)]
pub enum Properties<'a> {
    /// The job's.
    Own(&'a Map),
    /// The deprecated way.
    Inherited(Rc<Map>),
}

// === impl Specs ===

impl<'a> Specs<'a> {
    /// Reads all specs; what is wrong goes to the report.
    pub fn read(jobs: &'a [JobSpec], report: &mut Report) -> Self {
        let all = jobs.iter().map(|job| Spec::read(job, report)).collect();
        let by_name = jobs
            .iter()
            .enumerate()
            .map(|(index, job)| ((job.release.as_str(), job.job.as_str()), index))
            .collect();
        Self { all, by_name }
    }

    /// Number of the spec of a release's job.
    pub fn find(&self, release: &str, job: &str) -> Option<usize> {
        self.by_name.get(&(release, job)).copied()
    }

    /// The spec of a job.
    pub fn of(&self, job: &Job<'a>) -> &Spec<'a> {
        &self.all[job.spec]
    }
}

// === impl Properties ===

impl Deref for Properties<'_> {
    type Target = Map;

    fn deref(&self) -> &Map {
        match self {
            Self::Own(map) => map,
            Self::Inherited(map) => map,
        }
    }
}

// === impl Manifest ===

impl<'a> Manifest<'a> {
    /// Reads a manifest; what is wrong goes to the report.
    pub fn read(tree: &'a Tree, specs: &Specs<'a>, report: &mut Report) -> Self {
        let Some(members) = Members::of(tree, Pointer::root(), report) else {
            return Self {
                tree,
                releases: HashMap::new(),
                groups: Vec::new(),
            };
        };
        let releases = releases(&members, report);
        let global = members.object("properties", report);
        let mut reader = GroupReader {
            specs,
            releases: &releases,
            global,
            canonical: HashSet::new(),
            report,
        };
        let listed = members.list("instance_groups", reader.report).iter().enumerate();
        let groups = listed
            .filter_map(|(index, item)| reader.group(item, members.place.at("instance_groups").at(index)))
            .collect();
        Self { tree, releases, groups }
    }
}

fn releases<'a>(members: &Members<'a>, report: &mut Report) -> HashMap<String, Release<'a>> {
    if members.get("releases").is_none() {
        members.missing("releases", report);
    }
    let mut releases = HashMap::new();
    for (index, tree) in members.list("releases", report).iter().enumerate() {
        let Some(entry) = Members::of(tree, members.place.at("releases").at(index), report) else {
            continue;
        };
        let (name, version) = (
            entry.required_string("name", report),
            entry.required_string("version", report),
        );
        let Some(name) = name else { continue };
        let release = Release {
            tree,
            version: version.unwrap_or_default(),
        };
        if releases.insert(name.clone(), release).is_some() {
            report.error(
                codes::DUPLICATE_NAME,
                entry.place.at("name"),
                format!("Duplicate release name '{}'", plain(&name)),
            );
        }
    }
    releases
}

/// Is this a release of BOSH's own DNS? Tells that its job has no effect.
pub fn is_dns(job: &str, release: &str, place: &Pointer, report: &mut Report) -> bool {
    let found = DNS_RELEASES.contains(&release);
    if found {
        let message = format!(
            "Job '{}' of the release '{release}' has no effect: the cluster's DNS resolves names",
            plain(job)
        );
        report.warning(
            codes::DNS_JOB,
            place.clone(),
            message,
            "take the job out, or leave it for deployments with BOSH",
        );
    }
    found
}

struct GroupReader<'r, 'a> {
    specs: &'r Specs<'a>,
    releases: &'r HashMap<String, Release<'a>>,
    global: Option<&'a Map>,
    canonical: HashSet<String>,
    report: &'r mut Report,
}

// === impl GroupReader ===

impl<'a> GroupReader<'_, 'a> {
    fn group(&mut self, tree: &'a Tree, place: Pointer) -> Option<Group<'a>> {
        let members = Members::of(tree, place, self.report)?;
        let name = members.required_string("name", self.report)?;
        self.name(&name, &members);
        let lifecycle = members
            .string("lifecycle", self.report)
            .unwrap_or_else(|| "service".into());
        let jobs = self.jobs(&members, &name);
        let replicas = self.replicas(&members, &name);
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
            replicas,
            instances: Vec::new(),
            jobs,
            disks,
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

    fn replicas(&mut self, members: &Members<'a>, group: &str) -> i64 {
        let replicas = members.required_integer("instances", self.report).unwrap_or(0);
        if replicas < 0 {
            let message =
                format!("'instances' value ({replicas}) of the instance group '{group}' should be greater than -1");
            self.report
                .error(codes::WRONG_TYPE, members.place.at("instances"), message);
        }
        replicas.max(0)
    }

    fn azs(&mut self, members: &Members<'a>, group: &str) -> Vec<String> {
        let Some(value) = members.get("azs").filter(|value| !value.is_null()) else {
            return Vec::new();
        };
        let (mut azs, place) = (Vec::new(), members.place.at("azs"));
        let Some(items) = value.as_array() else {
            members.wrong("azs", value, "Array", self.report);
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
        let empty = Map::new();
        match (self.global, own) {
            (None, Some(own)) => Properties::Own(own),
            (Some(global), None) => Properties::Own(global),
            (global, own) => Properties::Inherited(Rc::new(merged(global.unwrap_or(&empty), own.unwrap_or(&empty)))),
        }
    }

    fn job(&mut self, tree: &'a Tree, place: Pointer, group: &str, inherited: &Properties<'a>) -> Option<Job<'a>> {
        let members = Members::of(tree, place, self.report)?;
        let (name, release) = (
            members.required_string("name", self.report),
            members.required_string("release", self.report),
        );
        let (name, release) = (name?, release?);
        if is_dns(&name, &release, &members.place, self.report) {
            return None;
        }
        if !self.releases.contains_key(&release) {
            let message = format!(
                "Job '{}' (instance group '{group}') references an unknown release '{}'",
                plain(&name),
                plain(&release)
            );
            let help = "add the release to the top-level list `releases`";
            self.report
                .error_with_help(codes::UNKNOWN_RELEASE, members.place.at("release"), message, help);
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

/// Tells that a job is in no release at hand.
pub fn unknown_job(at: Pointer, message: String, report: &mut Report) {
    let help = "check the job's name, and that the source of this release was given";
    report.error_with_help(codes::UNKNOWN_JOB, at, message, help);
}

/// Tells that a group has two jobs of one name.
pub fn collision(job: &Job<'_>, group: &str, report: &mut Report) {
    let message = format!(
        "Colocated job '{}' is already added to the instance group '{}'",
        plain(&job.name),
        plain(group)
    );
    report.error(codes::COLOCATED_JOB, job.place.clone(), message);
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

// === impl Job ===

impl<'a> Job<'a> {
    /// Reads what the manifest says of a job, but for name and release.
    pub fn read(members: &Members<'a>, spec: usize, inherited: &Properties<'a>, report: &mut Report) -> Self {
        Self {
            name: String::new(),
            release: String::new(),
            place: members.place.clone(),
            properties: members
                .object("properties", report)
                .map_or_else(|| inherited.clone(), Properties::Own),
            consumes: members.object("consumes", report),
            provides: members.object("provides", report),
            custom: members.list("custom_provider_definitions", report),
            spec,
        }
    }

    /// The member of the job's property `quarks` (older name `bosh_containerization`).
    pub fn quarks(&self, key: &str) -> Option<(&Tree, Pointer)> {
        QUARKS.iter().find_map(|name| {
            Some((
                self.properties.get(*name)?.get(key)?,
                self.place.at("properties").at(name).at(key),
            ))
        })
    }
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
        self.tree
            .get("persistent_disk")
            .filter(|size| size.as_i64().is_some())
            .cloned()
            .unwrap_or_else(|| Tree::from(0_i64))
    }
}

impl Release<'_> {
    /// The operating system that the release was compiled for.
    pub fn system(&self) -> Option<&str> {
        hash(self.tree.get("stemcell")?)?.get("os")?.as_str()
    }
}
