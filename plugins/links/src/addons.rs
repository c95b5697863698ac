//! Addons of the manifest: their jobs join the groups that they apply to.

use crate::codes;
use crate::group::Group;
use crate::job::{Job, Properties, collision, is_bpm, unknown_job};
use crate::manifest::Manifest;
use crate::spec::Specs;
use crate::value::plain;
use boson_document::{Map, Pointer, Report, Tree};
use boson_manifest::addons::{Candidate, Filter, Kind};
use boson_manifest::dns::is_release;
use boson_manifest::members::Members;
use boson_manifest::types::Type;
use std::collections::{HashMap, HashSet};

/// Most jobs of a deployment, so that addons cannot multiply groups without bounds.
const MOST_JOBS: usize = 20_000;
/// Keys that an addon may have.
const ADDON_KEYS: [&str; 5] = ["name", "jobs", "properties", "include", "exclude"];
/// Keys that a job of an addon may have.
const JOB_KEYS: [&str; 5] = ["name", "release", "properties", "consumes", "provides"];

/// Places all addons in order; errors are added to the report.
pub fn place<'a>(manifest: &mut Manifest<'a>, specs: &Specs<'a>, report: &mut Report) {
    let Some(listed) = manifest.tree.get("addons") else {
        return;
    };
    let place = Pointer::root().at("addons");
    let Some(addons) = listed.as_array() else {
        if let Some(members) = Members::of(manifest.tree, Pointer::root(), codes::MEMBERS, report) {
            members.wrong("addons", listed, Type::Array, report);
        }
        return;
    };
    let mut sites = sites(manifest);
    let mut total: usize = manifest.groups.iter().map(|group| group.jobs.len()).sum();
    for (index, tree) in addons.iter().enumerate() {
        let Some(addon) = Addon::read(tree, place.at(index), manifest, specs, report) else {
            continue;
        };
        let applies: Vec<usize> = (0..sites.len())
            .filter(|index| addon.applies(&sites[*index].candidate))
            .collect();
        if applies.is_empty() && !addon.jobs.is_empty() {
            let name = plain(tree.str("name").unwrap_or_default());
            let message = format!("The addon '{name}' applies to no instance group: its jobs run nowhere");
            let help = "check its `include` and `exclude`: of several filters all must match";
            report
                .warning(codes::ADDON_NOWHERE, place.at(index), message)
                .help(help);
        }
        total += applies.len() * addon.jobs.len();
        if total > MOST_JOBS {
            let message = format!("The instance groups have more than {MOST_JOBS} jobs, those of addons included");
            report.error(codes::LIMIT, place.at(index), message);
            return;
        }
        for index in applies {
            addon.join(&mut manifest.groups[index], &mut sites[index], report);
        }
    }
}

/// A group's properties for placing addons.
struct Site {
    candidate: Candidate,
    /// Names of its jobs.
    names: HashSet<String>,
}

fn sites(manifest: &Manifest<'_>) -> Vec<Site> {
    let mut systems: HashMap<&str, &str> = HashMap::new();
    for stemcell in manifest.tree.items("stemcells") {
        if let (Some(alias), Some(os)) = (stemcell.str("alias"), stemcell.str("os")) {
            systems.entry(alias).or_insert(os);
        }
    }
    let site = |group: &Group<'_>| Site {
        candidate: candidate(group, manifest, &systems),
        names: group.jobs.iter().map(|job| job.name.clone()).collect(),
    };
    manifest.groups.iter().map(site).collect()
}

fn candidate(group: &Group<'_>, manifest: &Manifest<'_>, systems: &HashMap<&str, &str>) -> Candidate {
    let stemcell = group.tree.str("stemcell").and_then(|alias| systems.get(alias));
    // Without a stemcell of the group, those of its releases are used.
    let releases = group
        .jobs
        .iter()
        .filter_map(|job| manifest.releases.get(&job.release)?.system());
    let systems = match stemcell {
        Some(system) => vec![system.to_string()],
        None => releases.map(String::from).collect(),
    };
    // An auto-errand is an errand that runs automatically.
    let lifecycle = if group.lifecycle == "auto-errand" {
        "errand"
    } else {
        &group.lifecycle
    };
    Candidate {
        name: group.name.clone(),
        lifecycle: lifecycle.into(),
        azs: group.azs.clone(),
        networks: group.networks(),
        systems,
        jobs: group
            .jobs
            .iter()
            .map(|job| (job.name.clone(), job.release.clone()))
            .collect(),
    }
}

