//! `.ci/programs` lists each program that scripts, tests and plugin templates call, so that `.ci/setup` installs or
//! names it before anything is built. Scripts in strings of Rust are not searched: `make fresh` runs them on a bare
//! system.

mod shell;

use boson_tests::{root, sources};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What comes before the name of a program in Rust.
const CALLS: [&str; 6] = [
    "Command::new(\"",
    ".run([\"",
    "command_under(&[\"",
    "nsenter = [\"",
    " output(\"",
    " tool(\"",
];

/// The programs of `.ci/programs`: after the part, in all columns, because the package of a program often has its name.
fn listed() -> BTreeSet<String> {
    let text = fs::read_to_string(root().join(".ci/programs")).unwrap();
    let lines = text.lines().filter_map(|line| line.split('#').next());
    let words = lines.flat_map(|line| line.split_whitespace().skip(1));
    words.map(str::to_string).collect()
}

/// Where each program is called that no line lists.
fn missing(calls: impl IntoIterator<Item = (PathBuf, BTreeSet<String>)>) -> BTreeMap<String, PathBuf> {
    let listed = listed();
    let all = calls
        .into_iter()
        .flat_map(|(file, names)| names.into_iter().map(move |name| (name, file.clone())));
    all.filter(|(name, _)| !listed.contains(name)).collect()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// The scripts under `.ci`, and what else a shell reads.
fn scripts() -> Vec<(PathBuf, String)> {
    let ci = fs::read_dir(root().join(".ci")).unwrap();
    let ci = ci.map(|entry| entry.unwrap().path());
    let scripts = ci.filter(|path| !path.ends_with("programs")).map(|path| {
        let text = read(&path);
        (path, text)
    });
    let others = ["sh", "in"].iter().flat_map(|extension| {
        let folders = ["tests", "host/plugin-tools/templates"].map(|folder| root().join(folder));
        folders
            .into_iter()
            .flat_map(|folder| sources::below(&folder, extension).unwrap())
    });
    let makefiles = others.chain([root().join("Makefile")]).filter_map(|path| {
        let name = path.file_name()?.to_str()?.to_string();
        let text = read(&path);
        let script = match name.as_str() {
            "Makefile" | "Makefile.in" => shell::recipes(&text),
            _ if name.ends_with(".sh") => text,
            _ => return None,
        };
        Some((path, script))
    });
    scripts.chain(makefiles).collect()
}

#[test]
fn every_program_that_a_script_calls_is_listed() {
    let scripts = scripts();
    assert!(scripts.len() > 15, "only {} scripts were found", scripts.len());
    let functions: BTreeSet<String> = scripts
        .iter()
        .flat_map(|(_, text)| shell::calls(text).defined)
        .collect();
    let calls = scripts.iter().map(|(path, text)| {
        let called = shell::calls(text).called;
        (path.clone(), called.difference(&functions).cloned().collect())
    });
    let missing = missing(calls);
    assert!(missing.is_empty(), "add them to .ci/programs: {missing:#?}");
}

#[test]
fn every_program_that_a_test_calls_is_listed() {
    let (mut calls, mut found) = (Vec::new(), BTreeSet::new());
    for file in ["host", "tests"].map(|folder| root().join(folder)) {
        for file in sources::below(&file, "rs").unwrap() {
            if file.starts_with(root().join("tests/tests/testsuite/programs")) {
                continue;
            }
            let text = read(&file);
            let mut names = BTreeSet::new();
            for call in CALLS {
                for rest in text.split(call).skip(1) {
                    let name = rest.split('"').next().unwrap();
                    names.insert(name.rsplit('/').next().unwrap().to_string());
                    found.insert(call);
                }
            }
            calls.push((file, names));
        }
    }
    assert_eq!(found, BTreeSet::from(CALLS), "delete those that nothing uses");
    let missing = missing(calls);
    assert!(missing.is_empty(), "add them to .ci/programs: {missing:#?}");
}
