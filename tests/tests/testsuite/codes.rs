//! Codes of diagnostics that `host explain` explains: the sources report each of them.

use boson_tests::{root, sources};
use std::collections::HashSet;
use std::fs;

#[test]
fn every_explained_code_is_reported() {
    let (mut declared, mut words) = (Vec::new(), HashSet::new());
    for file in ["host", "plugins"]
        .iter()
        .flat_map(|folder| sources::below(&root().join(folder), "rs").unwrap())
    {
        let text = fs::read_to_string(&file).unwrap();
        for line in text.lines() {
            match constant(line).filter(|_| file.ends_with("codes.rs")) {
                Some(constant) => declared.push(constant.to_string()),
                None => words.extend(
                    line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                        .map(str::to_string),
                ),
            }
        }
    }
    assert!(declared.len() > 300, "only {} codes were found", declared.len());
    declared.retain(|constant| !words.contains(constant));
    assert!(declared.is_empty(), "delete their explanations: {declared:?}");
}

/// The constant that a line of a table declares: `NAME = "code", ..`.
fn constant(line: &str) -> Option<&str> {
    let (constant, _) = line.strip_prefix("    ")?.split_once(" = \"")?;
    constant
        .starts_with(|c: char| c.is_ascii_uppercase())
        .then_some(constant)
}
