//! The directories that BPM makes before it starts a process.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, lchown};
use std::path::Path;

use crate::description::Process;
use crate::error::{Error, Result};
use crate::output::say::say;
use crate::places::Places;

/// User and group ID of vcap, in every stemcell.
pub const VCAP_ID: u32 = 1000;

/// Mode of directories that are made above others.
const PARENT_MODE: u32 = 0o770;

/// Makes what the process needs. As root, they become vcap's, as under BPM; else they are the pod's volumes, which vcap
/// may write to anyway.
pub fn prepare(places: &Places, job: &str, process: &Process, root: bool) -> Result<()> {
    if process.persistent_disk && !places.vcap("store").is_dir() {
        return Err(Error::new("requested persistent disk does not exist"));
    }
    let data = places.vcap("data").join(job);
    let mut own = vec![places.logs(job), places.vcap("sys/run").join(job)];
    if process.ephemeral_disk {
        own.push(data.clone());
    } else {
        // Made by the agent under BOSH. vcap must be able to enter it.
        report_error(&data, make(&data, 0o770, root));
    }
    own.push(data.join("tmp"));
    if process.persistent_disk {
        own.push(places.vcap("store").join(job));
    }
    for path in &own {
        report_error(path, make(path, 0o700, root));
    }
    for volume in process.volumes.iter().filter(|volume| !volume.mount_only) {
        let path = Path::new(&volume.path);
        report_error(path, make(path, 0o700, root).and_then(|()| restrict_mode(path, root)));
    }
    let pids = places.pid_directory(job);
    report_error(&pids, make(&pids, 0o770, root));
    Ok(())
}

/// Ignores errors: the process may not need the directory, and otherwise reports a better error.
fn report_error(path: &Path, result: io::Result<()>) {
    if let Err(error) = result {
        say(&format!("cannot create {}: {error}", path.display()));
    }
}

/// Makes a directory, and the ones above it that are missing: those become vcap's, too, because other jobs of the pod,
/// which may not run as root, make theirs in them.
pub fn make(path: &Path, mode: u32, root: bool) -> io::Result<()> {
    if !path.is_dir() {
        if let Some(above) = path.parent().filter(|above| !above.exists()) {
            make(above, PARENT_MODE, root)?;
        }
        match DirBuilder::new().mode(mode).create(path) {
            // The umask must not apply: other jobs write to it by its group.
            Ok(()) => {
                let inherited = fs::metadata(path)?.mode() & 0o7000;
                fs::set_permissions(path, fs::Permissions::from_mode(inherited | mode))?;
            }
            Err(error) if !path.is_dir() => return Err(error),
            Err(_) => {}
        }
    }
    let owned = fs::symlink_metadata(path)?;
    if root && owned.is_dir() && (owned.uid(), owned.gid()) != (VCAP_ID, VCAP_ID) {
        lchown(path, Some(VCAP_ID), Some(VCAP_ID))?;
    }
    Ok(())
}

/// BPM restricts the permissions of existing volumes, too.
fn restrict_mode(path: &Path, root: bool) -> io::Result<()> {
    if root {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))
    } else {
        Ok(())
    }
}
