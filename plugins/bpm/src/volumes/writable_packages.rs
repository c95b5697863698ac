//! The volume of packages that scripts write to: see `writable_packages`.

use super::mount;
use crate::group::Group;
use crate::group::job::Job;
use crate::object::object;
use boson_document::Tree;
use boson_manifest::packages::PACKAGES;
use indexmap::IndexSet;

/// Name of the volume, with a directory for each package.
pub const VOLUME: &str = "writable-packages";

pub fn volume(group: &Group) -> Option<Tree> {
    let is_used = group.jobs.iter().any(|job| !job.quarks.writable_packages.is_empty());
    is_used.then(|| object! { "name" => VOLUME, "emptyDir" => Tree::object() })
}

/// Mounts of all writable packages of the group in a container of a job, as all jobs of a VM see them. Only the jobs
/// that name a package may write to it.
pub fn mounts(group: &Group, job: &Job) -> Vec<Tree> {
    let of_jobs = group.jobs.iter().flat_map(|job| &job.quarks.writable_packages);
    let all: IndexSet<&String> = of_jobs.collect();
    let mount = |name: &String| {
        let is_own = job.quarks.writable_packages.contains(name);
        mount(VOLUME, &format!("{PACKAGES}/{name}"), Some(name), !is_own)
    };
    all.into_iter().map(mount).collect()
}
