//! The volumes of packages, with a directory for each: of those that scripts write to, see
//! `containers::writable_packages`, and of those of other releases, see `containers::packages`.

use super::mount;
use crate::group::Group;
use crate::group::job::Job;
use crate::object::object;
use boson_document::Tree;
use boson_manifest::packages::PACKAGES;
use indexmap::IndexSet;

/// Name of the volume of packages that scripts write to.
pub const WRITABLE_PACKAGES: &str = "writable-packages";
/// Name of the volume of packages of other releases.
pub const SHARED_PACKAGES: &str = "shared-packages";

pub fn writable_volume(group: &Group) -> Option<Tree> {
    let is_used = group.jobs.iter().any(|job| !job.quarks.writable_packages.is_empty());
    is_used.then(|| object! { "name" => WRITABLE_PACKAGES, "emptyDir" => Tree::object() })
}

pub fn shared_volume(group: &Group) -> Option<Tree> {
    let is_needed = group.packages_to_share().next().is_some();
    is_needed.then(|| object! { "name" => SHARED_PACKAGES, "emptyDir" => Tree::object() })
}

/// Mounts of all writable packages of the group in a container of a job, as all jobs of a VM see them. Only the jobs
/// that name a package may write to it.
pub fn writable_mounts(group: &Group, job: &Job) -> Vec<Tree> {
    let of_jobs = group.jobs.iter().flat_map(|job| &job.quarks.writable_packages);
    let all: IndexSet<&String> = of_jobs.collect();
    let mount = |name: &String| {
        let is_own = job.quarks.writable_packages.contains(name);
        mount(WRITABLE_PACKAGES, &format!("{PACKAGES}/{name}"), Some(name), !is_own)
    };
    all.into_iter().map(mount).collect()
}

/// Mounts of packages of other releases in the containers of a job. The processes of one must not change the packages
/// of others.
pub fn shared_mounts(group: &Group, job: &Job) -> Vec<Tree> {
    let names = job.shared_packages.iter().map(|package| package.name.as_str());
    let shared = names.filter(|name| !group.has_writable(name));
    shared
        .map(|name| mount(SHARED_PACKAGES, &format!("{PACKAGES}/{name}"), Some(name), true))
        .collect()
}
