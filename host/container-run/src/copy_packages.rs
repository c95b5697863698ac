//! `container-run copy-packages`: copies packages of a release image to a volume, so that scripts can write to them and
//! other containers of the pod see it. The image may have no shell.

use std::fs;
use std::path::Path;

use crate::error::{Doing, Error, Result};
use crate::files::copy_with_owners;
use crate::places::Places;

/// Runs the subcommand: `copy-packages <directory> <package>..`.
pub fn run(places: &Places, arguments: &[String]) -> Result<u8> {
    let [directory, packages @ ..] = arguments else {
        return Err(Error::usage("copy-packages: a directory is needed"));
    };
    for package in packages {
        copy(places, Path::new(directory), package)?;
    }
    Ok(0)
}

/// A copy that is complete stays: scripts may have changed it when init containers run again.
fn copy(places: &Places, directory: &Path, package: &str) -> Result<()> {
    let (source, target) = (places.vcap("packages").join(package), directory.join(package));
    if target.is_dir() {
        return Ok(());
    }
    if !source.is_dir() {
        return Err(Error::new(format!(
            "the image has no package '{package}', which the job property quarks.run.writable_packages names"
        )));
    }
    let partial = directory.join(format!(".{package}.partial"));
    if partial.exists() {
        fs::remove_dir_all(&partial).doing("removing", &partial)?;
    }
    copy_with_owners(&source, &partial)
        .and_then(|()| fs::rename(&partial, &target))
        .doing("copying", &source)
}
