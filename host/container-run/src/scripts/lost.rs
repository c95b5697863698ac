//! Finds the files that a pre-start script wrote where only its own container has them.
//!
//! Of the file system, all containers of a pod share its volumes only. So what the script changed elsewhere is lost
//! with its container, and a process that needs it fails without a reason. The search is for the log: it never fails,
//! and it ends early rather than delay the pod.

use std::collections::{HashSet, VecDeque};
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::files;
use crate::output::say::say;
use crate::places::Places;

/// Number of paths that are logged.
const MAX_SHOWN_PATHS: usize = 20;
/// Number of paths that are stored; more are only counted.
const MAX_STORED_PATHS: usize = 1000;
/// Number of files and directories that are looked at. An image has some ten thousand.
const MAX_ENTRIES: usize = 300_000;
/// How long the search may delay the pod.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(1);
/// How long the script may wait for the clock of file systems, which advances every 1 to 10 ms.
const CLOCK_TIMEOUT: Duration = Duration::from_millis(50);

/// Directories for what may be lost, below the root.
const TEMPORARY_DIRECTORIES: [&str; 2] = ["tmp", "var/tmp"];

/// Seconds and nanoseconds, as file systems store the times of files.
type Time = (i64, i64);

/// A search that begins before the script.
#[derive(Debug)]
pub struct Search {
    root: PathBuf,
    packages: PathBuf,
    since: Time,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Lost {
    paths: Vec<PathBuf>,
    count: usize,
    /// Whether some directories were not searched.
    is_partial: bool,
}

// === impl Search ===

impl Search {
    /// Starts now. Nothing is searched if BOSH's directory is not `/var/vcap` of a file system.
    pub fn begin(places: &Places) -> Option<Self> {
        let root = places.file_system()?.to_path_buf();
        let packages = places.vcap("packages");
        Some(Self::of(root, packages))
    }

    /// A file gets the time of a coarse clock, which lags, or the exact time, if another process has just read the one
    /// it had. So what was written before `since` has no later time; what is written once the coarse clock is beyond
    /// it has one.
    fn of(root: PathBuf, packages: PathBuf) -> Self {
        let since = time(ClockId::Realtime);
        let end = Instant::now() + CLOCK_TIMEOUT;
        while time(ClockId::RealtimeCoarse) <= since && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        Self { root, packages, since }
    }

    /// Logs what the script of a job changed since then, and how to keep it.
    pub fn report(&self, job: &str) {
        let lost = self.find();
        if lost.count == 0 {
            return;
        }
        let more = if lost.is_partial { "at least " } else { "" };
        say(&format!(
            "pre-start of job '{job}' changed files that only its own container has; other containers do not see these ({more}{}):",
            lost.count
        ));
        for path in lost.paths.iter().take(MAX_SHOWN_PATHS) {
            say(&format!("  {}", path.to_string_lossy().escape_debug()));
        }
        if lost.count > MAX_SHOWN_PATHS {
            say("  ..");
        }
        for line in self.settings(&lost.paths) {
            say(&line);
        }
    }

    /// The settings of the job that keep files with these paths.
    fn settings(&self, paths: &[PathBuf]) -> Vec<String> {
        let package = |path: &PathBuf| {
            let inner = path.strip_prefix(&self.packages).ok()?;
            let name = inner.components().next()?.as_os_str().to_string_lossy();
            Some(name.escape_debug().to_string())
        };
        let mut packages: Vec<String> = paths.iter().filter_map(package).collect();
        packages.dedup();
        packages.truncate(MAX_SHOWN_PATHS);
        let mut lines = Vec::new();
        if !packages.is_empty() {
            lines.push(format!(
                "to keep files of packages, set the job property quarks.run.writable_packages: [{}]",
                packages.join(", ")
            ));
        }
        if paths.iter().any(|path| package(path).is_none()) {
            lines.push(
                "to run the script in the containers of the job's processes, which then have its files, set the job property quarks.run.pre_start: inline"
                    .into(),
            );
        }
        lines
    }

    /// Searches directories near the root first.
    fn find(&self) -> Lost {
        let end = Instant::now() + SEARCH_TIMEOUT;
        let mut kept = mounts();
        kept.extend(TEMPORARY_DIRECTORIES.map(|inner| self.root.join(inner)));
        let (mut lost, mut entries) = (Lost::default(), 0);
        let mut pending = VecDeque::from([self.root.clone()]);
        while let Some(directory) = pending.pop_front() {
            if entries >= MAX_ENTRIES || Instant::now() >= end {
                lost.is_partial = true;
                break;
            }
            let paths = files::entries(&directory).unwrap_or_default();
            entries += paths.len();
            let count = lost.count;
            let mut has_new = false;
            for path in paths.into_iter().filter(|path| !kept.contains(path)) {
                let Ok(metadata) = fs::symlink_metadata(&path) else {
                    continue;
                };
                let is_changed = self.is_changed(&metadata);
                if metadata.is_dir() {
                    has_new |= is_changed;
                    pending.push_back(path);
                } else if is_changed {
                    lost.add(path);
                }
            }
            let is_changed = fs::symlink_metadata(&directory).is_ok_and(|metadata| self.is_changed(&metadata));
            // Something was removed, or the directory is new and empty.
            if is_changed && !has_new && lost.count == count {
                lost.add(directory.join(""));
            }
        }
        let links = self.links();
        lost.paths = lost.paths.into_iter().map(|path| by_package(&links, path)).collect();
        lost.paths.sort();
        lost
    }

