//! Where the paths that processes name are: in a volume of the pod, in the image, or nowhere yet.

use super::{ephemeral_name, persistent_name};
use crate::group::Group;
use crate::job::Job;
use crate::process::{Process, Volume, clean};

/// Where a path of a process is.
pub enum Site {
    /// In this volume, below its root.
    Below(String, String),
    /// Already in the container; why nothing is mounted, where that is worth a warning.
    There(Option<&'static str>),
    /// Nowhere yet.
    Elsewhere,
}

/// The volumes of a process, and whether BPM lets them be anywhere.
pub fn paths(process: &Process) -> impl Iterator<Item = (&Volume, bool)> {
    let additional = process.additional_volumes.iter().map(|volume| (volume, false));
    additional.chain(process.unrestricted_volumes.iter().map(|volume| (volume, true)))
}

const OUTSIDE: &str = "is not mounted: it is no path that a container can mount";
const SYSTEM: &str = "is not mounted: it is the image's, not the node's";
const IMAGE: &str = "is not writable: it is part of the image";
const NO_STORE: &str = "is not mounted: the instance group has no persistent disk";

/// Where it is.
pub fn site(group: &Group, job: &Job, volume: &Volume, unrestricted: bool) -> Site {
    let path = clean(&volume.path);
    let below = |root: &str| {
        let rest = path.strip_prefix(root)?;
        if rest.is_empty() {
            Some(String::new())
        } else {
            rest.strip_prefix('/').map(str::to_string)
        }
    };
    let at = |root: &str| below(root).is_some();
    if path == "/" || !path.starts_with('/') || path.contains([':', '*', '?', '[', '\0']) {
        return Site::There(Some(OUTSIDE));
    }
    if unrestricted && (at(&format!("/var/vcap/jobs/{}", job.name)) || at(&format!("/var/vcap/sys/log/{}", job.name))) {
        return Site::There(None);
    }
    if at("/var/vcap/packages") || at("/var/vcap/data/packages") {
        return Site::There(volume.writable.then_some(IMAGE));
    }
    if let Some(rest) = below("/var/vcap/store") {
        let name = persistent_name(group);
        return if group.disks.persistent.is_some() {
            Site::Below(name, rest)
        } else {
            Site::There(Some(NO_STORE))
        };
    }
    let roots = [
        ("/var/vcap/data", ephemeral_name(group)),
        ("/var/vcap/sys", "sys-dir".into()),
        ("/var/vcap/jobs", "jobs-dir".into()),
    ];
    if let Some((name, rest)) = roots.into_iter().find_map(|(root, name)| Some((name, below(root)?))) {
        return Site::Below(name, rest);
    }
    let kernel = ["/proc", "/sys", "/dev"].into_iter().any(at);
    let system = [
        "/bin",
        "/etc",
        "/lib",
        "/lib64",
        "/sbin",
        "/usr",
        "/tmp",
        "/var/tmp",
        "/var/vcap",
    ]
    .into_iter()
    .any(|root| path == root);
    let image = ["/bin", "/etc", "/lib", "/lib64", "/sbin", "/usr"].into_iter().any(at) && !volume.writable;
    if kernel || system || image {
        Site::There(Some(SYSTEM))
    } else {
        Site::Elsewhere
    }
}
