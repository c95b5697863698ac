//! The resolved document of a group: a manifest with this group only, its jobs' properties bound, instances and links
//! added.

use crate::codes;
use crate::group::Group;
use crate::job::Job;
use crate::manifest::Manifest;
use crate::quarks::quarks;
use crate::value::plain;
use boson_contract::links::ResolvedGroup;
use boson_document::{MAX_DEPTH, Map, Report, Tree};
use boson_manifest::cloud::{self, CloudConfig};
use boson_manifest::dns::{self, Zone};
use boson_manifest::job::QUARKS;
use boson_manifest::names::Names;
use boson_manifest::stemcell::Stemcell;
use boson_manifest::waiting;
use std::collections::{HashMap, HashSet};

/// Computed data of a job.
#[derive(Debug, Default)]
pub struct JobData {
    /// Bound properties.
    pub properties: Map,
    /// `spec` of each instance.
    pub instances: Vec<Tree>,
    /// `spec` of the instance that a group without any would have first.
    pub hypothetical: Option<Tree>,
    /// Consumed links by their names in the release.
    pub consumes: Map,
}

/// Makes the documents of all groups.
pub struct Documents<'m, 'a> {
    manifest: &'m Manifest<'a>,
    deployment: &'m str,
    /// The zone, if the manifest uses BOSH DNS.
    zone: Option<Zone>,
    names: &'m Names,
    stemcells: HashMap<&'a str, Vec<&'a Tree>>,
}

// === impl Documents ===

impl<'m, 'a> Documents<'m, 'a> {
    /// Creates the documents of a manifest.
    pub fn new(manifest: &'m Manifest<'a>, deployment: &'m str, names: &'m Names, zone: Option<Zone>) -> Self {
        let mut stemcells: HashMap<&str, Vec<&Tree>> = HashMap::new();
        for stemcell in Stemcell::all(manifest.tree) {
            let of_alias = stemcells.entry(stemcell.alias().unwrap_or_default());
            of_alias.or_default().push(stemcell.tree);
        }
        Self {
            manifest,
            deployment,
            zone,
            names,
            stemcells,
        }
    }

    /// The documents of all groups; one that is nested too deep is reported.
    pub fn all(&self, data: Vec<Vec<JobData>>, report: &mut Report) -> Vec<ResolvedGroup> {
        let mut made = Vec::new();
        let waits = self.waits();
        for ((group, data), waits) in self.manifest.groups.iter().zip(data).zip(waits) {
            let mut document = self.document(group, data);
            if !waits.is_empty() {
                document.set(waiting::RESOLVED_KEY, waits);
            }
            if document.depth() > MAX_DEPTH {
                let message = format!(
                    "The resolved document of the instance group '{}' is nested too deep",
                    plain(group.name())
                );
                report.error(codes::TOO_DEEP, &group.entry.place, message);
            }
            made.push(ResolvedGroup {
                name: group.name().into(),
                document,
            });
        }
        made
    }

    /// The groups that the pods of each group wait for.
    fn waits(&self) -> Vec<Vec<&str>> {
        let serial = |tree: &Tree| tree.get("update")?.get("serial")?.as_bool();
        let of_all = serial(self.manifest.tree);
        let ports = |job: &Job<'a>| !quarks(job).items("ports").is_empty();
        let members = self.manifest.groups.iter().map(|group| waiting::Member {
            name: group.name(),
            serial: serial(group.entry.tree).or(of_all),
            is_service: group.entry.is_service(),
            has_ports: group.jobs.iter().any(ports),
            settings: group.entry.settings(),
        });
        waiting::groups(&members.collect::<Vec<_>>(), self.names)
    }

    /// The document of a group; `data` has an entry for each of its jobs.
    fn document(&self, group: &Group<'a>, data: Vec<JobData>) -> Tree {
        let top = |key: &str| self.manifest.tree.get(key);
        let mut document = Tree::object()
            .with("name", self.deployment)
            .with("releases", self.releases(group));
        let stemcells = group
            .entry
            .stemcell()
            .and_then(|alias| self.stemcells.get(alias))
            .into_iter()
            .flatten();
        document.set(
            "stemcells",
            stemcells.map(|stemcell| (*stemcell).clone()).collect::<Vec<_>>(),
        );
        for key in ["update", "tags"] {
            if let Some(value) = top(key) {
                document.set(key, value.clone());
            }
        }
        if let Some(zone) = &self.zone {
            document.set(dns::RESOLVED_KEY, zone.part_of(group.name()));
        }
        if let Some(config) = CloudConfig::of(self.manifest.tree) {
            document.set(cloud::KEY, config.part(group.entry.tree));
        }
        let jobs: Vec<Tree> = group
            .jobs
            .iter()
            .zip(data)
            .map(|(job, data)| self.job(job, data))
            .collect();
        let mut entry = group.entry.tree.clone();
        if let Some(update) = update(top("update"), group.entry.tree.get("update")) {
            entry.set("update", update);
        }
        entry.set("jobs", jobs);
        document.with("instance_groups", vec![entry])
    }

    fn releases(&self, group: &Group<'a>) -> Vec<Tree> {
        let used: HashSet<&str> = group.jobs.iter().map(|job| job.release.as_str()).collect();
        let listed = self.manifest.tree.items("releases").iter();
        listed
            .filter(|release| {
                release
                    .get("name")
                    .and_then(crate::value::text)
                    .is_some_and(|name| used.contains(name.as_str()))
            })
            .cloned()
            .map(without_credentials)
            .collect()
    }

    fn job(&self, job: &Job<'a>, data: JobData) -> Tree {
        let version = self
            .manifest
            .releases
            .get(&job.release)
            .map(|release| release.version.as_str())
            .unwrap_or_default();
        let release = Tree::object()
            .with("name", job.release.as_str())
            .with("version", version);
        let mut properties = data.properties;
        let mut quarks = quarks(job)
            .with("instances", data.instances)
            .with("consumes", data.consumes)
            .with("release", release);
        if let Some(spec) = data.hypothetical {
            quarks.set("hypothetical", spec);
        }
        if let Some(declared) = properties.shift_remove(QUARKS[0]) {
            quarks.set("declared", declared);
        }
        properties.insert(QUARKS[0].into(), quarks);
        Tree::object()
            .with("name", job.name.as_str())
            .with("release", job.release.as_str())
            .with("properties", properties)
    }
}

/// Only the fact that a release has credentials: pods mount this document, and only the pull Secret may contain them.
fn without_credentials(mut release: Tree) -> Tree {
    if release.get("credentials").is_some_and(|given| !given.is_null()) {
        release.set("credentials", Tree::object());
    }
    release
}

/// The group's `update` over the manifest's, key by key.
fn update(top: Option<&Tree>, own: Option<&Tree>) -> Option<Tree> {
    match (top.and_then(Tree::as_map), own) {
        (Some(top), None) => Some(Tree::Object(top.clone())),
        (Some(top), Some(Tree::Object(own))) => {
            let mut update = top.clone();
            update.extend(own.iter().map(|(key, value)| (key.clone(), value.clone())));
            Some(Tree::Object(update))
        }
        (_, own) => own.cloned(),
    }
}
