//! Packages of other releases, which every job of a VM has: an init container of their image copies them to a volume of
//! the pod, and the containers of the jobs that need them mount them where the own packages of a job are.

use crate::codes;
use crate::container_run::{HOME, VOLUME, copy_packages};
use crate::containers::{resources, security};
use crate::group::Group;
use crate::group::job::Job;
use crate::object::{compact, object};
use crate::request::{JobFiles, ReleasePackage};
use crate::volumes::{SHARED_PACKAGES, mount};
use boson_document::{Place, Report, Tree};
use boson_manifest::group::{SETTINGS, settings};
use boson_manifest::names::container;
use boson_manifest::packages::{SHARE_PACKAGES, SharePackages, given};
use std::collections::{BTreeMap, BTreeSet};

/// Where the containers that copy packages have the volume.
const TARGET: &str = "/var/vcap/shared-packages";

/// Those of the job that are of other releases.
pub fn of_others(files: &JobFiles) -> Vec<ReleasePackage> {
    let others = files.packages.iter().filter(|package| package.release != files.release);
    others.cloned().collect()
}

/// Checks the job property. `place`: of `quarks`.
pub fn check_job(quarks: &Tree, group: &str, files: &JobFiles, place: &Place, report: &mut Report) {
    if let Some(value) = given(Some(quarks)) {
        check(value, group, &names(files).collect(), &place.at(SHARE_PACKAGES), report);
    }
}

/// Checks the setting of a group. A package that it lists need not be one of another release for all jobs.
pub fn check_group(tree: &Tree, group: &Group, jobs: &[JobFiles], report: &mut Report) {
    let Some(value) = given(settings(tree)) else { return };
    let is_own = |job: &Tree| given(job.get("properties").and_then(|all| all.get("quarks"))).is_some();
    let listed = tree.items("jobs").iter().zip(jobs);
    let mut following = listed.filter(|(job, _)| !is_own(job)).peekable();
    if following.peek().is_some() {
        let known = following.flat_map(|(_, files)| names(files)).collect();
        let place = group.place.join(&SETTINGS).at(SHARE_PACKAGES);
        check(value, &group.name, &known, &place, report);
    }
}

fn names(files: &JobFiles) -> impl Iterator<Item = &str> {
    files.packages.iter().map(|package| package.name.as_str())
}

/// `known`: names of the packages that the value selects.
fn check(value: &Tree, group: &str, known: &BTreeSet<&str>, place: &Place, report: &mut Report) {
    match SharePackages::read(value) {
        None => {
            let text = format!("'{SHARE_PACKAGES}' must be `referenced`, `all`, `none` or a list of names of packages");
            report.error(codes::BAD_VALUE, place, text);
        }
        Some(SharePackages::Listed(names)) => {
            let unknown = names.into_iter().enumerate().filter(|(_, name)| !known.contains(name));
            for (index, name) in unknown {
                let text = format!("No job of instance group '{group}' has the package '{name}'");
                let help =
                    "list packages that the specs of the group's jobs list, or add a job of the release that has it";
                report.error(codes::SHARED_PACKAGE, place.at(index), text).help(help);
            }
        }
        Some(_) => {}
    }
}

/// Names of the init containers, each with its purpose.
pub fn names_of(group: &Group) -> impl Iterator<Item = (String, String)> {
    let purpose = |release: &str| format!("the packages of release '{release}'");
    let releases = providers(group).into_iter();
    releases.map(move |(job, _)| (name(&job.release), purpose(&job.release)))
}

fn name(release: &str) -> String {
    container(&["package-copier", release])
}

/// An init container for each release with packages for jobs of others. They run after templates are rendered: the
/// operator replaces the init containers before.
pub fn copiers(group: &Group) -> Vec<Tree> {
    let all = providers(group).into_iter();
    all.map(|(job, packages)| copier(group, job, &packages)).collect()
}

fn copier(group: &Group, job: &Job, packages: &BTreeSet<&str>) -> Tree {
    compact(object! {
        "name" => name(&job.release),
        "image" => job.image.as_str(),
        "command" => copy_packages(TARGET, packages),
        "resources" => resources::of_copier(),
        "volumeMounts" => vec![mount(VOLUME, HOME, None, true), mount(SHARED_PACKAGES, TARGET, None, false)],
        "securityContext" => security::of_copier(group, &job.release),
    })
}

/// The releases with packages for jobs of others, in the order of the group's jobs, each by its first job.
fn providers(group: &Group) -> Vec<(&Job, BTreeSet<&str>)> {
    let mut by_release: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in group.packages_to_share() {
        by_release.entry(&package.release).or_default().insert(&package.name);
    }
    let jobs = group.jobs.iter();
    jobs.filter_map(|job| Some((job, by_release.remove(job.release.as_str())?)))
        .collect()
}
