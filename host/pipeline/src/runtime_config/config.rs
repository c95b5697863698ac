//! One runtime config: its lists, checked as the director checks them.

use super::codes;
use super::vm_releases;
use boson_document::{Map, Place, Pointer, Report, Tree};
use boson_manifest::addons::{Addon, Level};
use boson_manifest::job::Job;
use boson_manifest::members::Members;
use boson_manifest::redacted::plain;

/// Keys that the director knows.
const KEYS: [&str; 4] = ["releases", "addons", "variables", "tags"];

/// A runtime config that was read. Entries with errors are left out.
pub struct Config<'a> {
    pub releases: Vec<Release<'a>>,
    pub addons: Vec<RuntimeAddon<'a>>,
    pub variables: &'a [Tree],
    pub tags: Option<&'a Map>,
}

pub struct Release<'a> {
    pub tree: &'a Tree,
    pub place: Place,
    pub name: String,
    pub version: String,
}

pub struct RuntimeAddon<'a> {
    pub addon: Addon<'a>,
    pub tree: &'a Tree,
    pub index: usize,
    pub jobs: Vec<Job<'a>>,
    /// Warnings about it. The links stage repeats those of an addon that it gets.
    pub warnings: Report,
}

// === impl Config ===

impl<'a> Config<'a> {
    /// Reads a runtime config; errors are added to the report. None: it is no map.
    pub fn read(tree: &'a Tree, report: &mut Report) -> Option<Self> {
        let members = Members::of(tree, Pointer::root(), codes::MEMBERS, report)?;
        for key in members.all().keys().filter(|key| !KEYS.contains(&key.as_str())) {
            let message = format!("The key '{}' of a runtime config has no effect", plain(key));
            report
                .warning(codes::RUNTIME_CONFIG_UNUSED_KEY, members.place.at(key), message)
                .help("take it out, or check its spelling");
        }
        let listed = members.list("releases", report).iter().enumerate();
        let place = members.place.at("releases");
        let releases = listed.filter_map(|(index, tree)| Release::read(tree, place.at(index), report));
        let releases: Vec<Release<'a>> = releases.collect();
        let listed = members.list("addons", report).iter().enumerate();
        let place = members.place.at("addons");
        let addons = listed.filter_map(|(index, tree)| {
            let addon = RuntimeAddon::read(tree, index, place.at(index), report)?;
            addon.check_releases(&releases, report);
            Some(addon)
        });
        Some(Self {
            addons: addons.collect(),
            releases,
            variables: members.list("variables", report),
            tags: members.object("tags", report),
        })
    }
}

// === impl Release ===

impl<'a> Release<'a> {
    fn read(tree: &'a Tree, place: Place, report: &mut Report) -> Option<Self> {
        let entry = Members::of(tree, place, codes::MEMBERS, report)?;
        let name = entry.required_string("name", report);
        let version = entry.required_string("version", report)?;
        let (name, place) = (name?, entry.place);
        if version == "latest" || version.ends_with(".latest") || version.ends_with("_latest") {
            let message = format!(
                "Runtime manifest contains the release '{}' with version as '{}'. Please specify the actual version string.",
                plain(&name),
                plain(&version)
            );
            report.error(codes::RUNTIME_CONFIG_RELEASE, place.at("version"), message);
        }
        Some(Self {
            tree,
            place,
            name,
            version,
        })
    }
}

// === impl RuntimeAddon ===

impl<'a> RuntimeAddon<'a> {
    fn read(tree: &'a Tree, index: usize, place: Place, report: &mut Report) -> Option<Self> {
        let mut found = Report::default();
        let read = Addon::read(tree, place, Level::Runtime, codes::ADDONS, &mut found);
        let jobs: Option<Vec<Job<'_>>> = read.as_ref().map(|addon| {
            addon.properties(&mut found);
            let jobs: Vec<(Place, &Tree)> = addon.jobs(&mut found).collect();
            let jobs = jobs.into_iter();
            jobs.filter_map(|(place, tree)| Job::read(tree, place, codes::MEMBERS, &mut found))
                .collect()
        });
        let (errors, others): (Vec<_>, Vec<_>) = found.into_diagnostics().into_iter().partition(|one| one.is_error());
        for one in errors {
            report.push(one);
        }
        let mut warnings = Report::default();
        for one in others {
            warnings.push(one);
        }
        Some(Self {
            addon: read?,
            tree,
            index,
            jobs: jobs?,
            warnings,
        })
    }

    /// The jobs that pods run.
    pub fn kept(&self) -> impl Iterator<Item = &Job<'a>> {
        self.jobs.iter().filter(|job| vm_releases::left_out(job).is_none())
    }

    fn check_releases(&self, releases: &[Release<'_>], report: &mut Report) {
        for job in &self.jobs {
            if releases.iter().any(|release| release.name == job.release) {
                continue;
            }
            let message = Level::Runtime.unlisted_release(&plain(&job.name), &plain(&job.release));
            report
                .error(codes::RUNTIME_CONFIG_RELEASE, job.place().at("release"), message)
                .suggest(&job.release, releases.iter().map(|release| release.name.as_str()));
        }
    }
}
