//! The volume of packages of other releases: see `packages`.

use super::{PACKAGES, mount};
use crate::group::Group;
use crate::job::Job;
use crate::object::object;
use boson_document::Tree;

/// Name of the volume, with a directory for each package.
pub const VOLUME: &str = "shared-packages";

pub fn volume(group: &Group) -> Option<Tree> {
    let is_needed = group.jobs.iter().any(|job| !job.shared_packages.is_empty());
    is_needed.then(|| object! { "name" => VOLUME, "emptyDir" => Tree::object() })
}

/// Mounts of the containers of a job. The processes of one must not change the packages of others.
pub fn mounts(job: &Job) -> impl Iterator<Item = Tree> {
    let shared = job.shared_packages.iter().map(|package| package.name.as_str());
    shared.map(|name| mount(VOLUME, &format!("{PACKAGES}/{name}"), Some(name), true))
}
