//! Where the paths that processes name are: in a volume of the pod, in the image, or nowhere yet.

use super::{ephemeral_name, persistent_name};
use crate::group::Group;
use crate::group::job::Job;
use crate::process::{Process, Volume, clean};
use boson_manifest::packages::PACKAGES;

/// Location of a path of a process.
#[derive(Clone, Debug, PartialEq)]
pub enum Site {
    /// In this volume, below its root.
    Below(String, String),
    /// Already in the container; with the text of a warning, if needed.
    There(Option<&'static str>),
    /// Nowhere yet.
    Elsewhere,
}

const OUTSIDE: &str = "is not mounted: containers cannot mount this path";
const SYSTEM: &str = "is not mounted: it is that of the image, not of the node";
const IMAGE: &str = "is not writable: it is part of the image";
const SHARED: &str = "is not writable: all containers of the pod share it";
const NO_STORE: &str = "is not mounted: the instance group has no persistent disk";

/// Directories of the image that an empty one must not hide.
const SYSTEM_ROOTS: [&str; 6] = ["/bin", "/etc", "/lib", "/lib64", "/sbin", "/usr"];
/// Directories of kernel file systems.
const KERNEL_ROOTS: [&str; 3] = ["/proc", "/sys", "/dev"];

/// The volumes of a process, and whether BPM lets them be anywhere.
pub fn paths(process: &Process) -> impl Iterator<Item = (&Volume, bool)> {
    let additional = process.additional_volumes.iter().map(|volume| (volume, false));
    additional.chain(process.unrestricted_volumes.iter().map(|volume| (volume, true)))
}

/// Location of a volume.
pub fn site(group: &Group, job: &Job, volume: &Volume, unrestricted: bool) -> Site {
    let path = clean(&volume.path);
    if path == "/" || !path.starts_with('/') || path.contains([':', '\0']) {
        return Site::There(Some(OUTSIDE));
    }
    if path.contains(['*', '?', '[']) {
        return Site::There((!is_visible(group, &path, volume.writable)).then_some(OUTSIDE));
    }
    let own = [
        format!("/var/vcap/jobs/{}", job.name),
        format!("/var/vcap/sys/log/{}", job.name),
    ];
    if unrestricted && own.iter().any(|root| below(&path, root).is_some()) {
        return Site::There(None);
    }
    let package = below(&path, PACKAGES);
    let name = package.as_ref().and_then(|rest| rest.split('/').next());
    if name.is_some_and(|name| job.quarks.writable_packages.contains(name)) {
        return Site::There(None);
    }
    if package.or(below(&path, "/var/vcap/data/packages")).is_some() {
        return Site::There(volume.writable.then_some(IMAGE));
    }
    // They are mounted read-only, so that nothing can be mounted in them.
    if below(&path, "/var/vcap/bosh")
        .or(below(&path, "/var/vcap/instance"))
        .is_some()
    {
        return Site::There(volume.writable.then_some(SHARED));
    }
    let store = below(&path, "/var/vcap/store").map(|rest| (persistent_name(group), rest));
    if store.is_some() && group.disks.persistent.is_none() {
        return Site::There(Some(NO_STORE));
    }
    let found = store
        .or_else(|| Some((ephemeral_name(group), below(&path, "/var/vcap/data")?)))
        .or_else(|| Some(("sys-dir".into(), below(&path, "/var/vcap/sys")?)))
        .or_else(|| Some(("jobs-dir".into(), below(&path, "/var/vcap/jobs")?)));
    match found {
        Some((volume, rest)) => Site::Below(volume, rest),
        None if is_system(&path, volume.writable) => Site::There(Some(SYSTEM)),
        None => Site::Elsewhere,
    }
}

/// The rest of a path below a root, without the `/`.
fn below(path: &str, root: &str) -> Option<String> {
    let rest = path.strip_prefix(root)?;
    if rest.is_empty() {
        Some(String::new())
    } else {
        rest.strip_prefix('/').map(str::to_string)
    }
}

/// Is all that a pattern may match mounted in every container anyway?
fn is_visible(group: &Group, pattern: &str, writable: bool) -> bool {
    let at = |root: &str| pattern.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'));
    let store = group.disks.persistent.is_some() && at("/var/vcap/store");
    at("/var/vcap/data") || at("/var/vcap/sys") || store || (at("/var/vcap/jobs") && !writable)
}

fn is_system(path: &str, writable: bool) -> bool {
    let at = |root: &&str| below(path, root).is_some();
    let whole = ["/tmp", "/var/tmp", "/var/vcap"]
        .iter()
        .chain(&SYSTEM_ROOTS)
        .any(|root| path == *root);
    whole || KERNEL_ROOTS.iter().any(at) || (!writable && SYSTEM_ROOTS.iter().any(at))
}
