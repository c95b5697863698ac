//! What a released version of the contract promises. Its packages never change: `wit/released` lists them with their
//! digests, a line for each folder. Documents keep their members. Plugins that were built for it load in every later
//! host of the major version, and a later version can add something.

mod documents;
mod plugins;

use boson_tests::{copy, root};
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What to do when a test of this file fails.
const RELEASED: &str = "was released and never changes: undo this change. What is new goes into the next version, \
                        beside it: new interfaces, or members of `more` (docs/plugins.md, Versions)";

/// The digest of the WIT files of a folder, with their names.
fn digest(folder: &Path) -> String {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files
        .filter(|file| file.extension().is_some_and(|end| end == "wit"))
        .collect();
    files.sort();
    let mut hasher = Sha256::new();
    for file in files {
        hasher.update(file.file_name().unwrap().as_encoded_bytes());
        hasher.update([0]);
        hasher.update(fs::read(&file).unwrap());
        hasher.update([0]);
    }
    HEXLOWER.encode(&hasher.finalize())
}

#[test]
fn released_packages_never_change() {
    let wit = root().join("wit");
    let list = fs::read_to_string(wit.join("released")).unwrap();
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    let released: BTreeMap<&str, &str> = lines.map(|line| line.split_once(' ').unwrap()).collect();
    for (folder, wanted) in &released {
        assert_eq!(digest(&wit.join(folder)), *wanted, "wit/{folder} {RELEASED}");
    }
    for package in boson_tests::folders(&wit).unwrap() {
        let folder = format!("{}/1.0.0", package.file_name().unwrap().display());
        assert!(
            released.contains_key(folder.as_str()),
            "wit/{folder} is not in wit/released"
        );
    }
}

#[test]
fn each_byte_of_a_package_counts() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    copy(&root().join("wit/links/1.0.0"), folder).unwrap();
    let before = digest(folder);
    fs::write(folder.join("resolved-group.schema.json"), "{}").unwrap();
    assert_eq!(digest(folder), before, "schemas may get members");
    let text = fs::read_to_string(folder.join("links.wit")).unwrap();
    fs::write(folder.join("links.wit"), text.replacen("/// A job", "/// One job", 1)).unwrap();
    assert_ne!(digest(folder), before, "a comment");
    fs::write(folder.join("links.wit"), text).unwrap();
    fs::write(folder.join("more.wit"), "").unwrap();
    assert_ne!(digest(folder), before, "another file");
}
