//! What compilers build by default imports WASI 0.2, and loads. A plugin that reads a file, or its input, fails.

use boson_tests::default_builds::{Build, Change};
use boson_tests::{Ran, host};
use serde_json::Value;
use std::path::Path;

const RUST: &str = "    (object[\"kind\"] ==";
const PYTHON: &str = "        team = ";

/// The component, or `None` if its compiler is not installed.
fn made(build: Build, scratch: &Path, changes: &[Change<'_>]) -> Option<String> {
    if let Some(missing) = build.missing() {
        eprintln!("left out: there is no {missing}");
        return None;
    }
    let component = build.make(scratch, changes).unwrap();
    Some(component.to_str().unwrap().to_string())
}

/// The folder of the plugin has its case.
fn passes(scratch: &Path, component: &str) {
    let cases = "my-labels/cases";
    let ran = host(scratch, ["plugin", "test", component, cases]).unwrap();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.starts_with("ok       example\n\n1 passed"), "{}", ran.stdout);
}

/// `inspect` shows that nothing of WASI is imported by what runs, and its digest, also when it is compiled already.
fn shows_what_runs(scratch: &Path, component: &str) {
    let inspect = || {
        let ran = host(scratch, ["plugin", "inspect", component, "--output", "json"]).unwrap();
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        serde_json::from_str::<Value>(&ran.stdout).unwrap()
    };
    let [first, second] = [inspect(), inspect()];
    assert_eq!(first, second);
    assert!(first["runs"].as_str().unwrap().starts_with("sha256:"), "{first}");
    assert_ne!(first["runs"], first["digest"], "{first}");
    assert!(!first["imports"].to_string().contains("wasi"), "{first}");
    let text = host(scratch, ["plugin", "inspect", component]).unwrap().stdout;
    let runs = format!("{}, with the answers to WASI", first["runs"].as_str().unwrap());
    assert!(text.contains(&runs), "{text}");
}

fn loads(build: Build) {
    let scratch = tempfile::tempdir().unwrap();
    if let Some(component) = made(build, scratch.path(), &[]) {
        passes(scratch.path(), &component);
        shows_what_runs(scratch.path(), &component);
    }
}

/// What the case of a plugin with these changes ends with.
fn changed(build: Build, changes: &[Change<'_>]) -> Option<Ran> {
    let scratch = tempfile::tempdir().unwrap();
    let component = made(build, scratch.path(), changes)?;
    let case = ["run-plugin", &component, "--replay", "my-labels/cases/example"];
    Some(host(scratch.path(), case).unwrap())
}

fn fails(build: Build, from: &str, added: &str, words: &[&str]) {
    let to = format!("{added}{from}");
    fails_with(build, &[Change { from, to: &to }], words);
}

fn fails_with(build: Build, changes: &[Change<'_>], words: &[&str]) {
    let Some(ran) = changed(build, changes) else {
        return;
    };
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    for word in words {
        assert!(ran.stderr.contains(word), "{word}: {}", ran.stderr);
    }
}

/// In one test: all are compiled to the same file.
#[test]
fn the_default_build_of_rust_loads_and_fails_where_it_reads() {
    loads(Build::Rust);
    let file = "    std::fs::read(\"/etc/hostname\").unwrap();\n";
    fails(
        Build::Rust,
        RUST,
        file,
        &["error[plugin-trapped]", "No such file or directory"],
    );
    let input = "    std::io::stdin().read_line(&mut String::new()).unwrap();\n";
    let function = "#[method]input-stream.blocking-read";
    fails(
        Build::Rust,
        RUST,
        input,
        &["active functions: wasi:io/streams@0.2", function],
    );
}

#[test]
fn the_default_builds_of_javascript_load() {
    loads(Build::ComponentizeQjs);
    loads(Build::ComponentizeJs);
    loads(Build::Jco);
}

/// CPython takes random bytes when a function is called first. They are answered once, in the description.
#[test]
fn the_default_build_of_python_loads_and_fails_where_it_reads() {
    loads(Build::ComponentizePy);
    let file = "        open(\"/etc/hostname\")\n";
    fails(
        Build::ComponentizePy,
        PYTHON,
        file,
        &["error[plugin-exception]", "FileNotFoundError"],
    );
    let key = "        import os; os.urandom(16)\n";
    let function = "active functions: wasi:random/random@0.2";
    fails(Build::ComponentizePy, PYTHON, key, &["error[plugin-trapped]", function]);
}

#[test]
fn the_default_build_of_go_loads_and_fails_where_it_reads() {
    loads(Build::Go);
    let package = "\t\"fmt\"\n";
    let decoded = "\tdecode(context.Settings, &settings)\n";
    let read = "\tif _, err := os.ReadFile(\"/etc/hostname\"); err != nil {\n\t\tpanic(err)\n\t}\n";
    let [import, body] = [format!("{package}\t\"os\"\n"), format!("{decoded}{read}")];
    let changes = [
        Change {
            from: package,
            to: &import,
        },
        Change {
            from: decoded,
            to: &body,
        },
    ];
    fails_with(Build::Go, &changes, &["error[plugin-trapped]", "open /etc/hostname"]);
}
