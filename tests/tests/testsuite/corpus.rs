//! Compares the answers of `host` with BOSH's, recorded in `tests/corpus`; with CORPUS set, with the `*.jsonl` files of
//! that folder.

use boson_pipeline::yaml;
use boson_tests::corpus::{self, Count, interpolations, templates};
use boson_tests::root;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Number of differences that are shown for a folder of releases.
const MAX_SHOWN_DIFFERENCES: usize = 10;

#[test]
fn templates_are_rendered_as_bosh_renders_them() {
    let count = templates(&recorded("templates.jsonl")).unwrap();
    assert!(count.is_perfect(), "{}", count.report("templates", usize::MAX));
}

#[test]
fn manifests_are_interpolated_as_bosh_interpolates_them() {
    let count = interpolations(&recorded("interpolate.jsonl")).unwrap();
    assert!(count.is_perfect(), "{}", count.report("interpolate", usize::MAX));
}

/// yaml.v2 reads a text and writes it again.
#[test]
fn yaml_is_read_and_written_as_yaml_v2_does() {
    let mut count = Count::default();
    for one in corpus::cases(&recorded("yaml.jsonl")).unwrap() {
        let text = one["text"].as_str().unwrap();
        let written = yaml::read("", text).map(|document| yaml::write(&document.tree));
        let wanted = one.get("output").and_then(Value::as_str);
        let difference = match (wanted, &written) {
            (Some(wanted), Ok(written)) if wanted == written => None,
            (None, Err(_)) => None,
            _ => Some(format!("wanted {wanted:?}, got {written:?}")),
        };
        count.add(text, difference);
    }
    assert!(count.is_perfect(), "{}", count.report("yaml", usize::MAX));
}

#[test]
#[ignore = "`make corpus` fills the folder in $CORPUS and runs it"]
fn a_folder_of_releases() {
    let folder = PathBuf::from(std::env::var_os("CORPUS").expect("$CORPUS: a folder"));
    let mut all = Count::default();
    let mut table = Vec::new();
    for file in files(&folder) {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let count = templates(&file).unwrap();
        table.push(count.report(&name, MAX_SHOWN_DIFFERENCES));
        all.merge(count);
    }
    let report = format!("{}\n{}", table.join("\n"), all.report("total", 0));
    assert!(all.is_perfect(), "\n{report}");
    eprintln!("{report}");
}

fn recorded(name: &str) -> PathBuf {
    root().join("tests/corpus").join(name)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .collect();
    files.sort();
    files
}
