//! Comments and pages are at most 120 columns wide. rustfmt does not wrap comments.

use boson_tests::{root, sources};
use std::fs;

const MAX_COLUMNS: usize = 120;

#[test]
fn comments_fit_the_columns() {
    let mut wide = Vec::new();
    for folder in ["host", "plugins", "sdk", "tests"] {
        for file in sources::below(&root().join(folder), "rs").unwrap() {
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
    let pages = sources::below(&root().join("docs"), "md").unwrap();
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
    line.chars().count() > MAX_COLUMNS
}
