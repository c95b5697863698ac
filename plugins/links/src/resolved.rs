//! The resolved document of a group: a manifest with this group only, its jobs' properties bound, instances and links
//! added.

use crate::codes;
use crate::group::Group;
use crate::job::Job;
use crate::manifest::Manifest;
use crate::quarks::quarks;
use boson_contract::links::ResolvedGroup;
use boson_document::{MAX_DEPTH, Map, Report, Tree, ruby};
use boson_manifest::cloud::{self, CloudConfig};
use boson_manifest::dns::{self, Zone};
use boson_manifest::job::QUARKS;
use boson_manifest::names::Names;
use boson_manifest::redacted::plain;
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
        let waits = self.awaited_groups();
        for ((group, data), waits) in self.manifest.groups.iter().zip(data).zip(waits) {
            let mut document = self.document(group, data);
            if !waits.is_empty() {
                document.set(waiting::RESOLVED_KEY, waits);
            }
            if document.depth() > MAX_DEPTH {
                let name = plain(group.name());
                let message = format!("The resolved document of the instance group '{name}' is nested too deep");
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
    fn awaited_groups(&self) -> Vec<Vec<&str>> {
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
        let stemcells = group.entry.stemcell().and_then(|alias| self.stemcells.get(alias));
        let stemcells = stemcells.into_iter().flatten().map(|stemcell| (*stemcell).clone());
        let zone = self.zone.as_ref().map(|zone| zone.part_of(group.name()));
        let config = CloudConfig::of(self.manifest.tree).map(|config| config.part(group.entry.tree));
        let jobs = group.jobs.iter().zip(data).map(|(job, data)| self.job(job, data));
        let update = update(top("update"), group.entry.tree.get("update"));
        let entry = group.entry.tree.clone().with_some("update", update);
        let entry = entry.with("jobs", jobs.collect::<Vec<_>>());
        Tree::object()
            .with("name", self.deployment)
            .with("releases", self.releases(group))
            .with("stemcells", stemcells.collect::<Vec<_>>())
            .with_some("update", top("update").cloned())
            .with_some("tags", top("tags").cloned())
            .with_some(dns::RESOLVED_KEY, zone)
            .with_some(cloud::KEY, config)
            .with("instance_groups", vec![entry])
    }

    fn releases(&self, group: &Group<'a>) -> Vec<Tree> {
        let used: HashSet<&str> = group.jobs.iter().map(|job| job.release.as_str()).collect();
        let is_used = |release: &&Tree| {
            let name = ruby::member(release, "name");
            name.is_some_and(|name| used.contains(name.as_str()))
        };
        let listed = self.manifest.tree.items("releases").iter().filter(is_used);
        listed.cloned().map(without_credentials).collect()
    }

    fn job(&self, job: &Job<'a>, data: JobData) -> Tree {
        let listed = self.manifest.releases.get(&job.release);
        let version = listed.map_or("", |release| release.version.as_str());
        let release = Tree::object()
            .with("name", job.release.as_str())
            .with("version", version);
        let mut properties = data.properties;
        let quarks = quarks(job)
            .with("instances", data.instances)
            .with("consumes", data.consumes)
            .with("release", release)
            .with_some("hypothetical", data.hypothetical)
            .with_some("declared", properties.shift_remove(QUARKS[0]));
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
