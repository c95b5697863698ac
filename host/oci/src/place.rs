//! What one process uses at a time: directories of image layouts and of builds, and files that are received.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use tempfile::TempDir;

/// A directory that is locked while in use, and deleted at the end. A process that was killed leaves its directory;
/// another one can remove it, because nothing holds its lock.
#[derive(Debug)]
pub struct Place {
    // Dropped first, before the lock is released.
    directory: TempDir,
    _lock: File,
}

// === impl Place ===

impl Place {
    /// Makes one in `parent`. Hold a lock of the parent meanwhile, and while stale ones are removed: otherwise another
    /// process could find a directory that is not locked yet.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn new(parent: &Path) -> io::Result<Self> {
        let directory = tempfile::tempdir_in(parent)?;
        let lock = File::create(directory.path().join("lock"))?;
        lock.lock()?;
        Ok(Self { directory, _lock: lock })
    }

    /// Removes the one at `path`, unless it is in use.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn remove_stale(path: &Path) -> io::Result<()> {
        let _lock = match File::options().write(true).open(path.join("lock")) {
            Ok(lock) if lock.try_lock().is_err() => return Ok(()),
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            // A process that was killed while it deleted its directory may have deleted the lock already.
            lock => lock,
        };
        match fs::remove_dir_all(path) {
            // Its user has just removed it.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Opens a file to continue it, and waits for another process that has locked it. It is locked until it is
/// unlocked or closed.
///
/// # Errors
/// Those of the disk.
pub fn open_locked(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(0o600);
    loop {
        let file = options.open(path)?;
        file.lock()?;
        // The process that held the lock may have used and removed the file.
        if fs::metadata(path).is_ok_and(|there| file.metadata().is_ok_and(|ours| ours.ino() == there.ino())) {
            return Ok(file);
        }
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
    fn a_file_that_its_holder_removed_is_made_again() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("file");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let file = open_locked(&path).unwrap();
                        assert_eq!(fs::metadata(&path).unwrap().ino(), file.metadata().unwrap().ino());
                        fs::remove_file(&path).unwrap();
                    }
                });
            }
        });
    }

    #[test]
    fn one_whose_lock_cannot_be_opened_stays() {
        let parent = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("lock", parent.path().join("lock")).unwrap();
        Place::remove_stale(parent.path()).unwrap_err();
        assert!(parent.path().is_dir());
    }
}
