//! One runtime config: its lists, checked as the director checks them.

use super::codes;
use super::vm_releases;
use boson_document::{Map, Place, Pointer, Report, Tree, ruby};
use boson_manifest::addons::{Addon, Level};
use boson_manifest::job::Job;
use boson_manifest::members::Members;
use boson_manifest::redacted::plain;
use boson_manifest::release::Release;

/// Keys that the director knows.
const CONFIG_KEYS: [&str; 4] = ["releases", "addons", "variables", "tags"];

/// A runtime config that was read. Entries with errors are left out.
pub struct Config<'a> {
    pub releases: Vec<Release<'a>>,
    pub addons: Vec<RuntimeAddon<'a>>,
    pub variables: &'a [Tree],
    pub tags: Option<&'a Map>,
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
        for key in members.all().keys().filter(|key| !CONFIG_KEYS.contains(&key.as_str())) {
            let message = format!("The key '{}' of a runtime config has no effect", plain(key));
            report
                .warning(codes::RUNTIME_CONFIG_UNUSED_KEY, members.place.at(key), message)
                .help("take it out, or check its spelling");
        }
        let releases = members.items("releases", report);
        let releases = releases.filter_map(|(place, tree)| release(tree, place, report));
        let releases: Vec<Release<'a>> = releases.collect();
        let addons = members.items("addons", report).enumerate();
        let addons = addons.filter_map(|(index, (place, tree))| {
            let addon = RuntimeAddon::read(tree, index, place, report)?;
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

/// Reads an entry of `releases`. None: it has errors.
fn release<'a>(tree: &'a Tree, place: Place, report: &mut Report) -> Option<Release<'a>> {
    let release = Release::read(tree, place, codes::MEMBERS, report)?;
    // A release without a valid version is read with an empty one. Here it is left out: the error is reported.
    let version = ruby::member(tree, "version")?;
    if version == "latest" || version.ends_with(".latest") || version.ends_with("_latest") {
        let message = format!(
            "Runtime manifest contains the release '{}' with version as '{}'. Please specify the actual version string.",
            plain(&release.name),
            plain(&version)
        );
        report.error(codes::RUNTIME_CONFIG_RELEASE, release.place.at("version"), message);
    }
    Some(release)
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
        let mut warnings = Report::default();
        for one in found.into_diagnostics() {
            let list = if one.is_error() { &mut *report } else { &mut warnings };
            list.push(one);
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
