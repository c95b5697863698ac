//! A folder of objects, one file each. Files of earlier runs for the same deployment that are no longer needed are
//! removed: `kubectl apply -f` would recreate objects that the deployment no longer has. An inventory beside the files
//! lists which are ours; no other file is touched.
//!
//! # Guarantees
//! The inventory is written before the files, so it lists each file that a run has written even if the run was killed:
//! the next run removes the rest. Each file holds the old object or the new one, never a part. Runs for the same folder
//! wait for each other.

use crate::files;
use crate::output;
use crate::storage::{Lock, durable};
use anyhow::{Context, Result};
use boson_document::Tree;
use boson_pipeline::yaml;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const INVENTORY_PREFIX: &str = ".boson-";
const INVENTORY_SUFFIX: &str = ".files";
/// Held while a run writes.
const LOCK_FILE: &str = ".boson.lock";
/// The largest inventory, in bytes: far above that of the largest deployment.
const MAX_INVENTORY_BYTES: u64 = 8 << 20;

/// Writes the objects of a deployment, and removes obsolete files of earlier runs for it. All objects are written
/// before anything is removed. Returns how many files were removed.
///
/// # Errors
/// The directory cannot be written to, or an inventory in it cannot be read.
pub fn write(directory: &Path, deployment: &str, objects: &[Tree]) -> Result<usize> {
    durable::make_directory(directory)?;
    let _lock = lock(directory)?;
    let files: Vec<(String, String)> = objects.iter().map(file).collect();
    let now: BTreeSet<String> = files.iter().map(|(name, _)| name.clone()).collect();
    let inventory = format!("{INVENTORY_PREFIX}{deployment}{INVENTORY_SUFFIX}");
    let before = read_inventory(&directory.join(&inventory))?;
    let others = files_of_others(directory, &inventory)?;
    durable::remove_leftovers(directory, |name| {
        name == inventory || before.contains(name) || now.contains(name)
    })?;
    // First: an existing file that is not listed would never be removed.
    let either: BTreeSet<String> = before.union(&now).cloned().collect();
    write_inventory(directory, &inventory, &either, &before)?;
    durable::write_all(directory, &files)?;
    let obsolete = before.difference(&now).filter(|name| !others.contains(*name));
    let removed = durable::remove(directory, obsolete.map(String::as_str))?;
    write_inventory(directory, &inventory, &now, &either)?;
    Ok(removed)
}

fn lock(directory: &Path) -> Result<Lock> {
    let name = directory.display();
    let waiting = || output::eprint(&format!("waiting for another run that writes to '{name}'\n"));
    Lock::acquire(directory.join(LOCK_FILE), waiting).with_context(|| format!("cannot lock the directory '{name}'"))
}

fn file(object: &Tree) -> (String, String) {
    let kind = object.str("kind").unwrap_or_default().to_lowercase();
    let name = object
        .get("metadata")
        .and_then(|metadata| metadata.str("name"))
        .unwrap_or_default();
    (
        format!("{kind}-{name}.yaml"),
        yaml::write_manifest(std::slice::from_ref(object)),
    )
}

/// Writes the inventory if its list changes.
fn write_inventory(
    directory: &Path,
    inventory: &str,
    names: &BTreeSet<String>,
    listed: &BTreeSet<String>,
) -> Result<()> {
    let path = directory.join(inventory);
    if names == listed && path.exists() {
        return Ok(());
    }
    let text: String = names.iter().map(|name| format!("{name}\n")).collect();
    durable::write(&path, text.as_bytes(), 0o600)
}

/// The files that an inventory lists. Anything but the plain name of a YAML file is skipped: an inventory could have
/// been tampered with.
fn read_inventory(inventory: &Path) -> Result<BTreeSet<String>> {
    let unreadable = || format!("cannot read the inventory '{}'", inventory.display());
    let bytes = files::regular(inventory, MAX_INVENTORY_BYTES).with_context(unreadable)?;
    let text = String::from_utf8(bytes.unwrap_or_default()).with_context(unreadable)?;
    let plain = |name: &&str| name.ends_with(".yaml") && !name.starts_with('.') && !name.contains(['/', '\\', '\0']);
    Ok(text.lines().filter(plain).map(str::to_string).collect())
}

