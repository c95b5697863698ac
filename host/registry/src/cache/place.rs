//! Directories of layouts in use.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
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
        let _lock = match File::options().write(true).open(path.join("lock")) {
            Ok(lock) if lock.try_lock().is_err() => return Ok(()),
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            lock => lock,
        };
        match fs::remove_dir_all(path) {
            // Its user has just removed it.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_is_dropped_at_the_same_time_is_no_error() {
        let parent = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..500 {
                let place = Place::new(parent.path()).unwrap();
                let path = place.path().to_path_buf();
                let removed = scope.spawn(move || Place::remove_stale(&path));
                drop(place);
                removed.join().unwrap().unwrap();
            }
        });
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn one_whose_lock_cannot_be_opened_stays() {
        let parent = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("lock", parent.path().join("lock")).unwrap();
        Place::remove_stale(parent.path()).unwrap_err();
        assert!(parent.path().is_dir());
    }
}
