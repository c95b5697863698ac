//! The directories that BPM makes before it starts a process.

use std::fs::{self, DirBuilder};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, lchown};
use std::path::Path;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

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
        // Other containers, which may not run as root, make theirs in it as soon as they find it: it needs its mode and
        // owner before.
        let scratch = path.with_file_name(format!(".{:016x}", RandomState::new().hash_one(path)));
        match DirBuilder::new().mode(mode).create(&scratch) {
            Ok(()) => publish(&scratch, path, mode, root)?,
            Err(error) if !path.is_dir() => return Err(error),
            Err(_) => {}
        }
    }
    give_to_vcap(path, root)
}

fn publish(scratch: &Path, path: &Path, mode: u32, root: bool) -> io::Result<()> {
    // The umask must not apply: other jobs write to it by its group.
    let restricted = fs::metadata(scratch).and_then(|made| {
        let inherited = made.mode() & 0o7000;
        fs::set_permissions(scratch, fs::Permissions::from_mode(inherited | mode))
    });
    // `make` repeats it, and returns an error.
    drop(give_to_vcap(scratch, root));
    let renamed = match renameat_with(CWD, scratch, CWD, path, RenameFlags::NOREPLACE) {
        // NFS cannot do that, nor can some file systems of FUSE and system call filters.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => fs::rename(scratch, path),
        renamed => renamed.map_err(io::Error::from),
    };
    if let Err(error) = renamed {
        drop(fs::remove_dir(scratch));
        // Another container may have just made it.
        return if path.is_dir() { Ok(()) } else { Err(error) };
    }
    restricted
}

fn give_to_vcap(path: &Path, root: bool) -> io::Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_find_a_directory_with_its_mode() {
        let parent = tempfile::tempdir().unwrap();
        for number in 0..500 {
            let path = parent.path().join(number.to_string());
            std::thread::scope(|scope| {
                // Most umasks would hide some permissions of this mode.
                let made = scope.spawn(|| make(&path, 0o777, false));
                while !made.is_finished() {
                    if let Ok(found) = fs::metadata(&path) {
                        assert_eq!(found.mode() & 0o777, 0o777);
                    }
                }
                made.join().unwrap().unwrap();
            });
        }
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 500);
    }

    #[test]
    fn one_that_others_make_at_the_same_time_is_no_error() {
        let parent = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for number in 0..200 {
                        make(&parent.path().join(format!("{number}/tmp")), 0o700, false).unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 200);
    }
}
