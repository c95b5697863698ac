//! Atomic writes: after a crash at any moment, a file is old or new. It is written under a temporary name beside its
//! own, synced, and renamed, and its directory is synced.

use super::crash;
use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A temporary file that is removed if it is dropped before its rename.
struct Scratch {
    /// Its path; `None` after the rename.
    at: Option<PathBuf>,
    path: PathBuf,
}

// === impl Scratch ===

impl Scratch {
    fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<Self> {
        let at = scratch_path(path)?;
        crash::point();
        let opened = OpenOptions::new().write(true).create_new(true).mode(mode).open(&at);
        let mut file = opened.with_context(|| write_error(path))?;
        let scratch = Self {
            at: Some(at),
            path: path.to_path_buf(),
        };
        crash::point();
        file.write_all(bytes)
            .and_then(|()| file.sync_all())
            .with_context(|| write_error(path))?;
        Ok(scratch)
    }

    fn rename(mut self) -> Result<()> {
        crash::point();
        if let Some(at) = &self.at {
            fs::rename(at, &self.path).with_context(|| write_error(&self.path))?;
        }
        self.at = None;
        crash::point();
        Ok(())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(at) = &self.at {
            let _ = fs::remove_file(at);
        }
    }
}

/// Writes a file: after a crash the old content is there, or the new one.
///
/// # Errors
/// The directory is missing or not writable, or the disk is full.
pub fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    Scratch::write(path, bytes, mode)?.rename()?;
    sync(parent(path))
}

/// Writes several files into a directory: all under temporary names first, so that a full disk replaces none of them.
///
/// # Errors
/// As [`write()`].
pub fn write_all(directory: &Path, files: &[(String, String)]) -> Result<()> {
    // Directories, on which a rename would fail, are found before the first rename.
    if let Some((name, _)) = files.iter().find(|(name, _)| directory.join(name).is_dir()) {
        bail!("{}: a directory is in its place", write_error(&directory.join(name)));
    }
    let scratch = |(name, text): &(String, String)| Scratch::write(&directory.join(name), text.as_bytes(), 0o600);
    let written = files.iter().map(scratch).collect::<Result<Vec<_>>>()?;
    written.into_iter().try_for_each(Scratch::rename)?;
    sync(directory)
}

/// Makes a directory, and those above it.
///
/// # Errors
/// It cannot be made.
pub fn make_directory(directory: &Path) -> Result<()> {
    let context = || format!("cannot create the directory '{}'", directory.display());
    // The topmost that is missing: its name is in a directory that is there already.
    let missing = |above: &&Path| !above.as_os_str().is_empty() && !above.exists();
    let topmost = directory.ancestors().take_while(missing).last();
    fs::create_dir_all(directory).with_context(context)?;
    match topmost {
        Some(made) => sync(parent(made)),
        None => Ok(()),
    }
}

/// Removes files of a directory, and returns how many there were.
///
/// # Errors
/// One of them cannot be removed.
pub fn remove<'n>(directory: &Path, names: impl Iterator<Item = &'n str>) -> Result<usize> {
    let mut removed = 0;
    for name in names {
        let path = directory.join(name);
        crash::point();
        match fs::remove_file(&path) {
            Ok(()) => removed += 1,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(|| format!("cannot remove '{}'", path.display())),
        }
    }
    crash::point();
    if removed > 0 {
        sync(directory)?;
    }
    Ok(removed)
}

/// Removes temporary files that killed runs left. The caller must hold the lock: files of running processes have such
/// names, too.
///
/// # Errors
/// The directory cannot be read, or a file in it not be removed.
pub fn remove_leftovers(directory: &Path, ours: impl Fn(&str) -> bool) -> Result<()> {
    let unreadable = || format!("cannot read the directory '{}'", directory.display());
    let mut left = Vec::new();
    for entry in fs::read_dir(directory).with_context(unreadable)? {
        let name = entry.with_context(unreadable)?.file_name();
        if let Some(name) = name.to_str().filter(|name| original_name(name).is_some_and(&ours)) {
            left.push(name.to_string());
        }
    }
    remove(directory, left.iter().map(String::as_str)).map(drop)
}

/// The directory that holds a path.
pub fn parent(path: &Path) -> &Path {
    path.parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// A name that no other run and no other write uses, and that tools skip.
pub fn scratch_name(name: &OsStr) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!(".{}.{}-{number}.new", name.to_string_lossy(), std::process::id())
}

/// The name of the file that a scratch file was to become.
fn original_name(scratch: &str) -> Option<&str> {
    let (name, numbers) = scratch.strip_prefix('.')?.strip_suffix(".new")?.rsplit_once('.')?;
    let (process, number) = numbers.split_once('-')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (digits(process) && digits(number)).then_some(name)
}

fn scratch_path(path: &Path) -> Result<PathBuf> {
    let name = path
        .file_name()
        .with_context(|| format!("'{}' is no file name", path.display()))?;
    Ok(path.with_file_name(scratch_name(name)))
}

/// Syncs a directory, so that its names survive a power failure. Some file systems do not support this and return
/// EINVAL, and a directory may be writable but not readable.
fn sync(directory: &Path) -> Result<()> {
    const UNSUPPORTED: [io::ErrorKind; 2] = [io::ErrorKind::InvalidInput, io::ErrorKind::PermissionDenied];
    crash::point();
    match File::open(directory).and_then(|directory| directory.sync_all()) {
        Err(error) if !UNSUPPORTED.contains(&error.kind()) => {
            Err(error).with_context(|| format!("cannot sync the directory '{}'", directory.display()))
        }
        _ => Ok(()),
    }
}

fn write_error(path: &Path) -> String {
    format!("cannot write '{}'", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_leftovers_of_our_own_files_are_removed() {
        let scratch = tempfile::tempdir().unwrap();
        let left = [".a.yaml.17-0.new", ".b.yaml.17-1.new"];
        let kept = [
            ".a.yaml.new",
            ".a.yaml.x-0.new",
            "a.yaml.17-0.new",
            ".c.yaml.17-0.new",
            "a.yaml",
        ];
        left.iter()
            .chain(&kept)
            .for_each(|name| fs::write(scratch.path().join(name), "x").unwrap());
        remove_leftovers(scratch.path(), |name| ["a.yaml", "b.yaml"].contains(&name)).unwrap();
        assert!(left.iter().all(|name| !scratch.path().join(name).exists()));
        assert!(kept.iter().all(|name| scratch.path().join(name).exists()));
        assert_eq!(
            original_name(&scratch_name(OsStr::new("a.b-c.yaml"))),
            Some("a.b-c.yaml")
        );
    }

    #[test]
    fn a_write_that_fails_leaves_no_file() {
        let scratch = tempfile::tempdir().unwrap();
        fs::create_dir(scratch.path().join("taken")).unwrap();
        assert!(write(&scratch.path().join("taken"), b"x", 0o600).is_err());
        let files = [
            ("a".to_string(), "x".to_string()),
            ("taken".to_string(), "x".to_string()),
        ];
        assert!(write_all(scratch.path(), &files).is_err());
        let names: Vec<_> = fs::read_dir(scratch.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["taken"]);
    }
}
