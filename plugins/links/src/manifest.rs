//! The manifest as this stage needs it: releases and instance groups.

use crate::codes;
use crate::group::{Group, GroupReader};
use boson_document::{Pointer, Report, Tree};
use boson_manifest::cloud::CloudConfig;
use boson_manifest::members::Members;
use boson_manifest::release::Release;
use boson_manifest::spec::Specs;
use std::collections::{HashMap, HashSet};

#[derive(Debug)]
pub struct Manifest<'a> {
    /// All of it.
    pub tree: &'a Tree,
    pub releases: HashMap<String, Release<'a>>,
    /// In order.
    pub groups: Vec<Group<'a>>,
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
        let releases = Release::list(&members, codes::RELEASES, report).into_iter();
        let releases = releases.map(|release| (release.name.clone(), release)).collect();
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
