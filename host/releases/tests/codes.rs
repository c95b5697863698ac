//! Every code of releases is explained.

#![allow(clippy::unwrap_used, reason = "a test that cannot read its sources fails")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn codes_are_explained_and_explanations_are_of_codes() {
    let here = Path::new(".");
    let mut used = BTreeSet::new();
    for folder in ["src", "../pipeline/src/release"] {
        for entry in fs::read_dir(here.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().is_some_and(|name| name == "codes.rs") {
                continue;
            }
            let text = fs::read_to_string(path).unwrap();
            let quoted = text
                .split('"')
                .filter(|part| part.starts_with("release-") && !part.contains([' ', '.', '{']));
            used.extend(quoted.map(str::to_owned));
        }
    }
    let explained: BTreeSet<String> = boson_pipeline::release::CODES
        .iter()
        .map(|code| code.name.to_owned())
        .collect();
    assert_eq!(used, explained);
}
