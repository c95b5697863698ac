//! `host util extract-jobs`: copies the job sources of a release image. Either this program is in the image, or the
//! image's files are mounted.

use anyhow::{Context, ensure};
use boson_commands::exit::ExitError;
use boson_manifest::copier;
use clap::Args;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Nested directories. Releases have a few levels.
const MAX_DIRECTORY_DEPTH: usize = 64;

/// Links are copied as links: readers of the copy do not follow links out of it
#[derive(Args, Debug)]
pub struct ExtractJobsArguments {
    /// Directory of the job sources in the image
    #[arg(long, value_name = "DIR", default_value = copier::SOURCE)]
    from: PathBuf,
    /// Copy to this directory
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
}

pub fn run(arguments: &ExtractJobsArguments) -> Result<(), ExitError> {
    let from = &arguments.from;
    ensure_directory(from)?;
    Ok(copy(from, &arguments.to, 0)?)
}

fn ensure_directory(path: &Path) -> anyhow::Result<()> {
    ensure!(
        path.is_dir(),
        "there is no directory '{}': check that this is the image of a release",
        path.display()
    );
    Ok(())
}

fn copy(from: &Path, to: &Path, depth: usize) -> anyhow::Result<()> {
    let context = |path: &Path| format!("cannot copy '{}'", path.display());
    ensure!(depth < MAX_DIRECTORY_DEPTH, "'{}' is too deep", from.display());
    fs::create_dir_all(to).with_context(|| format!("cannot make '{}'", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| context(from))? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = fs::symlink_metadata(&source).with_context(|| context(&source))?;
        if kind.is_dir() {
            copy(&source, &target, depth + 1)?;
        } else if kind.is_file() {
            // Permissions are copied, too: execute bits decide who may run the rendered files.
            fs::copy(&source, &target).with_context(|| context(&source))?;
        } else if kind.is_symlink() {
            let end = fs::read_link(&source).with_context(|| context(&source))?;
            symlink(end, &target).with_context(|| context(&source))?;
        }
    }
    Ok(())
}
