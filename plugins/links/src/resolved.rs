//! The resolved document of a group: a manifest with this group only, its jobs' properties bound, instances and links added.

use crate::manifest::{Group, Job, Manifest, QUARKS};
use crate::value::hash;
use boson_document::{Map, Tree};
use std::collections::{HashMap, HashSet};

/// What a job gets beside what the manifest says of it.
#[derive(Debug, Default)]
pub struct JobData {
    /// Bound properties.
    pub properties: Map,
    /// `spec` of each instance.
    pub instances: Vec<Tree>,
    /// Consumed links by their names in the release.
    pub consumes: Map,
}

/// Makes the documents of all groups.
pub struct Documents<'m, 'a> {
    manifest: &'m Manifest<'a>,
    deployment: &'m str,
    stemcells: HashMap<&'a str, Vec<&'a Tree>>,
}

// === impl Documents ===

impl<'m, 'a> Documents<'m, 'a> {
    /// For a manifest.
    pub fn new(manifest: &'m Manifest<'a>, deployment: &'m str) -> Self {
        let mut stemcells: HashMap<&str, Vec<&Tree>> = HashMap::new();
        for stemcell in manifest.tree.items("stemcells") {
            stemcells
                .entry(stemcell.str("alias").unwrap_or_default())
                .or_default()
                .push(stemcell);
        }
        Self {
            manifest,
            deployment,
            stemcells,
        }
    }

    /// The document of a group; `data` has an entry for each of its jobs.
    pub fn document(&self, group: &Group<'a>, data: Vec<JobData>) -> Tree {
        let top = |key: &str| self.manifest.tree.get(key);
        let mut document = Tree::object()
            .with("name", self.deployment)
            .with("releases", self.releases(group));
        let stemcells = group
            .tree
            .str("stemcell")
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
        let jobs: Vec<Tree> = group
            .jobs
            .iter()
            .zip(data)
            .map(|(job, data)| self.job(job, data))
            .collect();
        let mut entry = group.tree.clone();
        if let Some(update) = update(top("update"), group.tree.get("update")) {
            entry.set("update", update);
        }
        // Inherited by the jobs already.
        if let Some(map) = entry.as_object_mut() {
            map.shift_remove("properties");
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
        let quarks = quarks(job)
            .with("instances", data.instances)
            .with("consumes", data.consumes)
            .with("release", release);
        let mut properties = data.properties;
        properties.insert(QUARKS[0].into(), quarks);
        Tree::object()
            .with("name", job.name.as_str())
            .with("release", job.release.as_str())
            .with("properties", properties)
    }
}

/// What the manifest has under `quarks`, over what it has under the older name.
fn quarks(job: &Job<'_>) -> Tree {
    let maps = QUARKS.iter().rev().filter_map(|name| hash(job.properties.get(*name)?));
    let members = maps.flatten().filter(|(key, _)| !COMPUTED.contains(&key.as_str()));
    members.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Members of `quarks` that this stage sets.
pub const COMPUTED: [&str; 3] = ["instances", "consumes", "release"];

/// The group's `update` over the manifest's, key by key.
fn update(top: Option<&Tree>, own: Option<&Tree>) -> Option<Tree> {
    match (top.and_then(hash), own) {
        (Some(top), None) => Some(Tree::Object(top.clone())),
        (Some(top), Some(Tree::Object(own))) => {
            let mut update = top.clone();
            update.extend(own.iter().map(|(key, value)| (key.clone(), value.clone())));
            Some(Tree::Object(update))
        }
        (_, own) => own.cloned(),
    }
}
