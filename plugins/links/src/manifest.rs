//! The manifest as this stage needs it: releases and instance groups.

use crate::codes;
use crate::group::{Group, GroupReader};
use crate::spec::Specs;
use crate::value::{hash, plain};
use boson_document::{Pointer, Report, Tree};
use boson_manifest::cloud::CloudConfig;
use boson_manifest::members::Members;
use std::collections::{HashMap, HashSet};

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

// === impl Manifest ===

impl<'a> Manifest<'a> {
    /// Reads a manifest; errors are added to the report.
    pub fn read(tree: &'a Tree, specs: &Specs<'a>, report: &mut Report) -> Self {
        let Some(members) = Members::of(tree, Pointer::root(), codes::MEMBERS, report) else {
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
            cloud: CloudConfig::of(tree),
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
        let Some(entry) = Members::of(tree, members.place.at("releases").at(index), codes::MEMBERS, report) else {
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

// === impl Release ===

impl Release<'_> {
    /// The operating system that the release was compiled for.
    pub fn system(&self) -> Option<&str> {
        hash(self.tree.get("stemcell")?)?.get("os")?.as_str()
    }
}
