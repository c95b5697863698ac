//! `boson-build archive`: a compressed tar of a folder. The same files give the same bytes on every machine: sorted, of
//! root, of 1970.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use boson_oci::header;
use clap::Args;
use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType};

/// The archive's content and destination.
#[derive(Args)]
pub(crate) struct ArchiveArguments {
    /// The folder to pack. Links in it stay links.
    #[arg(long, value_name = "DIR")]
    from: PathBuf,
    /// The name of the folder in the archive.
    #[arg(long, value_name = "NAME")]
    name: String,
    /// The file to write.
    #[arg(long, value_name = "FILE.tgz")]
    out: PathBuf,
}

/// Writes the archive.
pub(crate) fn make(arguments: &ArchiveArguments) -> Result<()> {
    let mut paths = BTreeMap::new();
    list(&arguments.from, &arguments.name, &mut paths)?;
    let temporary = arguments.out.with_extension(format!("{}.new", std::process::id()));
    let file = File::create(&temporary).with_context(|| format!("writing {}", temporary.display()))?;
    // Neither the time nor the operating system is in the header of the compressed file.
    let compressed = GzBuilder::new().write(file, Compression::best());
    let mut archive = Builder::new(compressed);
    for (path, from) in &paths {
        append(&mut archive, path, from).with_context(|| format!("adding {}", from.display()))?;
    }
    archive.into_inner()?.finish()?;
    fs::rename(&temporary, &arguments.out).with_context(|| format!("writing {}", arguments.out.display()))
}

/// Everything in a folder, by its path in the archive.
fn list(directory: &Path, name: &str, paths: &mut BTreeMap<String, PathBuf>) -> Result<()> {
    paths.insert(name.to_string(), directory.to_path_buf());
    for entry in fs::read_dir(directory).with_context(|| format!("reading {}", directory.display()))? {
        let entry = entry?;
        let inner = entry.file_name();
        let path = format!("{name}/{}", inner.to_str().context("a name that is not UTF-8")?);
        if entry.file_type()?.is_dir() {
            list(&entry.path(), &path, paths)?;
        } else {
            paths.insert(path, entry.path());
        }
    }
    Ok(())
}

fn append(archive: &mut Builder<impl io::Write>, path: &str, from: &Path) -> Result<()> {
    let found = fs::symlink_metadata(from)?;
    let kind = found.file_type();
    if kind.is_dir() {
        archive.append_data(&mut header(EntryType::Directory, 0o755, 0), path, io::empty())?;
    } else if kind.is_symlink() {
        archive.append_link(&mut header(EntryType::Symlink, 0o777, 0), path, fs::read_link(from)?)?;
    } else if kind.is_file() {
        // Not the whole mode: it depends on the umask.
        let mode = if found.permissions().mode() & 0o100 == 0 {
            0o644
        } else {
            0o755
        };
        archive.append_data(
            &mut header(EntryType::Regular, mode, found.len()),
            path,
            File::open(from)?,
        )?;
    } else {
        bail!("neither a file, a folder nor a link");
    }
    Ok(())
}
