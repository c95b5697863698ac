//! Plugins for version 1.0.0 of the contract in four languages, `tests/contract/1.0.0`: built for the released files of
//! `wit/`, all give the reply that was recorded when they were written. They stay as they are in later versions.

use super::{has, has_target, run, target};
use boson_tests::{copy, host, root};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A copy of the plugin in a language, with the interface of version 1.0.0, and its folder.
fn plugin(language: &str) -> (TempDir, PathBuf) {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join(language);
    copy(&root().join("tests/contract/1.0.0").join(language), &folder).unwrap();
    for (package, place) in [("checks", "wit"), ("types", "wit/deps/types")] {
        let place = folder.join(place);
        fs::create_dir_all(&place).unwrap();
        let file = format!("{package}.wit");
        fs::copy(
            root().join("wit").join(package).join("1.0.0").join(&file),
            place.join(file),
        )
        .unwrap();
    }
    (scratch, folder)
}

fn replies_as_recorded(component: &Path) {
    let cases = root().join("tests/contract/1.0.0/cases");
    let ran = host(
        &root(),
        [
            "plugin".as_ref(),
            "test".as_ref(),
            component.as_os_str(),
            cases.as_os_str(),
        ],
    )
    .unwrap();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stdout.starts_with("ok       checks-check\n\n1 passed"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_plugin_for_1_0_0_in_rust_replies_as_recorded() {
    if !has_target() {
        return;
    }
    let (_scratch, folder) = plugin("rust");
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let target = target();
    run(Command::new(env!("CARGO"))
        .args(["build", "--release", "--offline", "--target", "wasm32-unknown-unknown"])
        .current_dir(&folder)
        .env("CARGO_TARGET_DIR", &target));
    replies_as_recorded(&target.join("wasm32-unknown-unknown/release/first.wasm"));
}

#[test]
fn a_plugin_for_1_0_0_in_javascript_replies_as_recorded() {
    if !has("componentize-qjs") {
        return;
    }
    let (_scratch, folder) = plugin("js");
    let arguments = "--sync --wit wit --world checks --js plugin.js --output first.wasm";
    run(Command::new("componentize-qjs")
        .args(arguments.split(' '))
        .current_dir(&folder));
    replies_as_recorded(&folder.join("first.wasm"));
}

#[test]
fn a_plugin_for_1_0_0_in_python_replies_as_recorded() {
    if !has("componentize-py") {
        return;
    }
    let (_scratch, folder) = plugin("python");
    let arguments = "-d wit -w checks componentize --stub-wasi plugin -o first.wasm";
    run(Command::new("componentize-py")
        .args(arguments.split(' '))
        .current_dir(&folder));
    replies_as_recorded(&folder.join("first.wasm"));
}

#[test]
fn a_plugin_for_1_0_0_in_go_replies_as_recorded() {
    if !has("wit-bindgen") {
        return;
    }
    let (_scratch, folder) = plugin("go");
    run(Command::new("wit-bindgen")
        .args(["go", "--world", "boson:checks/checks@1.0.0", "wit"])
        .current_dir(&folder));
    run(Command::new("go").args(["mod", "tidy"]).current_dir(&folder));
    let arguments = "build -buildmode=c-shared -ldflags=-checklinkname=0 -o first.wasm";
    run(Command::new("go")
        .args(arguments.split(' '))
        .current_dir(&folder)
        .envs([("GOOS", "wasip1"), ("GOARCH", "wasm")]));
    replies_as_recorded(&folder.join("first.wasm"));
}
