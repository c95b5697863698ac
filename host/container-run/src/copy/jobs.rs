//! `container-run copy-jobs`: copies the job sources of a release image to the volume where those of all releases of a
//! pod are. The image may have no shell.

use std::fs;
use std::io;
use std::os::unix::fs::lchown;
use std::path::Path;

use crate::directories::VCAP_ID;
use crate::error::{Context, Error, Result};
use crate::files::{copy, empty, entries};

/// Runs the subcommand: `copy-jobs <from> <to>`.
pub fn run(arguments: &[String]) -> Result<u8> {
    let [from, to] = arguments else {
        return Err(Error::usage("copy-jobs: two directories are needed"));
    };
    let (from, to) = (Path::new(from), Path::new(to));
    if !from.is_dir() {
        return Err(Error::new(format!(
            "{} does not exist: this is not the image of a BOSH release",
            from.display()
        )));
    }
    // When init containers run again, the directory holds files of pre-render scripts, such as a marker by which a
    // script skips its work.
    fs::create_dir_all(to)
        .and_then(|()| empty(to))
        .path_context("emptying", to)?;
    copy(from, to).path_context("copying to", to)?;
    if rustix::process::geteuid().is_root() {
        // The copy must be readable for vcap. Other releases may be copied beside it as vcap.
        let parent = to.parent().unwrap_or(to);
        lchown(parent, Some(VCAP_ID), Some(VCAP_ID))
            .and_then(|()| give_to_vcap(to))
            .path_context("changing the owner of", to)?;
    }
    Ok(0)
}

/// [`copy`] has bounded the depth.
fn give_to_vcap(path: &Path) -> io::Result<()> {
    lchown(path, Some(VCAP_ID), Some(VCAP_ID))?;
    if fs::symlink_metadata(path)?.is_dir() {
        for entry in entries(path)? {
            give_to_vcap(&entry)?;
        }
    }
    Ok(())
}
