//! Trees of files: copies of job sources and packages.

use std::collections::HashMap;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// Directories within each other. Releases have a few.
const MAX_DEPTH: usize = 64;

/// Opens a file in a directory to which others write, too: follows no link, waits for no other end of a named pipe, and
/// takes no terminal.
pub fn open_shared(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    options
        .custom_flags(i32::try_from(flags.bits()).unwrap_or_default())
        .open(path)
}

/// The paths of what a directory contains.
pub fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(directory)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect()
}

/// Removes what a directory contains. The directory itself stays: who made it may be root, and only what is in it
/// belongs to vcap.
pub fn empty(directory: &Path) -> io::Result<()> {
    for path in entries(directory)? {
        if fs::symlink_metadata(&path)?.is_dir() {
            fs::remove_dir_all(&path)?;
        } else {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Removes a directory, even if modes forbid its owner to change what it contains.
pub fn remove(directory: &Path) -> io::Result<()> {
    allow_changes(directory)?;
    fs::remove_dir_all(directory)
}

/// [`copy`] has bounded the depth.
fn allow_changes(directory: &Path) -> io::Result<()> {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o700))?;
    for path in entries(directory)? {
        if fs::symlink_metadata(&path)?.is_dir() {
            allow_changes(&path)?;
        }
    }
    Ok(())
}

/// As [`copy`], with modes, and with owners if this process may set them. `from` may be a link to a directory.
pub fn copy_with_owners(from: &Path, to: &Path) -> io::Result<()> {
    copy(from, to)?;
    keep_attributes(from, to, &fs::metadata(from)?, rustix::process::geteuid().is_root())
}

/// [`copy`] has bounded the depth. Directories come after their content, which their modes may forbid to change.
fn keep_attributes(from: &Path, to: &Path, of: &Metadata, owners: bool) -> io::Result<()> {
    if of.is_dir() {
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let target = to.join(entry.file_name());
            // Sockets and devices are not copied.
            if fs::symlink_metadata(&target).is_ok() {
                keep_attributes(&entry.path(), &target, &entry.metadata()?, owners)?;
            }
        }
    }
    if owners {
        lchown(to, Some(of.uid()), Some(of.gid()))?;
    }
    if of.is_symlink() {
        return Ok(());
    }
    // After the owner: the change of it resets these bits.
    fs::set_permissions(to, fs::Permissions::from_mode(of.mode() & 0o7777))
}

/// Copies directories, files and symbolic links. Names of one file stay names of one file: some packages would be many
/// times as large otherwise.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    copy_within(from, to, 0, &mut HashMap::new())
}

/// `copied`: copies of files with several names, by device and inode.
fn copy_within(from: &Path, to: &Path, depth: usize, copied: &mut HashMap<(u64, u64), PathBuf>) -> io::Result<()> {
    if depth > MAX_DEPTH {
        return Err(io::Error::other("too many directories within each other"));
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let metadata = entry.metadata()?;
        let identity = (metadata.dev(), metadata.ino());
        if metadata.is_dir() {
            copy_within(&source, &target, depth + 1, copied)?;
        } else if metadata.is_symlink() {
            symlink(fs::read_link(&source)?, &target)?;
        } else if let Some(other) = copied.get(&identity) {
            fs::hard_link(other, &target)?;
        } else if metadata.is_file() {
            // With its permissions: an execute bit decides who may run what is rendered.
            fs::copy(&source, &target)?;
            if metadata.nlink() > 1 {
                copied.insert(identity, target);
            }
        }
    }
    Ok(())
}
