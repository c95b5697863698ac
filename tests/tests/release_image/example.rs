//! The releases of `docs/examples/nats`: their files are those of the final versions that the manifest wants.

use crate::workspace::Workspace;
use boson_tests::{compare, folders, root};
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const RELEASES: [(&str, &str); 2] = [("messaging", "1.4.0"), ("smoke", "0.3.1")];

/// BLESS=1 records the fingerprints of what was changed. A real release would get a new version instead.
#[test]
fn the_manifests_of_final_versions_have_the_fingerprints_of_their_files() {
    for (name, version) in RELEASES {
        let release = root().join("docs/examples/nats/releases").join(name);
        let file = release.join(format!("releases/{name}/{name}-{version}.yml"));
        compare(&file, &manifest(&release, name, version)).unwrap();
    }
}

#[test]
fn their_images_have_the_names_that_the_manifest_wants() {
    let workspace = Workspace::new();
    let example = root().join("docs/examples/nats");
    let path = |path: &str| example.join(path).display().to_string();
    let made = workspace.made(&[
        "--manifest",
        &path("manifest.yml"),
        "--release",
        &path("releases/messaging"),
        "--release",
        &path("releases/smoke"),
        "--registry",
        "r.example",
        "--context",
        "build",
    ]);
    let mut names: Vec<&str> = made.lines().collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "r.example/messaging:ubuntu-jammy-1.584-1.4.0",
            "r.example/smoke:ubuntu-jammy-1.584-0.3.1"
        ]
    );
}

/// As `bosh create-release --final` writes it, as far as conversions read it.
fn manifest(release: &Path, name: &str, version: &str) -> String {
    let mut text = format!(
        "# Fingerprints of version {version}: with other content, the version would be a dev version.\n\
         name: {name}\nversion: {version}\njobs:\n"
    );
    for job in folders(&release.join("jobs")).unwrap() {
        let file = |path: &str, from: &str| part(path, &job.join(from), true);
        let mut parts = vec![file("job.MF", "spec"), file("monit", "monit")];
        parts.extend(below(&job, "templates"));
        text.push_str(&entry(&job, parts));
    }
    text.push_str("packages:\n");
    for package in folders(&release.join("packages")).unwrap() {
        let source = format!("{}", package.file_name().unwrap().display());
        let mut parts = below(&release.join("src"), &source);
        parts.push(part("packaging", &package.join("packaging"), false));
        text.push_str(&entry(&package, parts));
    }
    text
}

fn entry(directory: &Path, mut parts: Vec<(String, String)>) -> String {
    parts.sort();
    let all: String = parts.into_iter().map(|(path, rest)| path + &rest).collect();
    let fingerprint = HEXLOWER.encode(&Sha256::digest(format!("v2{all}")));
    let name = directory.file_name().unwrap().display();
    format!("- {{name: {name}, fingerprint: {fingerprint}}}\n")
}

/// The files below a folder of a directory, with their paths in the directory.
fn below(directory: &Path, folder: &str) -> Vec<(String, String)> {
    let mut parts = Vec::new();
    for entry in fs::read_dir(directory.join(folder)).unwrap() {
        let path = entry.unwrap().path();
        let inner = path.strip_prefix(directory).unwrap().display().to_string();
        if path.is_dir() {
            parts.extend(below(directory, &inner));
        } else {
            parts.push(part(&inner, &path, true));
        }
    }
    parts
}

/// A file: its path, and its digest with its mode.
fn part(path: &str, file: &Path, with_mode: bool) -> (String, String) {
    let digest = HEXLOWER.encode(&Sha256::digest(fs::read(file).unwrap()));
    let executable = fs::metadata(file).unwrap().permissions().mode() & 0o111 != 0;
    let mode = match (with_mode, executable) {
        (false, _) => "",
        (true, true) => "100755",
        (true, false) => "100644",
    };
    (path.to_string(), format!("sha256:{digest}{mode}"))
}
