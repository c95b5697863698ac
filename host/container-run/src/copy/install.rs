//! `container-run install`: copies this program to the volume that all containers of a pod share. The operator's image
//! has no `cp`.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::Path;

use crate::arguments::Flags;
use crate::error::{Context, Error, Result};
use crate::places::program;

/// What this program is also called.
const COMMAND_NAMES: [&str; 3] = ["bpm", "chpst", "monit"];

/// Runs the subcommand: `install <directory> [--jobs DIR] [--bosh DIR]`.
pub fn run(arguments: &[String]) -> Result<u8> {
    let (directory, rest) = arguments
        .split_first()
        .ok_or_else(|| Error::usage("install: a directory is needed"))?;
    let flags = Flags::read(rest, &[])?;
    let directory = Path::new(directory);
    let bin = directory.join("bin");
    for (path, mode) in [
        (bin.clone(), 0o755),
        (directory.join("processes"), 0o750),
        (directory.join("etc"), 0o755),
        // Containers of root and of vcap write there.
        (directory.join("instance"), 0o770),
    ] {
        make(&path, mode).path_context("making", &path)?;
    }
    let target = bin.join("container-run");
    let new = bin.join("container-run.new");
    // Renamed: a container that is restarted may run the old one.
    fs::copy(program(), &new)
        .and_then(|_| fs::set_permissions(&new, fs::Permissions::from_mode(0o755)))
        .and_then(|()| fs::rename(&new, &target))
        .path_context("copying this program to", &target)?;
    for name in COMMAND_NAMES {
        link(Path::new("container-run"), &bin.join(name))?;
    }
    for (root, inner, name) in [(&flags.jobs, "bpm/bin", "bpm"), (&flags.bosh, "bin", "monit")] {
        if !root.is_empty() {
            let place = Path::new(root).join(inner);
            make(&place, 0o755).path_context("making", &place)?;
            link(&bin.join(name), &place.join(name))?;
        }
    }
    Ok(0)
}

fn make(path: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(mode).create(path)?;
    // The umask must not apply. For a file of another owner this fails, and the file stays as it is.
    let _ = fs::set_permissions(path, fs::Permissions::from_mode(mode));
    Ok(())
}

fn link(target: &Path, place: &Path) -> Result<()> {
    match symlink(target, place) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        result => result.path_context("linking", place),
    }
}
