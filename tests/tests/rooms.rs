//! The dependency rules of the architecture, checked with `cargo metadata`: which crate may use which.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// All dependencies of a package, direct or not (not for its tests, not for its build script).
fn needs() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--locked"])
        .current_dir(boson_tests::root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let name_of: BTreeMap<&str, &str> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|package| (package["id"].as_str().unwrap(), package["name"].as_str().unwrap()))
        .collect();
    let mut direct: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for node in metadata["resolve"]["nodes"].as_array().unwrap() {
        let normal = node["deps"].as_array().unwrap().iter().filter(|dep| {
            dep["dep_kinds"]
                .as_array()
                .unwrap()
                .iter()
                .any(|kind| kind["kind"].is_null())
        });
        direct.insert(
            node["id"].as_str().unwrap(),
            normal.map(|dep| dep["pkg"].as_str().unwrap()).collect(),
        );
    }
    let ours = metadata["workspace_members"].as_array().unwrap();
    ours.iter()
        .map(|id| {
            (
                name_of[id.as_str().unwrap()].to_string(),
                closure(id.as_str().unwrap(), &direct, &name_of),
            )
        })
        .collect()
}

fn closure(from: &str, direct: &BTreeMap<&str, Vec<&str>>, name_of: &BTreeMap<&str, &str>) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let mut open = direct[from].clone();
    while let Some(id) = open.pop() {
        if seen.insert(id) {
            open.extend(&direct[id]);
        }
    }
    seen.into_iter().map(|id| name_of[id].to_string()).collect()
}

fn allowed_to_see(needs: &BTreeMap<String, BTreeSet<String>>, room: &str) -> BTreeSet<String> {
    needs[room]
        .iter()
        .filter(|name| name.starts_with("boson-"))
        .cloned()
        .collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_string()).collect()
}

#[test]
fn plugins_see_shared_documents_only() {
    let needs = needs();
    for (room, may) in [
        ("boson-document", set(&[])),
        ("boson-manifest", set(&["boson-document"])),
        ("boson-ops", set(&["boson-document"])),
        ("boson-variables", set(&["boson-document", "boson-manifest"])),
        ("boson-links", set(&["boson-document", "boson-manifest"])),
        ("boson-processes", set(&["boson-document"])),
        (
            "boson-bpm",
            set(&["boson-document", "boson-manifest", "boson-processes"]),
        ),
    ] {
        assert_eq!(allowed_to_see(&needs, room), may, "{room}");
        for forbidden in ["wasmtime", "kube", "tokio", "cap-std"] {
            assert!(!needs[room].contains(forbidden), "{room} needs {forbidden}");
        }
    }
}

#[test]
fn rooms_of_the_host_see_what_they_may() {
    let needs = needs();
    let never = |room: &str, forbidden: &[&str]| {
        for name in forbidden {
            assert!(!needs[room].contains(*name), "{room} needs {name}");
        }
    };
    assert_eq!(
        allowed_to_see(&needs, "boson-pipeline"),
        set(&["boson-document", "boson-manifest"])
    );
    never("boson-pipeline", &["tokio", "kube", "wasmtime", "cap-std", "rcgen"]);
    assert_eq!(
        allowed_to_see(&needs, "boson-sandbox"),
        set(&["boson-budget", "boson-document", "boson-manifest", "boson-pipeline"])
    );
    assert_eq!(allowed_to_see(&needs, "boson-budget"), set(&[]));
    never("boson-budget", &["kube", "wasmtime", "tokio"]);
    never("boson-sandbox", &["kube", "k8s-openapi"]);
    // In every container of a pod: small, and without other crates of the host.
    assert_eq!(allowed_to_see(&needs, "boson-container-run"), set(&[]));
    never(
        "boson-container-run",
        &["kube", "wasmtime", "tokio", "saphyr-parser", "clap"],
    );
    never("boson-credentials", &["kube", "wasmtime", "tokio"]);
    never("boson-registry", &["kube", "wasmtime", "openssl", "native-tls"]);
    assert_eq!(allowed_to_see(&needs, "boson-oci"), set(&[]));
    never("boson-oci", &["kube", "wasmtime", "tokio"]);
    never(
        "boson-images",
        &["kube", "wasmtime", "boson-registry", "openssl", "native-tls"],
    );
    // Built-in plugins are used through WIT, never as Rust: otherwise a user's plugin could do less than ours.
    never(
        "boson-cli",
        &[
            "boson-ops",
            "boson-variables",
            "boson-links",
            "boson-bpm",
            "boson-render",
        ],
    );
    assert_eq!(
        allowed_to_see(&needs, "boson-controllers"),
        set(&[
            "boson-budget",
            "boson-document",
            "boson-manifest",
            "boson-pipeline",
            "boson-credentials"
        ])
    );
    never("boson-controllers", &["wasmtime", "boson-sandbox"]);
    assert_eq!(
        allowed_to_see(&needs, "boson-dns"),
        set(&["boson-document", "boson-manifest"])
    );
    never("boson-dns", &["wasmtime", "cap-std"]);
}

#[test]
fn the_pipeline_does_no_input_or_output() {
    let forbidden = [
        "std::fs",
        "std::net",
        "std::process",
        "SystemTime",
        "Instant::now",
        "std::env",
        "println!",
        "eprintln!",
    ];
    let mut open = vec![boson_tests::root().join("host/pipeline/src")];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for word in forbidden {
            assert!(!code.contains(word), "{} uses {word}", path.display());
        }
    }
}
