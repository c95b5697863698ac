//! Which files are followed: `*.log` in `/var/vcap/sys/log`, and one and two levels deeper, as BOSH's logrotate has
//! them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::description::{Description, jobs};
use crate::places::Places;

/// How deep directories are searched.
const MAX_DEPTH: usize = 3;
/// Scripts whose output is in a container's log.
const LOGGED_SCRIPTS: [&str; 5] = ["pre-start", "post-start", "pre-stop", "post-stop", "post-deploy"];

/// The names of files whose content other containers send.
#[derive(Debug)]
pub struct Names {
    places: Places,
    /// Jobs whose description was read.
    jobs: BTreeSet<String>,
    sent: BTreeSet<String>,
}

// === impl Names ===

impl Names {
    /// By the descriptions of the pod's processes, which are written after this container has started and before any
    /// process starts.
    pub fn new(places: &Places) -> Self {
        Self {
            places: places.clone(),
            jobs: BTreeSet::new(),
            sent: BTreeSet::new(),
        }
    }

    /// The files below this directory, by their paths from there.
    pub fn find(&mut self, root: &Path) -> BTreeSet<String> {
        self.read_descriptions();
        let mut found = BTreeSet::new();
        self.walk(root, "", 1, &mut found);
        found
    }

    fn read_descriptions(&mut self) {
        for job in jobs(&self.places) {
            if self.jobs.contains(&job) {
                continue;
            }
            // One that is not complete yet is read again.
            let Ok(description) = Description::read(&self.places, &job) else {
                continue;
            };
            let by_bpm = description.processes.iter().filter(|process| process.monit.is_none());
            let processes = by_bpm.map(|process| process.name.as_str());
            for program in processes.chain(LOGGED_SCRIPTS) {
                self.sent
                    .extend(["stdout", "stderr"].map(|word| format!("{job}/{program}.{word}.log")));
            }
            self.jobs.insert(job);
        }
    }

    /// Follows no links: a job may link a directory to itself.
    fn walk(&self, directory: &Path, prefix: &str, depth: usize, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let Ok(kind) = entry.file_type() else { continue };
            let path = format!("{prefix}{name}");
            if kind.is_dir() && depth < MAX_DEPTH {
                self.walk(&entry.path(), &format!("{path}/"), depth + 1, found);
            } else if kind.is_file() && name.ends_with(".log") && !self.sent.contains(&path) {
                found.insert(path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_as_by_logrotate_but_not_those_that_are_sent() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir_all(root.join("a/b/c")).unwrap();
        for name in [
            "top.log",
            "a/one.log",
            "a/.hidden.log",
            "a/b/two.log",
            "a/b/c/three.log",
            "a/x.txt",
            "a/a.stdout.log",
        ] {
            fs::write(root.join(name), "").unwrap();
        }
        std::os::unix::fs::symlink(root, root.join("a/self")).unwrap();
        let mut names = Names {
            sent: BTreeSet::from(["a/a.stdout.log".to_string()]),
            ..Names::new(&Places::new())
        };
        let found: Vec<String> = names.find(root).into_iter().collect();
        assert_eq!(found, ["a/.hidden.log", "a/b/two.log", "a/one.log", "top.log"]);
    }
}
