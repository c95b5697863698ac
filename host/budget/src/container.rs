//! The memory limit of this process: the lowest limit of its control groups, of version 2 or 1.

use std::fs;
use std::path::{Path, PathBuf};

/// A limit of at least this size means "no limit": version 1 writes the largest number of pages.
const NO_LIMIT_BYTES: u64 = 1 << 60;
/// If no limit can be determined.
const DEFAULT_MEMORY_BYTES: u64 = 2 << 30;

/// Bytes that this process may take: the limit of its container, or half of the machine's memory where it has none.
pub fn memory() -> u64 {
    let root = Path::new("/");
    limit(root)
        .or_else(|| machine(root).map(|all| all / 2))
        .unwrap_or(DEFAULT_MEMORY_BYTES)
}

/// The limit of the container, if it has one.
fn limit(root: &Path) -> Option<u64> {
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let (groups, mounts) = (read("proc/self/cgroup"), read("proc/self/mountinfo"));
    let limits = groups.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, group) = (fields.next()?, fields.next()?);
        let file = match controllers {
            "" => "memory.max",
            _ if controllers.split(',').any(|one| one == "memory") => "memory.limit_in_bytes",
            _ => return None,
        };
        let (point, directory) = mounts.lines().find_map(|mount| place(mount, controllers, group))?;
        let inside = |path: &Path| root.join(path.strip_prefix("/").unwrap_or(path));
        min_limit(&inside(&point), &inside(&directory), file)
    });
    limits.min()
}

/// The smallest limit on the way from a group up to where its hierarchy is mounted: each holds for all below.
fn min_limit(point: &Path, directory: &Path, file: &str) -> Option<u64> {
    let number = |directory: &Path| -> Option<u64> {
        let text = fs::read_to_string(directory.join(file)).ok()?;
        // Version 2 writes `max`.
        text.trim().parse().ok().filter(|bytes| *bytes < NO_LIMIT_BYTES)
    };
    directory
        .ancestors()
        .take_while(|directory| directory.starts_with(point))
        .filter_map(number)
        .min()
}

/// Mount point of the hierarchy with these controllers, and our group in it, if this line of mountinfo describes it.
fn place(mount: &str, controllers: &str, group: &str) -> Option<(PathBuf, PathBuf)> {
    let (before, after) = mount.split_once(" - ")?;
    let mut before = before.split(' ').skip(3);
    let (root, point) = (before.next()?, PathBuf::from(before.next()?));
    let mut after = after.split(' ');
    let (system, options) = (after.next()?, after.nth(1)?);
    let has = |one: &str| options.split(',').any(|option| option == one);
    let is_ours = match controllers {
        "" => system == "cgroup2",
        _ => system == "cgroup" && controllers.split(',').all(has),
    };
    if !is_ours {
        return None;
    }
    // In a container the mount may begin at our group, or at one that has another name outside.
    let inner = Path::new(group).strip_prefix(root).unwrap_or(Path::new(""));
    let directory = point.join(inner);
    Some((point, directory))
}

/// Memory of the machine, in bytes.
fn machine(root: &Path) -> Option<u64> {
    let text = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with these files.
    fn machine_with(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    const UNIFIED: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

    #[test]
    fn a_container_of_version_2_has_the_limit_of_its_own_root() {
        let root = machine_with(&[
            ("proc/self/cgroup", "0::/\n"),
            ("proc/self/mountinfo", UNIFIED),
            ("sys/fs/cgroup/memory.max", "2147483648\n"),
        ]);
        assert_eq!(limit(root.path()), Some(2 << 30));
    }

    #[test]
    fn the_tightest_of_nested_groups_counts() {
        let files = |inner: &str, outer: &str| {
            let root = machine_with(&[
                ("proc/self/cgroup", "0::/user.slice/run.scope\n"),
                ("proc/self/mountinfo", UNIFIED),
                ("sys/fs/cgroup/user.slice/run.scope/memory.max", inner),
                ("sys/fs/cgroup/user.slice/memory.max", outer),
            ]);
            limit(root.path())
        };
        assert_eq!(files("max\n", "1073741824\n"), Some(1 << 30));
        assert_eq!(files("4096\n", "1073741824\n"), Some(4096));
        assert_eq!(files("max\n", "max\n"), None);
    }

    #[test]
    fn version_1_is_read_from_inside_a_container_and_from_outside() {
        let groups = "4:memory:/kubepods/pod1\n3:cpu,cpuacct:/kubepods/pod1\n0::/\n";
        let mount = |root: &str| format!("35 30 0:31 {root} /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
        let outside = machine_with(&[
            ("proc/self/cgroup", groups),
            ("proc/self/mountinfo", &mount("/")),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            (
                "sys/fs/cgroup/memory/kubepods/pod1/memory.limit_in_bytes",
                "536870912\n",
            ),
        ]);
        assert_eq!(limit(outside.path()), Some(512 << 20));
        let inside = machine_with(&[
            ("proc/self/cgroup", groups),
            ("proc/self/mountinfo", &mount("/kubepods/pod1")),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "268435456\n"),
        ]);
        assert_eq!(limit(inside.path()), Some(256 << 20));
    }

    #[test]
    fn without_a_limit_the_machine_counts() {
        let root = machine_with(&[
            ("proc/self/cgroup", "0::/\n"),
            ("proc/self/mountinfo", UNIFIED),
            ("proc/meminfo", "MemTotal:       16384 kB\nMemFree: 1 kB\n"),
        ]);
        assert_eq!((limit(root.path()), machine(root.path())), (None, Some(16 << 20)));
        assert_eq!(limit(tempfile::tempdir().unwrap().path()), None);
        assert!(memory() > 0);
    }
}
