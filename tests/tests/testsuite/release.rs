//! The parts of a release that `boson-build` makes: the same sources give the same bytes, in any folder and at any
//! time. `make release` builds all parts; the tests of `cluster chart` show that the chart works.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// Runs `boson-build` in a folder.
fn build(folder: &Path, arguments: &[&str]) {
    let maker = boson_tests::binary().unwrap().with_file_name("boson-build");
    let output = Command::new(maker)
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A copy of a folder, with other times and other permissions of the group.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let path = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &path);
            continue;
        }
        fs::write(&path, fs::read(entry.path()).unwrap()).unwrap();
        let file = File::options().append(true).open(&path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(7))
            .unwrap();
        file.set_permissions(fs::Permissions::from_mode(0o600)).unwrap();
    }
}

/// A folder with the sources of the chart.
fn sources() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["deploy", "crds"] {
        copy(&boson_tests::root().join(name), &folder.path().join(name));
    }
    folder
}

#[test]
fn chart_and_bundle_are_the_same_bytes_from_two_folders() {
    let copied = sources();
    let made = [boson_tests::root(), copied.path().to_path_buf()].map(|folder| {
        let out = tempfile::tempdir().unwrap();
        let path = |name: &str| out.path().join(name).display().to_string();
        build(&folder, &["chart", "--out", &path("chart")]);
        build(
            &folder,
            &[
                "archive",
                "--from",
                &path("chart"),
                "--name",
                "boson",
                "--out",
                &path("chart.tgz"),
            ],
        );
        build(
            &folder,
            &[
                "archive",
                "--from",
                "deploy",
                "--name",
                "deploy",
                "--out",
                &path("deploy.tgz"),
            ],
        );
        ["chart.tgz", "deploy.tgz"].map(|name| fs::read(path(name)).unwrap())
    });
    assert!(made[0] == made[1], "they differ");
}

#[test]
fn only_a_chart_is_replaced() {
    let folder = sources();
    for _ in 0..2 {
        build(folder.path(), &["chart", "--out", "chart"]);
    }
    let maker = boson_tests::binary().unwrap().with_file_name("boson-build");
    let refused = Command::new(maker)
        .args(["chart", "--out", "crds"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("crds exists and is not a chart"));
    assert!(folder.path().join("crds/boshdeployments.yaml").is_file());
}

#[test]
fn an_archive_has_sorted_entries_of_root_from_1970() {
    let folder = tempfile::tempdir().unwrap();
    let from = folder.path().join("from");
    fs::create_dir_all(from.join("bin")).unwrap();
    fs::write(from.join("z"), "text").unwrap();
    fs::write(from.join("bin/host"), "program").unwrap();
    fs::set_permissions(from.join("bin/host"), fs::Permissions::from_mode(0o700)).unwrap();
    symlink("host", from.join("bin/kubectl-boson")).unwrap();
    build(
        folder.path(),
        &["archive", "--from", "from", "--name", "boson-1", "--out", "out.tgz"],
    );
    let file = File::open(folder.path().join("out.tgz")).unwrap();
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(file));
    let mut listed = String::new();
    for entry in archive.entries().unwrap() {
        let entry = entry.unwrap();
        let header = entry.header();
        let of = (header.uid().unwrap(), header.gid().unwrap(), header.mtime().unwrap());
        assert_eq!(of, (0, 0, 0));
        let link = entry.link_name().unwrap().map(|link| format!(" -> {}", link.display()));
        let path = entry.path().unwrap().display().to_string();
        listed.push_str(&format!(
            "{:o} {path}{}\n",
            header.mode().unwrap(),
            link.unwrap_or_default()
        ));
    }
    assert_eq!(
        listed,
        "755 boson-1\n755 boson-1/bin\n755 boson-1/bin/host\n777 boson-1/bin/kubectl-boson -> host\n644 boson-1/z\n"
    );
}

#[test]
fn the_list_of_components_has_every_linked_crate_with_licence_and_digest() {
    let root = boson_tests::root();
    let folder = tempfile::tempdir().unwrap();
    let texts = ["one.json", "two.json"].map(|name| {
        let out = folder.path().join(name).display().to_string();
        let linked = [
            "--package",
            "boson-cli",
            "--package",
            "boson-ops",
            "--with",
            "pkg:generic/glibc@2.41=LGPL-2.1-or-later",
        ];
        let targets = [
            "--target",
            "x86_64-unknown-linux-gnu",
            "--target",
            "wasm32-unknown-unknown",
        ];
        build(&root, &[&["sbom", "--out", &out][..], &linked, &targets].concat());
        fs::read_to_string(out).unwrap()
    });
    assert!(texts[0] == texts[1], "they differ");
    let bom: Value = serde_json::from_str(&texts[0]).unwrap();
    let mut references = BTreeSet::from([bom["metadata"]["component"]["bom-ref"].as_str().unwrap()]);
    for component in bom["components"].as_array().unwrap() {
        let (name, url) = (component["name"].as_str().unwrap(), component["purl"].as_str().unwrap());
        assert!(references.insert(component["bom-ref"].as_str().unwrap()), "{url} twice");
        assert!(
            component["licenses"][0]["expression"].is_string(),
            "no licence: {component}"
        );
        let ours = name.starts_with("boson-") || url.starts_with("pkg:generic/");
        assert_eq!(component["hashes"][0]["content"].is_string(), !ours, "{component}");
    }
    for (name, linked) in [
        ("wasmtime@", true),
        ("wit-bindgen@", true),
        ("glibc@", true),
        ("proptest@", false),
        ("cc@", false),
    ] {
        assert_eq!(
            references.iter().any(|url| url.contains(&format!("/{name}"))),
            linked,
            "{name}"
        );
    }
    for dependency in bom["dependencies"].as_array().unwrap() {
        for on in dependency["dependsOn"].as_array().unwrap() {
            assert!(references.contains(on.as_str().unwrap()), "{on} is no component");
        }
    }
    assert!(!texts[0].contains(root.to_str().unwrap()), "a path of this machine");
}
