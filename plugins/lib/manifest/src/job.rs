//! Jobs of instance groups and addons.

use crate::dns;
use crate::members::{Codes, Members};
use crate::redacted::plain;
use boson_document::{Code, Map, Place, Report, Tree};
use std::collections::HashSet;

/// The job property with settings for Kubernetes; its older name.
pub const QUARKS: [&str; 2] = ["quarks", "bosh_containerization"];

/// A job of an instance group or an addon.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    pub name: String,
    pub release: String,
    /// Its other keys.
    pub members: Members<'a>,
}

// === impl Job ===

impl<'a> Job<'a> {
    /// Reads a job. Its other keys are checked when they are asked for.
    pub fn read(tree: &'a Tree, place: impl Into<Place>, codes: &'static Codes, report: &mut Report) -> Option<Self> {
        let members = Members::of(tree, place, codes, report)?;
        let name = members.required_string("name", report);
        let release = members.required_string("release", report);
        Some(Self {
            name: name?,
            release: release?,
            members,
        })
    }

    pub fn place(&self) -> &Place {
        &self.members.place
    }

    /// Its properties, each under its first name.
    pub fn properties(&self, report: &mut Report) -> Option<&'a Map> {
        self.members.object("properties", report)
    }

    /// Whether its pods need nothing of its release: container-run takes the place of BPM, also for the command `bpm`,
    /// and the servers of the deployment that of BOSH DNS.
    pub fn is_built_in(&self) -> bool {
        is_built_in(&self.release, &self.name)
    }
}

pub fn is_built_in(release: &str, name: &str) -> bool {
    (name == "bpm" && release == "bpm") || dns::is_release(release)
}

/// The property `quarks` of a job, by each name under which it is given.
pub fn quarks(properties: &Map) -> impl Iterator<Item = (&'static str, &Tree)> {
    QUARKS
        .into_iter()
        .filter_map(|name| Some((name, properties.get(name)?)))
}

/// The names of the jobs of an instance group.
#[derive(Clone, Debug, Default)]
pub struct Names(HashSet<String>);

// === impl Names ===

impl FromIterator<String> for Names {
    fn from_iter<I: IntoIterator<Item = String>>(names: I) -> Self {
        Self(names.into_iter().collect())
    }
}

impl Names {
    /// Adds a job. Whether its name is new; if not, that is reported.
    pub fn add(&mut self, name: &str, group: &str, place: &Place, code: &'static Code, report: &mut Report) -> bool {
        let is_new = self.0.insert(name.to_string());
        if !is_new {
            let (name, group) = (plain(name), plain(group));
            let message = format!("Colocated job '{name}' is already added to the instance group '{group}'");
            report.error(code, place, message);
        }
        is_new
    }
}
