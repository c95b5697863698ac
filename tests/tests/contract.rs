//! Released folders of `wit/` never change. They are listed in `wit/released`: `<folder> <sha256>`; a line is added
//! with each tag. Before the first tag the list is empty, and the contract may still change.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;

fn digest(folder: &Path) -> String {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let mut hasher = Sha256::new();
    for file in files {
        hasher.update(file.file_name().unwrap().as_encoded_bytes());
        hasher.update([0]);
        hasher.update(fs::read(&file).unwrap());
        hasher.update([0]);
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn released_packages_are_frozen() {
    let wit = boson_tests::root().join("wit");
    let list = fs::read_to_string(wit.join("released")).unwrap();
    for line in list.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let (folder, wanted) = line.split_once(' ').expect("a folder and a digest");
        assert_eq!(
            digest(&wit.join(folder)),
            wanted,
            "wit/{folder} was released: put what changes into a new version beside it"
        );
    }
}

#[test]
fn every_package_has_version_1_0_0() {
    let wit = boson_tests::root().join("wit");
    for package in ["types", "ops", "variables", "links", "render", "bpm", "resources"] {
        let text = fs::read_to_string(wit.join(package).join(format!("{package}.wit"))).unwrap();
        assert!(
            text.contains(&format!("package boson:{package}@1.0.0;")),
            "wit/{package}"
        );
    }
}