/// Files of other deployments that share the folder.
fn files_of_others(directory: &Path, inventory: &str) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(INVENTORY_PREFIX) && name.ends_with(INVENTORY_SUFFIX) && name != inventory {
            names.extend(read_inventory(&directory.join(name.as_ref()))?);
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::crash_at_each_point;

    fn object(kind: &str, name: &str) -> Tree {
        Tree::object()
            .with("kind", kind)
            .with("metadata", Tree::object().with("name", name))
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = entries.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_an_earlier_run_wrote_and_this_one_does_not_is_removed() {
        let scratch = scratch("removed");
        let (a, b) = (object("Service", "a"), object("Service", "b"));
        fs::write(scratch.join("mine.yaml"), "x").unwrap();
        assert_eq!(write(&scratch, "demo", &[a.clone(), b.clone()]).unwrap(), 0);
        // Another deployment has an object of the same kind and name.
        write(&scratch, "other", &[b, object("Secret", "c")]).unwrap();
        let removed = write(&scratch, "demo", std::slice::from_ref(&a)).unwrap();
        assert_eq!(removed, 0, "the other deployment has it, too");
        let wanted = [
            ".boson-demo.files",
            ".boson-other.files",
            "mine.yaml",
            "secret-c.yaml",
            "service-a.yaml",
            "service-b.yaml",
        ];
        assert_eq!(names(&scratch), wanted);
        assert_eq!(write(&scratch, "other", &[a]).unwrap(), 2);
        assert_eq!(
            names(&scratch),
            [".boson-demo.files", ".boson-other.files", "mine.yaml", "service-a.yaml"]
        );
        fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn an_inventory_leads_nowhere_else() {
        let scratch = scratch("tampered");
        let outside = scratch.join("outside.yaml");
        fs::write(&outside, "x").unwrap();
        let inside = scratch.join("inside");
        fs::create_dir(&inside).unwrap();
        fs::write(inside.join("notes.txt"), "x").unwrap();
        fs::write(
            inside.join(".boson-demo.files"),
            "../outside.yaml\nnotes.txt\n/etc/x.yaml\n",
        )
        .unwrap();
        assert_eq!(write(&inside, "demo", &[]).unwrap(), 0);
        assert!(outside.exists() && inside.join("notes.txt").exists());
        fs::remove_dir_all(scratch).unwrap();
    }

    /// Kinds and names of the objects in a folder before the run that is killed, and after it.
    const OLD: [(&str, &str); 3] = [("Service", "a"), ("Service", "b"), ("Secret", "c")];
    const NEW: [(&str, &str); 3] = [("Service", "a"), ("Secret", "d"), ("Job", "e")];

    fn objects(names: &[(&str, &str)], version: &str) -> Vec<Tree> {
        names
            .iter()
            .map(|(kind, name)| object(kind, name).with("version", version))
            .collect()
    }

    #[test]
    fn a_run_that_is_killed_anywhere_leaves_whole_files_that_the_next_one_knows() {
        let prepare = |folder: &Path| {
            write(folder, "demo", &objects(&OLD, "old")).unwrap();
            fs::write(folder.join("mine.yaml"), "x").unwrap();
        };
        let act = |folder: &Path| {
            write(folder, "demo", &objects(&NEW, "new")).unwrap();
        };
        let check = |folder: &Path, at: u32| {
            let ours = names(folder)
                .into_iter()
                .filter(|name| name != "mine.yaml" && !name.starts_with('.'));
            for name in ours {
                let text = fs::read_to_string(folder.join(&name)).unwrap();
                assert!(
                    text.ends_with("version: old\n") || text.ends_with("version: new\n"),
                    "{at}: {name}: {text}"
                );
            }
            // The objects of a third run are neither the old ones nor those of the killed run.
            write(folder, "demo", &objects(&[("Service", "z")], "last")).unwrap();
            assert_eq!(
                names(folder),
                [".boson-demo.files", "mine.yaml", "service-z.yaml"],
                "{at}"
            );
        };
        let test = "folder::tests::a_run_that_is_killed_anywhere_leaves_whole_files_that_the_next_one_knows";
        crash_at_each_point(test, prepare, act, check);
    }

    #[test]
    fn runs_at_the_same_time_wait_for_each_other() {
        let scratch = scratch("together");
        std::thread::scope(|scope| {
            for number in 0..6 {
                let folder = &scratch;
                scope.spawn(move || {
                    let own = format!("own-{number}");
                    for version in ["1", "2", "3"] {
                        write(
                            folder,
                            &format!("d{number}"),
                            &objects(&[("Service", "a"), ("Secret", &own)], version),
                        )
                        .unwrap();
                        write(folder, "shared", &objects(&[("Job", &own)], version)).unwrap();
                    }
                });
            }
        });
        let jobs = names(&scratch).into_iter().filter(|name| name.starts_with("job-"));
        assert_eq!(
            jobs.count(),
            1,
            "of the deployment that all of them write, the last one's"
        );
        assert!(
            names(&scratch)
                .iter()
                .all(|name| !name.ends_with(".new") && !name.ends_with(".lock"))
        );
        fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn an_inventory_that_is_no_regular_file_or_too_large_is_refused() {
        let scratch = scratch("inventory");
        let inventory = scratch.join(".boson-demo.files");
        let refused = |why: &str| {
            let error = format!("{:#}", write(&scratch, "demo", &[object("Service", "a")]).unwrap_err());
            assert!(error.starts_with("cannot read the inventory '"), "{error}");
            assert!(error.contains(why), "{error}");
            assert!(!scratch.join("service-a.yaml").exists());
            fs::remove_file(&inventory).unwrap();
        };
        let fifo = (
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        );
        rustix::fs::mknodat(rustix::fs::CWD, &inventory, fifo.0, fifo.1, 0).unwrap();
        refused("not a regular file");
        std::os::unix::fs::symlink("/dev/zero", &inventory).unwrap();
        refused("");
        fs::File::create(&inventory)
            .unwrap()
            .set_len(MAX_INVENTORY_BYTES + 1)
            .unwrap();
        refused("larger than 8 MiB");
        fs::write(&inventory, b"service-\xff.yaml\n").unwrap();
        refused("invalid utf-8");
        fs::remove_dir_all(scratch).unwrap();
    }

    fn scratch(name: &str) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("boson-folder-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        path
    }
}
