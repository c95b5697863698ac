//! A job of an instance group or an addon, as the manifest has it.

use crate::codes;
use crate::quarks::QUARKS;
use crate::value::plain;
use boson_document::{Map, Pointer, Report, Tree};
use boson_manifest::members::Members;
use std::ops::Deref;
use std::rc::Rc;

/// A job of a group.
#[derive(Debug)]
pub struct Job<'a> {
    /// Name.
    pub name: String,
    /// Name of the release.
    pub release: String,
    /// Where it is: in the group, or in an addon.
    pub place: Pointer,
    /// The manifest's properties.
    pub properties: Properties<'a>,
    /// Links that it consumes, as far as the manifest says something about them.
    pub consumes: Option<&'a Map>,
    /// Links that it provides, as far as the manifest says something about them.
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
    pub place: Pointer,
}

#[derive(Clone, Debug)]
enum Given<'a> {
    As(&'a Map),
    Merged(Rc<Map>),
}

// === impl Properties ===

impl<'a> Properties<'a> {
    /// As they are given.
    pub fn new(map: &'a Map, place: Pointer) -> Self {
        let given = Given::As(map);
        Self { given, place }
    }

    /// Merged from several places, of which this is one.
    pub fn merged(map: Map, place: Pointer) -> Self {
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
    /// Reads what the manifest says of a job, but for name and release.
    pub fn read(members: &Members<'a>, spec: usize, inherited: &Properties<'a>, report: &mut Report) -> Self {
        Self {
            name: String::new(),
            release: String::new(),
            place: members.place.clone(),
            properties: members.object("properties", report).map_or_else(
                || inherited.clone(),
                |map| Properties::new(map, members.place.at("properties")),
            ),
            consumes: members.object("consumes", report),
            provides: members.object("provides", report),
            custom: members.list("custom_provider_definitions", report),
            spec,
        }
    }

    /// Whether it has its own properties.
    pub fn owns_properties(&self) -> bool {
        self.properties.place == self.place.at("properties")
    }

    /// The member of the job's property `quarks` (older name `bosh_containerization`).
    pub fn quarks(&self, key: &str) -> Option<(&Tree, Pointer)> {
        QUARKS.iter().find_map(|name| {
            Some((
                self.properties.get(*name)?.get(key)?,
                self.properties.place.at(name).at(key),
            ))
        })
    }
}

/// Reports a job that is in no known release.
pub fn unknown_job(at: Pointer, message: String, report: &mut Report) {
    let help = "check the job's name, and that the source of this release was given";
    report.error(codes::UNKNOWN_JOB, at, message).help(help);
}

/// Reports two jobs of a group with the same name.
pub fn collision(job: &Job<'_>, group: &str, report: &mut Report) {
    let message = format!(
        "Colocated job '{}' is already added to the instance group '{}'",
        plain(&job.name),
        plain(group)
    );
    report.error(codes::COLOCATED_JOB, job.place.clone(), message);
}

/// BPM itself: in pods, the process wrapper takes its place, also for the command `bpm`.
pub fn is_bpm(job: &str, release: &str) -> bool {
    job == "bpm" && release == "bpm"
}