    /// The time of the inode, which no program can set, except for directories: overlayfs copies those above a changed
    /// file, with the time of their content.
    fn is_changed(&self, metadata: &Metadata) -> bool {
        let time = if metadata.is_dir() {
            (metadata.mtime(), metadata.mtime_nsec())
        } else {
            (metadata.ctime(), metadata.ctime_nsec())
        };
        time > self.since
    }

    /// Packages that are links, as in images of releases: where they lead, and the links.
    fn links(&self) -> Vec<(PathBuf, PathBuf)> {
        let entries = fs::read_dir(&self.packages).into_iter().flatten().flatten();
        let link = |link: PathBuf| {
            let target = fs::read_link(&link).ok()?;
            let inner = target.strip_prefix("/").ok()?;
            Some((self.root.join(inner), link))
        };
        entries.filter_map(|entry| link(entry.path())).collect()
    }
}

// === impl Lost ===

impl Lost {
    fn add(&mut self, path: PathBuf) {
        self.count += 1;
        if self.paths.len() < MAX_STORED_PATHS {
            self.paths.push(path);
        }
    }
}

fn by_package(links: &[(PathBuf, PathBuf)], path: PathBuf) -> PathBuf {
    let found = links.iter().find_map(|(target, link)| {
        let inner = path.strip_prefix(target).ok()?;
        Some(link.join(inner))
    });
    found.unwrap_or(path)
}

fn time(clock: ClockId) -> Time {
    let time = clock_gettime(clock);
    (time.tv_sec, time.tv_nsec)
}

/// What is mounted in the container, by path: volumes, and the file systems of the kernel.
fn mounts() -> HashSet<PathBuf> {
    let text = fs::read("/proc/self/mountinfo").unwrap_or_default();
    let mut points: HashSet<PathBuf> = text.split(|byte| *byte == b'\n').filter_map(mount_point).collect();
    points.remove(Path::new("/"));
    points
}

/// The fifth field of a line of mountinfo, in which `\040` is a blank.
fn mount_point(line: &[u8]) -> Option<PathBuf> {
    let field = line.split(|byte| *byte == b' ').nth(4)?;
    let mut parts = field.split(|byte| *byte == b'\\');
    let mut path = parts.next()?.to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(3)?;
        let digits = std::str::from_utf8(digits).ok()?;
        path.push(u8::from_str_radix(digits, 8).ok()?);
        path.extend(rest);
    }
    Some(std::ffi::OsString::from_vec(path).into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn search(root: &Path) -> Search {
        Search::of(root.into(), root.join("var/vcap/packages"))
    }

    fn write(root: &Path, inner: &str) {
        let path = root.join(inner);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, inner).unwrap();
    }

    fn found(search: &Search) -> Vec<String> {
        let lost = search.find();
        assert_eq!((lost.count, lost.is_partial), (lost.paths.len(), false));
        let root = format!("{}/", search.root.display());
        let inner = |path: &PathBuf| path.to_str().unwrap().replace(&root, "");
        lost.paths.iter().map(inner).collect()
    }

    #[test]
    fn what_changed_is_found_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for file in ["etc/old", "etc/changed", "etc/gone/a", "etc/moved", "usr/lib/old"] {
            write(root, file);
        }
        write(root, "var/vcap/packages-src/p/1/bin/old");
        fs::create_dir_all(root.join("var/vcap/packages")).unwrap();
        symlink("/var/vcap/packages-src/p/1", root.join("var/vcap/packages/p")).unwrap();
        let search = search(root);
        assert_eq!(found(&search), [""; 0]);
        write(root, "etc/changed");
        write(root, "etc/new/a");
        write(root, "tmp/a");
        write(root, "var/vcap/packages-src/p/1/etc/a");
        fs::remove_file(root.join("etc/gone/a")).unwrap();
        fs::rename(root.join("etc/moved"), root.join("usr/moved")).unwrap();
        fs::create_dir(root.join("usr/empty")).unwrap();
        symlink("/nowhere", root.join("usr/link")).unwrap();
        assert_eq!(
            found(&search),
            [
                "etc/changed",
                "etc/gone/",
                "etc/new/a",
                "usr/empty/",
                "usr/link",
                "usr/moved",
                "var/vcap/packages/p/etc/a"
            ]
        );
        let lines = search.settings(&search.find().paths);
        assert!(lines[0].ends_with("quarks.run.writable_packages: [p]"), "{lines:?}");
        assert!(lines[1].ends_with("quarks.run.pre_start: inline"), "{lines:?}");
    }

    #[test]
    fn files_with_exact_times_are_older_than_a_search_that_begins_later() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for _ in 0..100 {
            for file in ["a", "b"] {
                write(root, file);
                // The next change gets the exact time.
                fs::metadata(root.join(file)).unwrap();
                write(root, file);
            }
            let search = search(root);
            assert_eq!(found(&search), [""; 0]);
            write(root, "a");
            assert_eq!(found(&search), ["a"]);
        }
    }

    #[test]
    fn mount_points_may_have_blanks() {
        let line = b"36 35 98:0 /mnt1 /mnt\\040a\\134 rw,noatime master:1 - ext3 /dev/root rw,errors=continue";
        assert_eq!(mount_point(line).as_deref(), Some(Path::new("/mnt a\\")));
        assert_eq!(mount_point(b""), None);
        assert!(mounts().contains(Path::new("/proc")));
    }
}
