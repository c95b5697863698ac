//! A folder of objects, one file each. What an earlier run for the same deployment wrote there and this one does not is taken away: `kubectl apply -f`
//! would bring back objects that the deployment no longer has. An inventory beside the files says which are ours; no other file is touched.

use crate::files;
use anyhow::{Context, Result};
use boson_document::Tree;
use boson_pipeline::yaml;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const PREFIX: &str = ".boson-";
const SUFFIX: &str = ".files";

/// What a run did to a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Files written.
    pub written: usize,
    /// Files of an earlier run taken away.
    pub removed: usize,
}

/// Writes the objects of a deployment, and takes away what an earlier run wrote for it. All objects are written before anything is removed.
///
/// # Errors
/// The directory cannot be written to.
pub fn write(directory: &Path, deployment: &str, objects: &[Tree]) -> Result<Outcome> {
    let mut written: Vec<(String, String)> = objects.iter().map(file).collect();
    let count = written.len();
    let now: BTreeSet<String> = written.iter().map(|(name, _)| name.clone()).collect();
    let inventory = format!("{PREFIX}{deployment}{SUFFIX}");
    let before = listed(&directory.join(&inventory));
    // After a crash halfway both the old and the new files are still known to be ours.
    written.push((inventory.clone(), text(before.union(&now))));
    files::write_all(directory, &written)?;
    let kept = others(directory, &inventory)?;
    let mut removed = 0;
    for name in before.difference(&now).filter(|name| !kept.contains(*name)) {
        match fs::remove_file(directory.join(name)) {
            Ok(()) => removed += 1,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                return Err(error).with_context(|| format!("cannot remove '{}'", directory.join(name).display()));
            }
        }
    }
    files::write_all(directory, &[(inventory, text(now.iter()))])?;
    Ok(Outcome {
        written: count,
        removed,
    })
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

fn text<'n>(names: impl Iterator<Item = &'n String>) -> String {
    names.map(|name| format!("{name}\n")).collect()
}

/// The files that an inventory lists. Anything but the plain name of a YAML file is passed over: an inventory could have been tampered with.
fn listed(inventory: &Path) -> BTreeSet<String> {
    let plain = |name: &&str| name.ends_with(".yaml") && !name.starts_with('.') && !name.contains(['/', '\\', '\0']);
    let text = fs::read_to_string(inventory).unwrap_or_default();
    text.lines().filter(plain).map(str::to_string).collect()
}

/// Files of other deployments that share the folder.
fn others(directory: &Path, inventory: &str) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(PREFIX) && name.ends_with(SUFFIX) && name != inventory {
            names.extend(listed(&directory.join(name.as_ref())));
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(write(&scratch, "demo", &[a.clone(), b.clone()]).unwrap().removed, 0);
        // Another deployment has an object of the same kind and name.
        write(&scratch, "other", &[b, object("Secret", "c")]).unwrap();
        let outcome = write(&scratch, "demo", std::slice::from_ref(&a)).unwrap();
        assert_eq!(
            outcome,
            Outcome { written: 1, removed: 0 },
            "the other deployment has it, too"
        );
        let wanted = [
            ".boson-demo.files",
            ".boson-other.files",
            "mine.yaml",
            "secret-c.yaml",
            "service-a.yaml",
            "service-b.yaml",
        ];
        assert_eq!(names(&scratch), wanted);
        assert_eq!(write(&scratch, "other", &[a]).unwrap().removed, 2);
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
        assert_eq!(write(&inside, "demo", &[]).unwrap().removed, 0);
        assert!(outside.exists() && inside.join("notes.txt").exists());
        fs::remove_dir_all(scratch).unwrap();
    }

    fn scratch(name: &str) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("boson-folder-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        path
    }
}
