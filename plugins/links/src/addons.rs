//! Addons of the manifest and of runtime configs: their jobs join the groups that they apply to.

use crate::codes;
use crate::group::Group;
use crate::job::{Job, Properties, unknown_job};
use crate::manifest::Manifest;
use boson_document::{Map, Place, Pointer, Report, Tree};
use boson_manifest::addons::{Addon, Candidate, Level};
use boson_manifest::job;
use boson_manifest::members::Members;
use boson_manifest::redacted::plain;
use boson_manifest::spec::Specs;
use boson_manifest::types::Type;

/// Most jobs of a deployment, so that addons cannot multiply groups without bounds.
const MAX_JOBS: usize = 20_000;

/// Places all addons in order; errors are added to the report. `deployment`: its name.
pub fn place<'a>(manifest: &mut Manifest<'a>, deployment: &str, specs: &Specs<'a>, report: &mut Report) {
    let Some(listed) = manifest.tree.get("addons") else {
        return;
    };
    let place = Place::from(Pointer::root().at("addons"));
    let Some(addons) = listed.as_array() else {
        if let Some(members) = Members::of(manifest.tree, Pointer::root(), codes::MEMBERS, report) {
            members.report_mismatch("addons", listed, Type::Array, report);
        }
        return;
    };
    let mut sites = sites(manifest, deployment);
    let mut total: usize = manifest.groups.iter().map(|group| group.jobs.len()).sum();
    for (index, tree) in addons.iter().enumerate() {
        let level = Level::of(manifest.tree, index);
        let Some(placed) = Placed::read(tree, level, place.at(index), manifest, specs, report) else {
            continue;
        };
        let applies: Vec<usize> = (0..sites.len())
            .filter(|index| placed.addon.applies(&sites[*index].candidate))
            .collect();
        // A runtime config may be for other deployments.
        let is_lost = applies.is_empty() && placed.level == Level::Deployment;
        if is_lost && !placed.jobs.is_empty() {
            let name = plain(&placed.addon.name);
            let message = format!("The addon '{name}' applies to no instance group: its jobs run nowhere");
            let help = "check its `include` and `exclude`: of several filters all must match";
            report
                .warning(codes::ADDON_NOWHERE, place.at(index), message)
                .help(help);
        }
        total += applies.len() * placed.jobs.len();
        if total > MAX_JOBS {
            let message = format!("The instance groups have more than {MAX_JOBS} jobs, those of addons included");
            report.error(codes::LIMIT, place.at(index), message);
            return;
        }
        for index in applies {
            placed.join(&mut manifest.groups[index], &mut sites[index], report);
        }
    }
}

/// A group's properties for placing addons.
struct Site {
    candidate: Candidate,
    /// Names of its jobs.
    names: job::Names,
}

fn sites(manifest: &Manifest<'_>, deployment: &str) -> Vec<Site> {
    let site = |group: &Group<'_>| {
        let jobs = group.jobs.iter();
        let jobs = jobs.map(|job| (job.name.clone(), job.release.clone())).collect();
        Site {
            candidate: Candidate::of(deployment, manifest.tree, &group.entry, jobs),
            names: group.jobs.iter().map(|job| job.name.clone()).collect(),
        }
    };
    manifest.groups.iter().map(site).collect()
}

/// An addon with the specs of its jobs.
struct Placed<'a> {
    addon: Addon<'a>,
    level: Level,
    jobs: Vec<(job::Job<'a>, usize)>,
    inherited: Properties<'a>,
}

// === impl Placed ===

impl<'a> Placed<'a> {
    fn read(
        tree: &'a Tree,
        level: Level,
        place: Place,
        manifest: &Manifest<'a>,
        specs: &Specs<'a>,
        report: &mut Report,
    ) -> Option<Self> {
        let addon = Addon::read(tree, place, level, codes::ADDONS, report)?;
        let at = addon.members.place.at("properties");
        let inherited = match addon.properties(report) {
            Some(map) => Properties::new(map, at),
            None => Properties::merged(Map::new(), at),
        };
        let mut jobs = Vec::new();
        for (place, tree) in addon.jobs(report) {
            let Some(job) = job::Job::read(tree, place, codes::MEMBERS, report) else {
                continue;
            };
            let spec = spec(&job, level, manifest, specs, report);
            jobs.extend(spec.map(|spec| (job, spec)));
        }
        Some(Self {
            addon,
            level,
            jobs,
            inherited,
        })
    }

    fn join(&self, group: &mut Group<'a>, site: &mut Site, report: &mut Report) {
        for (entry, spec) in &self.jobs {
            let read = Job::read(entry, *spec, &self.inherited, report);
            let job = Job { custom: &[], ..read };
            if !site
                .names
                .add(&job.name, group.name(), &job.place, codes::COLOCATED_JOB, report)
            {
                continue;
            }
            site.candidate.jobs.push((job.name.clone(), job.release.clone()));
            group.jobs.push(job);
        }
    }
}

/// The spec of an addon's job; `None` if it does not run, or after an error, which is in the report.
fn spec(
    job: &job::Job<'_>,
    level: Level,
    manifest: &Manifest<'_>,
    specs: &Specs<'_>,
    report: &mut Report,
) -> Option<usize> {
    unused_providers(job, report);
    if !manifest.releases.contains_key(&job.release) {
        let [name, release] = [plain(&job.name), plain(&job.release)];
        let message = level.unlisted_release(&name, &release);
        report
            .error(codes::ADDON_RELEASE, job.place().at("release"), message)
            .suggest(&job.release, manifest.releases.keys().map(String::as_str));
        return None;
    }
    if job.is_built_in() {
        return None;
    }
    let found = specs.find(&job.release, &job.name);
    if found.is_none() {
        unknown_job(job, format!("Can't find job '{}'", plain(&job.name)), report);
    }
    found
}

/// Warns of the key that only jobs of instance groups have. The tables of keys report unknown keys.
fn unused_providers(job: &job::Job<'_>, report: &mut Report) {
    const KEY: &str = "custom_provider_definitions";
    if job.members.get(KEY).is_some() {
        let message = format!("The key '{KEY}' of an addon's job has no effect");
        report
            .warning(codes::UNUSED_KEY, job.place().at(KEY), message)
            .help("take it out, or check its spelling");
    }
}
