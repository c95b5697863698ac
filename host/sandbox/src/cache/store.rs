//! A directory of our own with machine code and components, and a bound on its size.
//!
//! # Guarantees
//! The directory is opened once and checked through its handle: it belongs to this user, and no other user can write to
//! it. All later access uses that handle, so renaming or replacing the path has no effect. A file is used only if this
//! user owns it and no other user can write to it. A process that is killed leaves at most a draft, which the next one
//! removes.

use super::machine_code::scratch_name;
use rustix::fs::{
    AtFlags, Dir, FileType, FsWord, Mode, OFlags, Stat, StatVfsMountFlags, fstat, fstatfs, fstatvfs, open, openat,
    renameat, statat, unlinkat,
};
use std::fs::{self, File};
use std::io::{Error, Result};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::SystemTime;

/// Ending of a file that is being written. Its writer holds a lock on it.
const DRAFT_SUFFIX: &str = ".new";
/// Endings of what is cached: machine code, and components that were made of core modules.
const CACHED_SUFFIXES: [&str; 2] = [".cwasm", ".wasm"];
/// Types of file systems that are memory (Linux).
const TMPFS_MAGIC: FsWord = 0x0102_1994;
const RAMFS_MAGIC: FsWord = 0x8584_58f6;
/// Bits of a mode that let others write.
const OTHERS_WRITE_BITS: u32 = 0o022;

pub(super) struct Store {
    directory: OwnedFd,
    bound: u64,
    /// Whether the files are on a disk, so that the system can drop their mapped pages and read them again.
    on_disk: bool,
}

/// A file that is being written; removed on drop.
pub(super) struct Draft<'s> {
    store: &'s Store,
    name: String,
    file: File,
    kept: bool,
}

/// The least recently used one first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct CachedFile {
    /// Seconds and nanoseconds of its last use.
    used: (i64, u64),
    name: String,
    bytes: u64,
}

// === impl Store ===

impl Store {
    /// Creates the directory where it is missing, and removes drafts of processes that no longer run. `bound`: bytes of
    /// all machine code in it.
    pub(super) fn open(path: &Path, bound: u64) -> Result<Self> {
        fs::DirBuilder::new().mode(0o700).recursive(true).create(path)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = open(path, flags, Mode::empty())?;
        only_ours(&fstat(&directory)?)?;
        let on_disk = is_on_disk(&directory).unwrap_or(false);
        let store = Self {
            directory,
            bound,
            on_disk,
        };
        store.remove_abandoned_drafts();
        Ok(store)
    }

    /// Whether the system can reclaim memory of mapped machine code.
    pub(super) fn is_on_disk(&self) -> bool {
        self.on_disk
    }

    /// Machine code of this name.
    pub(super) fn get(&self, name: &str) -> Option<File> {
        let file = File::from(self.file(name, OFlags::RDONLY).ok()?);
        let stat = fstat(&file).ok()?;
        let usable = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => only_ours(&stat),
            _ => Err(Error::other("it is not a regular file")),
        };
        if let Err(error) = usable {
            tracing::warn!(name, %error, "cached machine code is not used");
            return None;
        }
        // The order of removal when the directory is full.
        let _ = file.set_modified(SystemTime::now());
        Some(file)
    }

    /// A new file for machine code.
    pub(super) fn draft(&self) -> Result<Draft<'_>> {
        loop {
            let name = format!("{}{DRAFT_SUFFIX}", scratch_name());
            let file = File::from(self.file(&name, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)?);
            let draft = Draft {
                store: self,
                name,
                file,
                kept: false,
            };
            // Another process that opens the directory holds it for an instant.
            draft.file.lock()?;
            // Before it was locked, that process may have removed it.
            if fstat(&draft.file)?.st_nlink > 0 {
                return Ok(draft);
            }
        }
    }

    /// Removes machine code of this name, if there is any.
    pub(super) fn remove(&self, name: &str) {
        match unlinkat(&self.directory, name, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => {}
            Err(error) => tracing::warn!(name, %error, "cached machine code cannot be removed"),
        }
    }

    fn file(&self, name: &str, flags: OFlags) -> Result<OwnedFd> {
        let mode = Mode::RUSR | Mode::WUSR;
        // NONBLOCK: a FIFO of this name must not stop us. It has no effect on regular files.
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        Ok(openat(&self.directory, name, flags, mode)?)
    }

    /// Evicts the least recently used code until this many bytes fit.
    fn make_room(&self, bytes: u64) -> Result<()> {
        let names = self.names()?.into_iter();
        let mut files: Vec<CachedFile> = names.filter_map(|name| self.cached_file(name)).collect();
        files.sort();
        let mut total: u64 = files.iter().map(|file| file.bytes).sum();
        for file in files {
            if total.saturating_add(bytes) <= self.bound {
                break;
            }
            self.remove(&file.name);
            total = total.saturating_sub(file.bytes);
        }
        if bytes <= self.bound {
            Ok(())
        } else {
            Err(Error::other(format!("it has more than {} bytes", self.bound)))
        }
    }

    fn cached_file(&self, name: String) -> Option<CachedFile> {
        if !CACHED_SUFFIXES.iter().any(|ending| name.ends_with(ending)) {
            return None;
        }
        let stat = statat(&self.directory, &name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(CachedFile {
            used: (stat.st_mtime, stat.st_mtime_nsec),
            name,
            bytes: u64::try_from(stat.st_size).unwrap_or_default(),
        })
    }

    fn remove_abandoned_drafts(&self) {
        let names = self.names().unwrap_or_default();
        for name in names.iter().filter(|name| name.ends_with(DRAFT_SUFFIX)) {
            let Ok(file) = self.file(name, OFlags::RDONLY).map(File::from) else {
                continue;
            };
            // Locked until it is removed: otherwise its writer could lock it in between.
            if file.try_lock().is_ok() {
                self.remove(name);
            }
        }
    }

    fn names(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.directory)? {
            names.extend(entry?.file_name().to_str().ok().map(str::to_string));
        }
        Ok(names)
    }
}

