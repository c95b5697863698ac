//! Directories of layouts in use.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use tempfile::TempDir;

/// A directory that is locked while in use, so that directories of killed processes can be detected.
#[derive(Debug)]
pub(crate) struct Place {
    // Dropped first, before the lock is released.
    directory: TempDir,
    _lock: File,
}

// === impl Place ===

impl Place {
    /// Makes one in `parent`.
    pub(crate) fn new(parent: &Path) -> io::Result<Self> {
        let directory = tempfile::tempdir_in(parent)?;
        let lock = File::create(directory.path().join("lock"))?;
        lock.lock()?;
        Ok(Self { directory, _lock: lock })
    }

    /// Removes the one at `path`, unless it is in use.
    pub(crate) fn remove_stale(path: &Path) -> io::Result<()> {
        match File::options().write(true).open(path.join("lock")) {
            Ok(lock) if lock.try_lock().is_err() => Ok(()),
            _ => fs::remove_dir_all(path),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}
