//! Every code of the bundle and the plain target is explained.

#![allow(clippy::unwrap_used, reason = "a test that fails says so")]

use boson_pipeline::codes;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn codes_in_the_sources_are_in_the_tables() {
    let mut count = 0;
    for room in ["bundle", "plain"] {
        for file in files(&Path::new("src").join(room)) {
            let text = fs::read_to_string(file).unwrap();
            let quoted = text
                .split('"')
                .filter(|part| part.strip_prefix(room).is_some_and(|rest| rest.starts_with('-')));
            for code in quoted.filter(|part| part.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')) {
                assert!(codes::find(code).is_some(), "{code} is not explained");
                count += 1;
            }
        }
    }
    assert!(count > 20, "only {count} codes found");
}

/// All files below.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, mut all): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    all.extend(folders.iter().flat_map(|folder| files(folder)));
    all
}