/// False for a tmpfs, which is in memory, and for a file system from which code cannot be mapped but is copied.
fn is_on_disk(directory: &OwnedFd) -> Result<bool> {
    let in_memory = [TMPFS_MAGIC, RAMFS_MAGIC].contains(&fstatfs(directory)?.f_type);
    let copied = fstatvfs(directory)?.f_flag.contains(StatVfsMountFlags::NOEXEC);
    Ok(!in_memory && !copied)
}

/// Checks that only this user can have written it.
fn only_ours(stat: &Stat) -> Result<()> {
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(Error::other("it belongs to another user"));
    }
    if stat.st_mode & OTHERS_WRITE_BITS != 0 {
        return Err(Error::other("others can write to it"));
    }
    Ok(())
}

// === impl Draft ===

impl Draft<'_> {
    /// The file to write to.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Caches it under this name, atomically.
    pub(super) fn keep(mut self, name: &str) -> Result<()> {
        self.file.sync_all()?;
        self.store.make_room(self.file.metadata()?.len())?;
        renameat(&self.store.directory, &self.name, &self.store.directory, name)?;
        self.kept = true;
        Ok(())
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if !self.kept {
            self.store.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::sync::atomic::{AtomicBool, Ordering};

    fn keep(store: &Store, name: &str, bytes: usize) -> Result<()> {
        let draft = store.draft()?;
        draft.file().write_all(&vec![7; bytes])?;
        draft.keep(name)
    }

    fn names(path: &Path) -> Vec<String> {
        let entries = fs::read_dir(path).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_was_used_longest_ago_makes_room() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("compiled");
        let store = Store::open(&path, 100).unwrap();
        for (name, second) in [("a.cwasm", 1), ("b.cwasm", 2)] {
            keep(&store, name, 40).unwrap();
            let file = File::options().write(true).open(path.join(name)).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(second))
                .unwrap();
        }
        assert!(store.get("a.cwasm").is_some());
        keep(&store, "c.cwasm", 40).unwrap();
        assert_eq!(names(&path), ["a.cwasm", "c.cwasm"]);
        assert!(keep(&store, "huge.cwasm", 101).is_err());
        assert!(!names(&path).contains(&"huge.cwasm".to_string()));
        assert!(!names(&path).iter().any(|name| name.ends_with(DRAFT_SUFFIX)));
    }

    #[test]
    fn drafts_of_dead_processes_are_removed_and_those_of_others_stay() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("compiled");
        let store = Store::open(&path, 100).unwrap();
        fs::write(path.join("dead.new"), "half").unwrap();
        let draft = store.draft().unwrap();
        let other = Store::open(&path, 100).unwrap();
        assert_eq!(names(&path), [draft.name.as_str()]);
        drop((draft, other));
        assert_eq!(names(&path), [""; 0]);
    }

    #[test]
    fn a_new_draft_stays_while_others_open_the_directory() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::open(place.path(), 100).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        Store::open(place.path(), 100).unwrap();
                    }
                });
            }
            let drafts = (0..2000).map(|_| store.draft().map(|draft| place.path().join(&draft.name).exists()));
            let drafts: Result<Vec<bool>> = drafts.collect();
            done.store(true, Ordering::Relaxed);
            assert!(drafts.unwrap().into_iter().all(|exists| exists));
        });
    }

    #[test]
    fn a_directory_that_is_replaced_after_the_check_has_no_effect() {
        let place = tempfile::tempdir().unwrap();
        let (path, aside) = (place.path().join("compiled"), place.path().join("aside"));
        let store = Store::open(&path, 100).unwrap();
        keep(&store, "a.cwasm", 3).unwrap();
        fs::rename(&path, &aside).unwrap();
        fs::create_dir(&path).unwrap();
        fs::write(path.join("a.cwasm"), "evil").unwrap();
        let mut code = Vec::new();
        store.get("a.cwasm").unwrap().read_to_end(&mut code).unwrap();
        assert_eq!(code, [7; 3]);
        keep(&store, "b.cwasm", 3).unwrap();
        assert_eq!(names(&aside), ["a.cwasm", "b.cwasm"]);
    }

    #[test]
    fn what_others_can_write_is_not_used() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("compiled");
        let store = Store::open(&path, 100).unwrap();
        keep(&store, "a.cwasm", 3).unwrap();
        symlink(path.join("a.cwasm"), path.join("link.cwasm")).unwrap();
        assert!(store.get("a.cwasm").is_some() && store.get("link.cwasm").is_none());
        fs::create_dir(path.join("folder.cwasm")).unwrap();
        assert!(store.get("folder.cwasm").is_none());
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        mode(&path.join("a.cwasm"), 0o620);
        assert!(store.get("a.cwasm").is_none());
        mode(&path, 0o777);
        let error = Store::open(&path, 100).map(drop).unwrap_err();
        assert_eq!(error.to_string(), "others can write to it");
        symlink(&path, place.path().join("link")).unwrap();
        assert!(Store::open(&place.path().join("link"), 100).is_err());
    }
}
