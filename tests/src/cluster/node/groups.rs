//! The control groups of a node: children of the test's groups, so that a limit on the test also applies to its pods.

use anyhow::{Context, Result};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Shell script that starts a program of the node: it first enters the groups named before `--`.
const ENTER: &str = r#"while [ "$1" != -- ]; do echo $$ >"$1/cgroup.procs" || exit 1; shift; done; shift; exec "$@""#;

/// One group in each hierarchy of this machine.
#[derive(Debug)]
pub(in crate::cluster) struct Groups {
    all: Vec<Group>,
}

#[derive(Debug)]
struct Group {
    /// The controllers of a hierarchy of version 1; `unified` is version 2.
    kind: String,
    path: PathBuf,
}

// === impl Groups ===

impl Groups {
    /// Groups with this name; they are not created yet.
    pub(in crate::cluster) fn named(name: &str) -> Result<Self> {
        let unified = Path::new("/sys/fs/cgroup");
        if unified.join("cgroup.controllers").exists() {
            // At the top: in version 2 a group with controllers can have no processes, and the test's group has
            // processes.
            let path = unified.join(name);
            let kind = "unified".to_string();
            return Ok(Self {
                all: vec![Group { kind, path }],
            });
        }
        let own = fs::read_to_string("/proc/self/cgroup")?;
        let mounts = fs::read_to_string("/proc/self/mountinfo")?;
        let all = own
            .lines()
            .filter_map(|line| {
                let mut fields = line.splitn(3, ':').skip(1);
                let (kind, ours) = (fields.next()?, fields.next()?);
                let path = mounts.lines().find_map(|mount| place(mount, kind, ours))?.join(name);
                let kind = kind.to_string();
                Some(Group { kind, path })
            })
            .collect();
        Ok(Self { all })
    }

    /// Keeps only the control groups that count memory.
    pub(in crate::cluster) fn of_memory(mut self) -> Self {
        let counts = |group: &Group| group.kind == "unified" || group.kind.split(',').any(|kind| kind == "memory");
        self.all.retain(counts);
        self
    }

    pub(in crate::cluster) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.all.iter().map(|group| group.path.as_path())
    }

    pub(super) fn kinds(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|group| group.kind.as_str())
    }

    pub(in crate::cluster) fn make(&self) -> Result<()> {
        for path in self.paths() {
            fs::create_dir(path).with_context(|| format!("cannot make the control group {}", path.display()))?;
            for file in ["cpuset.cpus", "cpuset.mems"] {
                let parent = path.with_file_name(file);
                // Empty in a new group of version 1, which then accepts no process.
                if let Ok(allowed) = fs::read(parent)
                    && path.join("tasks").exists()
                {
                    fs::write(path.join(file), allowed)?;
                }
            }
        }
        Ok(())
    }

    /// The command line that runs a program among the first processes of the node.
    pub(in crate::cluster) fn entering(&self, program: Vec<OsString>) -> Vec<OsString> {
        Self::words(self.paths().map(Into::into), program)
    }

    /// The command line after [`Self::delegate`] was called.
    pub(super) fn joining(&self, program: Vec<OsString>) -> Vec<OsString> {
        Self::words(self.all.iter().map(Group::of_daemons), program)
    }

    fn words(groups: impl Iterator<Item = PathBuf>, program: Vec<OsString>) -> Vec<OsString> {
        let shell = ["sh", "-c", ENTER, "sh"].map(OsString::from);
        let groups = groups.map(OsString::from);
        shell
            .into_iter()
            .chain(groups)
            .chain(["--".into()])
            .chain(program)
            .collect()
    }

    /// Enables controllers for children of the groups.
    pub(super) fn delegate(&self) -> Result<()> {
        for group in self.all.iter().filter(|group| group.kind == "unified") {
            let daemons = group.of_daemons();
            fs::create_dir(&daemons)?;
            for process in fs::read_to_string(group.path.join("cgroup.procs"))?.lines() {
                fs::write(daemons.join("cgroup.procs"), process)?;
            }
            let controllers = fs::read_to_string(group.path.join("cgroup.controllers"))?;
            let wanted: Vec<String> = controllers.split_whitespace().map(|one| format!("+{one}")).collect();
            fs::write(group.path.join("cgroup.subtree_control"), wanted.join(" "))?;
        }
        Ok(())
    }
}

// === impl Group ===

impl Group {
    fn of_daemons(&self) -> PathBuf {
        if self.kind == "unified" {
            self.path.join("daemons")
        } else {
            self.path.clone()
        }
    }
}

/// The path of our group in this hierarchy, if this line of mountinfo is about it.
fn place(mount: &str, kind: &str, ours: &str) -> Option<PathBuf> {
    let (before, after) = mount.split_once(" - ")?;
    let mut before = before.split(' ').skip(3);
    let (root, point) = (before.next()?, before.next()?);
    let mut after = after.split(' ');
    let (system, options) = (after.next()?, after.nth(1)?);
    let has = |one: &str| options.split(',').any(|option| option == one);
    if kind.is_empty() || system != "cgroup" || !kind.split(',').all(has) {
        return None;
    }
    let inner = Path::new(ours).strip_prefix(root).ok()?;
    Some(Path::new(point).join(inner))
}
