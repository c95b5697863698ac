//! `container-run copy-packages`: copies packages of a release image to a volume: those that containers of other
//! releases mount, and those that scripts write to. The image may have no shell.

use std::fs;
use std::io;
use std::path::{Component, Path};

use crate::error::{Context, Error, Result};
use crate::files::{copy_with_owners, remove};

/// Below the volume: a package that is not complete yet.
const PARTIAL_DIRECTORY: &str = ".partial";

/// Runs the subcommand: `copy-packages <from> <to> <package>...`.
pub fn run(arguments: &[String]) -> Result<u8> {
    let [from, to, names @ ..] = arguments else {
        return Err(Error::usage(
            "copy-packages: two directories and names of packages are needed",
        ));
    };
    let (from, to) = (Path::new(from), Path::new(to));
    for name in names {
        // Otherwise, the copy would be outside of the volume, or where the next copy begins.
        let parts: Vec<Component<'_>> = Path::new(name).components().collect();
        if !matches!(parts[..], [Component::Normal(_)]) || name == PARTIAL_DIRECTORY {
            return Err(Error::usage(format!(
                "copy-packages: '{name}' is not the name of a package"
            )));
        }
        copy_package(&from.join(name), &to.join(name), &to.join(PARTIAL_DIRECTORY))?;
    }
    Ok(0)
}

/// Copies what the link `from` leads to. A copy that is complete stays: scripts may have changed it when init
/// containers run again.
fn copy_package(from: &Path, to: &Path, partial: &Path) -> Result<()> {
    if to.is_dir() {
        return Ok(());
    }
    let source = fs::canonicalize(from).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::new(format!(
            "{} does not exist: the image of the release lacks a package that one of its jobs lists or writes to",
            from.display()
        )),
        _ => Error::new(format!("{}: {error}", from.display())),
    })?;
    if partial.exists() {
        remove(partial).path_context("emptying", partial)?;
    }
    copy_with_owners(&source, partial).path_context("copying to", to)?;
    fs::rename(partial, to).path_context("creating", to)
}