struct Addon<'a> {
    jobs: Vec<AddonJob<'a>>,
    include: Filter,
    exclude: Filter,
}

struct AddonJob<'a> {
    name: String,
    release: String,
    members: Members<'a>,
    spec: usize,
    inherited: Properties<'a>,
}

// === impl Addon ===

impl<'a> Addon<'a> {
    fn read(
        tree: &'a Tree,
        place: Pointer,
        manifest: &Manifest<'a>,
        specs: &Specs<'a>,
        report: &mut Report,
    ) -> Option<Self> {
        let members = Members::of(tree, place, codes::MEMBERS, report)?;
        members.required_string("name", report);
        unused(&members, &ADDON_KEYS, "an addon", report);
        let [include, exclude] = [Kind::Include, Kind::Exclude].map(|kind| filter(&members, tree, kind, report));
        let at = members.place.at("properties");
        let inherited = match members.object("properties", report) {
            Some(map) => Properties::new(map, at),
            None => Properties::merged(Map::new(), at),
        };
        let mut jobs = Vec::new();
        for (index, item) in members.list("jobs", report).iter().enumerate() {
            let place = members.place.at("jobs").at(index);
            jobs.extend(AddonJob::read(item, place, inherited.clone(), manifest, specs, report));
        }
        Some(Self { jobs, include, exclude })
    }

    fn applies(&self, candidate: &Candidate) -> bool {
        self.include.matches(candidate) && !self.exclude.matches(candidate)
    }

    fn join(&self, group: &mut Group<'a>, site: &mut Site, report: &mut Report) {
        for addon in &self.jobs {
            let read = Job::read(&addon.members, addon.spec, &addon.inherited, report);
            let job = Job {
                name: addon.name.clone(),
                release: addon.release.clone(),
                custom: &[],
                ..read
            };
            if !site.names.insert(job.name.clone()) {
                collision(&job, &group.name, report);
                continue;
            }
            site.candidate.jobs.push((job.name.clone(), job.release.clone()));
            group.jobs.push(job);
        }
    }
}

fn filter(members: &Members<'_>, tree: &Tree, kind: Kind, report: &mut Report) -> Filter {
    let mut problems = Vec::new();
    let filter = Filter::read(tree, kind, &mut problems);
    for problem in problems {
        let at = members.place.at(kind.name()).join(problem.pointer.tokens());
        if problem.harmless {
            report
                .warning(codes::UNUSED_KEY, at, problem.message)
                .help("take it out");
        } else {
            report.error(codes::ADDON_FILTER, at, problem.message);
        }
    }
    filter
}

/// Warns of keys that have no effect.
pub fn unused(members: &Members<'_>, known: &[&str], what: &str, report: &mut Report) {
    for key in members.all().keys().filter(|key| !known.contains(&key.as_str())) {
        let message = format!("The key '{}' of {what} has no effect", plain(key));
        report
            .warning(codes::UNUSED_KEY, members.place.at(key), message)
            .help("take it out, or check its spelling");
    }
}

// === impl AddonJob ===

impl<'a> AddonJob<'a> {
    fn read(
        tree: &'a Tree,
        place: Pointer,
        inherited: Properties<'a>,
        manifest: &Manifest<'a>,
        specs: &Specs<'a>,
        report: &mut Report,
    ) -> Option<Self> {
        let members = Members::of(tree, place, codes::MEMBERS, report)?;
        let (name, release) = (
            members.required_string("name", report),
            members.required_string("release", report),
        );
        let (name, release) = (name?, release?);
        unused(&members, &JOB_KEYS, "an addon's job", report);
        if !manifest.releases.contains_key(&release) {
            let [job, from] = [plain(&name), plain(&release)];
            let message = format!(
                "Manifest specifies job '{job}' which is defined in '{from}', but '{from}' is not listed in the deployment releases section."
            );
            report.error(codes::ADDON_RELEASE, members.place.at("release"), message);
            return None;
        }
        // Its configuration becomes the deployment's DNS, which the bpm stage makes.
        if is_bpm(&name, &release) || is_release(&release) {
            return None;
        }
        let Some(spec) = specs.find(&release, &name) else {
            unknown_job(
                members.place.at("name"),
                format!("Can't find job '{}'", plain(&name)),
                report,
            );
            return None;
        };
        Some(Self {
            name,
            release,
            members,
            spec,
            inherited,
        })
    }
}
