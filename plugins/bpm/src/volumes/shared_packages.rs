//! The volume of packages of other releases: see `packages`.

use super::mount;
use crate::group::Group;
use crate::group::job::Job;
use crate::object::object;
use boson_document::Tree;
use boson_manifest::packages::PACKAGES;

/// Name of the volume, with a directory for each package.
pub const VOLUME: &str = "shared-packages";

pub fn volume(group: &Group) -> Option<Tree> {
    let is_needed = group.packages_to_share().next().is_some();
    is_needed.then(|| object! { "name" => VOLUME, "emptyDir" => Tree::object() })
}

/// Mounts of the containers of a job. The processes of one must not change the packages of others.
pub fn mounts(group: &Group, job: &Job) -> Vec<Tree> {
    let names = job.shared_packages.iter().map(|package| package.name.as_str());
    let shared = names.filter(|name| !group.has_writable(name));
    shared
        .map(|name| mount(VOLUME, &format!("{PACKAGES}/{name}"), Some(name), true))
        .collect()
}
