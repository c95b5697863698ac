//! Comments and pages are at most 120 columns wide. rustfmt does not wrap comments.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use boson_tests::root;
use std::fs;
use std::path::{Path, PathBuf};

const COLUMNS: usize = 120;

#[test]
fn comments_fit_the_columns() {
    let mut wide = Vec::new();
    for folder in ["host", "plugins", "sdk", "tests"] {
        for file in files(&root().join(folder), "rs") {
            let text = fs::read_to_string(&file).unwrap();
            let comments = text
                .lines()
                .zip(1..)
                .filter(|(line, _)| line.trim_start().starts_with("//"));
            wide.extend(
                comments
                    .filter(|(line, _)| is_wide(line))
                    .map(|(_, line)| (file.clone(), line)),
            );
        }
    }
    assert!(wide.is_empty(), "wrap these comments: {wide:#?}");
}

/// Except tables, whose rows cannot be wrapped, listings, which show what a program prints, and the page that is
/// generated from `wit/`.
#[test]
fn pages_fit_the_columns() {
    let mut wide = Vec::new();
    let pages = files(&root().join("docs"), "md");
    for file in pages
        .into_iter()
        .filter(|file| !file.ends_with("reference/plugin-interface.md"))
    {
        let text = fs::read_to_string(&file).unwrap();
        let mut is_listing = false;
        for (line, number) in text.lines().zip(1..) {
            let start = line.trim_start();
            is_listing ^= start.starts_with("```");
            if !is_listing && !start.starts_with('|') && is_wide(line) {
                wide.push((file.clone(), number));
            }
        }
    }
    assert!(wide.is_empty(), "wrap these paragraphs: {wide:#?}");
}

fn is_wide(line: &str) -> bool {
    line.chars().count() > COLUMNS
}

/// The files below `folder` with this extension, except generated ones.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, mut all): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    all.retain(|path| path.extension().is_some_and(|found| found == extension));
    let sources = folders
        .iter()
        .filter(|folder| !["target", "node_modules"].iter().any(|name| folder.ends_with(name)));
    all.extend(sources.flat_map(|folder| files(folder, extension)));
    all
}
