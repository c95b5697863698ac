//! Allows one run at a time: a lock file beside the files that change.

use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Held until it is dropped. The system releases it however the process ends; the next run reuses the remaining file.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    /// Its lock ends when it is closed.
    _file: File,
}

// === impl Lock ===

impl Lock {
    /// Waits until no other process holds `path`. `waiting` is called once if it has to wait.
    ///
    /// # Errors
    /// The file cannot be made, or its file system has no locks.
    pub fn acquire(path: PathBuf, waiting: impl Fn()) -> io::Result<Self> {
        loop {
            let file = open(&path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    waiting();
                    file.lock()?;
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // The previous holder may have removed the file. Only the file now at the path counts.
            if is_at(&path, &file)? {
                return Ok(Self { path, _file: file });
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Before it is released: afterwards another process may hold the file.
        let _ = fs::remove_file(&self.path);
    }
}

fn open(path: &Path) -> io::Result<File> {
    // Follows no link, and does not block on a named pipe.
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or(0);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o660);
    options.custom_flags(flags);
    match options.open(path) {
        // The file of another user: read permission is enough to lock it.
        Err(denied) if denied.kind() == io::ErrorKind::PermissionDenied => {
            match OpenOptions::new().read(true).custom_flags(flags).open(path) {
                // That user has just removed it, or the directory is not writable, and this fails again.
                Err(error) if error.kind() == io::ErrorKind::NotFound => options.open(path),
                opened => opened,
            }
        }
        opened => opened,
    }
}

fn is_at(path: &Path, file: &File) -> io::Result<bool> {
    let held = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (held.dev(), held.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    #[test]
    fn one_holds_it_at_a_time_and_nothing_is_left() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join(".lock");
        let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let _lock = Lock::acquire(path.clone(), || {}).unwrap();
                        most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(most.into_inner(), 1);
        assert!(!path.exists());
    }

    #[test]
    fn a_file_that_a_killed_process_left_is_taken() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join(".lock");
        fs::write(&path, "").unwrap();
        drop(Lock::acquire(path.clone(), || unreachable!("the lock is free")).unwrap());
        assert!(!path.exists());
    }

    #[test]
    fn a_link_in_its_place_is_not_followed() {
        let scratch = tempfile::tempdir().unwrap();
        let (path, other) = (scratch.path().join(".lock"), scratch.path().join("other"));
        std::os::unix::fs::symlink(&other, &path).unwrap();
        assert!(Lock::acquire(path, || {}).is_err());
        assert!(!other.exists());
    }
}
