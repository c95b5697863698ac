//! A job of an instance group or an addon, with its spec and the properties that it gets.

use crate::codes;
use boson_document::{Map, Place, Report, Tree};
use boson_manifest::job::{self, QUARKS};
use std::ops::Deref;
use std::rc::Rc;

/// A job of a group.
#[derive(Debug)]
pub struct Job<'a> {
    pub name: String,
    pub release: String,
    /// Where it is: in the group, or in an addon.
    pub place: Place,
    /// The manifest's properties.
    pub properties: Properties<'a>,
    /// Links that it consumes and the manifest configures.
    pub consumes: Option<&'a Map>,
    /// Links that it provides and the manifest configures.
    pub provides: Option<&'a Map>,
    /// `custom_provider_definitions`.
    pub custom: &'a [Tree],
    /// Number of its spec.
    pub spec: usize,
}

/// Properties of a job: its own, or those of addon, group and manifest where it has none.
#[derive(Clone, Debug)]
pub struct Properties<'a> {
    given: Given<'a>,
    /// Where they are.
    pub place: Place,
}

#[derive(Clone, Debug)]
enum Given<'a> {
    As(&'a Map),
    Merged(Rc<Map>),
}

// === impl Properties ===

impl<'a> Properties<'a> {
    /// As they are given.
    pub fn new(map: &'a Map, place: Place) -> Self {
        let given = Given::As(map);
        Self { given, place }
    }

    /// Merged from several places, of which this is one.
    pub fn merged(map: Map, place: Place) -> Self {
        let given = Given::Merged(Rc::new(map));
        Self { given, place }
    }
}

impl Deref for Properties<'_> {
    type Target = Map;

    fn deref(&self) -> &Map {
        match &self.given {
            Given::As(map) => map,
            Given::Merged(map) => map,
        }
    }
}

// === impl Job ===

impl<'a> Job<'a> {
    /// Reads the keys of a job whose release has this spec.
    pub fn read(entry: &job::Job<'a>, spec: usize, inherited: &Properties<'a>, report: &mut Report) -> Self {
        let (members, place) = (&entry.members, entry.place());
        Self {
            name: entry.name.clone(),
            release: entry.release.clone(),
            place: place.clone(),
            properties: entry
                .properties(report)
                .map_or_else(|| inherited.clone(), |map| Properties::new(map, place.at("properties"))),
            consumes: members.object("consumes", report),
            provides: members.object("provides", report),
            custom: members.list("custom_provider_definitions", report),
            spec,
        }
    }

    /// The member of the job's property `quarks` (older name `bosh_containerization`).
    pub fn quarks(&self, key: &str) -> Option<(&Tree, Place)> {
        QUARKS.iter().find_map(|name| {
            Some((
                self.properties.get(*name)?.get(key)?,
                self.properties.place.at(name).at(key),
            ))
        })
    }
}

/// Reports a job that is in no known release.
pub fn unknown_job(job: &job::Job<'_>, message: String, report: &mut Report) {
    let help = "check the job's name, and that the source of this release was given";
    report
        .error(codes::UNKNOWN_JOB, job.place().at("name"), message)
        .help(help);
}
