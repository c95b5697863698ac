//! The dependency rules of the architecture, checked with cargo: what each crate of the workspace may use.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// A crate of the workspace.
struct Crate {
    name: &'static str,
    /// The crates of the workspace that it uses, directly or not.
    uses: &'static [&'static str],
    /// Other crates that it must not use, directly or not.
    never: &'static [&'static str],
}

/// Input and output, and the runtimes of plugins and tasks.
const OUTSIDE: &[&str] = &["cap-std", "kube", "tokio", "wasmtime"];
/// The client of the API server.
const CLIENT: &[&str] = &["hyper", "kube-client", "kube-runtime", "tokio"];

/// All crates of the workspace, each after those that it uses.
const CRATES: &[Crate] = &[
    // === plugins: pure rules, and what they share with the host ===
    member("boson-document", &[], OUTSIDE),
    member("boson-contract", &["boson-document"], OUTSIDE),
    member("boson-manifest", &["boson-contract", "boson-document"], OUTSIDE),
    member("boson-processes", &["boson-document"], OUTSIDE),
    member("boson-fields", &["boson-document"], OUTSIDE),
    member("boson-ops", &["boson-contract", "boson-document"], OUTSIDE),
    member(
        "boson-variables",
        &["boson-contract", "boson-document", "boson-manifest"],
        OUTSIDE,
    ),
    member(
        "boson-links",
        &["boson-contract", "boson-document", "boson-manifest"],
        OUTSIDE,
    ),
    member(
        "boson-bpm",
        &[
            "boson-contract",
            "boson-document",
            "boson-fields",
            "boson-manifest",
            "boson-processes",
        ],
        OUTSIDE,
    ),
    member("boson-render", &[], &["cap-std", "kube", "tokio"]),
    // === conversion ===
    member("boson-allocator", &[], OUTSIDE),
    member("boson-budget", &[], OUTSIDE),
    member(
        "boson-pipeline",
        &["boson-contract", "boson-document", "boson-fields", "boson-manifest"],
        OUTSIDE,
    ),
    member(
        "boson-sandbox",
        &[
            "boson-budget",
            "boson-contract",
            "boson-document",
            "boson-fields",
            "boson-manifest",
            "boson-oci",
            "boson-pipeline",
        ],
        &["kube", "k8s-openapi"],
    ),
    // Of the contract it has the text of `wit/` only.
    member("boson-componentize", &[], OUTSIDE),
    member("boson-credentials", &["boson-document"], OUTSIDE),
    member("boson-signatures", &[], OUTSIDE),
    // === releases and images ===
    member("boson-oci", &[], OUTSIDE),
    member(
        "boson-releases",
        &[
            "boson-contract",
            "boson-document",
            "boson-fields",
            "boson-manifest",
            "boson-oci",
            "boson-pipeline",
        ],
        &["kube", "tokio", "wasmtime"],
    ),
    member(
        "boson-registry",
        &[
            "boson-contract",
            "boson-document",
            "boson-fields",
            "boson-manifest",
            "boson-oci",
            "boson-pipeline",
            "boson-releases",
            "boson-signatures",
        ],
        &["kube", "wasmtime", "openssl", "native-tls"],
    ),
    member(
        "boson-images",
        &[
            "boson-contract",
            "boson-document",
            "boson-fields",
            "boson-manifest",
            "boson-oci",
            "boson-pipeline",
            "boson-releases",
        ],
        &["kube", "wasmtime", "openssl", "native-tls"],
    ),
    member(
        "boson-compile",
        &[
            "boson-contract",
            "boson-document",
            "boson-fields",
            "boson-images",
            "boson-manifest",
            "boson-oci",
            "boson-pipeline",
            "boson-releases",
        ],
        &["kube", "wasmtime", "openssl", "native-tls"],
    ),
    member("boson-build", &["boson-oci", "boson-render"], &["kube", "tokio"]),
    // === pods ===
    // In every container of a pod: small, and without other crates of the host.
    member(
        "boson-container-run",
        &[],
        &["kube", "wasmtime", "tokio", "saphyr-parser", "clap"],
    ),
    member(
        "boson-dns",
        &["boson-contract", "boson-document", "boson-manifest"],
        &["wasmtime", "cap-std"],
    ),
    // === the operator ===
    member(
        "boson-api",
        &[
            "boson-contract",
            "boson-document",
            "boson-fields",
            "boson-manifest",
            "boson-pipeline",
        ],
        &["cap-std", "wasmtime"],
    ),
    // In pods, too: `host util` needs no client for it.
    member(
        "boson-in-pod",
        &[
            "boson-contract",
            "boson-document",
            "boson-fields",
            "boson-manifest",
            "boson-pipeline",
        ],
        OUTSIDE,
    ),
    member(
        "boson-cluster",
        &[
            "boson-api",
            "boson-contract",
            "boson-document",
            "boson-fields",
            "boson-manifest",
            "boson-pipeline",
        ],
        &["cap-std", "wasmtime", "openssl", "native-tls"],
    ),
    // In a pod of a QuarksJob, too, which needs no controller.
    member(
        "boson-output",
        &[
            "boson-api",
            "boson-cluster",
            "boson-contract",
            "boson-document",
            "boson-fields",
            "boson-manifest",
            "boson-pipeline",
        ],
        &["cap-std", "wasmtime", "openssl", "native-tls"],
    ),
    member(
        "boson-plugins",
        &[
            "boson-api",
            "boson-cluster",
            "boson-contract",
            "boson-document",
            "boson-fields",
            "boson-manifest",
            "boson-oci",
            "boson-pipeline",
            "boson-signatures",
        ],
        &["cap-std", "wasmtime", "openssl", "native-tls"],
    ),
    member(
        "boson-controllers",
        &[
            "boson-api",
            "boson-budget",
            "boson-cluster",
            "boson-contract",
            "boson-credentials",
            "boson-document",
            "boson-fields",
            "boson-in-pod",
            "boson-manifest",
            "boson-oci",
            "boson-output",
            "boson-pipeline",
            "boson-plugins",
            "boson-signatures",
        ],
        &["cap-std", "wasmtime"],
    ),
    // === the program ===
    member(
        "boson-commands",
        &[
            "boson-api",
            "boson-budget",
            "boson-cluster",
            "boson-contract",
            "boson-document",
            "boson-fields",
            "boson-in-pod",
            "boson-manifest",
            "boson-oci",
            "boson-pipeline",
            "boson-registry",
            "boson-releases",
            "boson-signatures",
        ],
        &["wasmtime", "openssl", "native-tls"],
    ),
    member(
        "boson-look",
        &[
            "boson-api",
            "boson-budget",
            "boson-cluster",
            "boson-commands",
            "boson-contract",
            "boson-document",
            "boson-fields",
            "boson-in-pod",
            "boson-manifest",
            "boson-oci",
            "boson-pipeline",
            "boson-registry",
            "boson-releases",
            "boson-signatures",
        ],
        &["wasmtime", "openssl", "native-tls"],
    ),
    member(
        "boson-act",
        &[
            "boson-api",
            "boson-budget",
            "boson-cluster",
            "boson-commands",
            "boson-contract",
            "boson-document",
            "boson-fields",
            "boson-in-pod",
            "boson-look",
            "boson-manifest",
            "boson-oci",
            "boson-pipeline",
            "boson-registry",
            "boson-releases",
            "boson-signatures",
        ],
        &["wasmtime", "openssl", "native-tls"],
    ),
    member(
        "boson-plugin-tools",
        &[
            "boson-api",
            "boson-budget",
            "boson-cluster",
            "boson-commands",
            "boson-componentize",
            "boson-contract",
            "boson-document",
            "boson-fields",
            "boson-images",
            "boson-in-pod",
            "boson-manifest",
            "boson-oci",
            "boson-pipeline",
            "boson-plugins",
            "boson-registry",
            "boson-releases",
            "boson-sandbox",
            "boson-signatures",
        ],
        &["openssl", "native-tls"],
    ),
    // Built-in plugins are used through WIT, never as Rust: otherwise a user's plugin could do less than ours.
    member(
        "boson-cli",
        &[
            "boson-act",
            "boson-allocator",
            "boson-api",
            "boson-budget",
            "boson-cluster",
            "boson-commands",
            "boson-compile",
            "boson-componentize",
            "boson-contract",
            "boson-controllers",
            "boson-credentials",
            "boson-dns",
            "boson-document",
            "boson-fields",
            "boson-images",
            "boson-in-pod",
            "boson-look",
            "boson-manifest",
            "boson-oci",
            "boson-output",
            "boson-pipeline",
            "boson-plugin-tools",
            "boson-plugins",
            "boson-processes",
            "boson-registry",
            "boson-releases",
            "boson-sandbox",
            "boson-signatures",
        ],
        &["openssl", "native-tls"],
    ),
    member("boson-tests", &["boson-oci"], &[]),
];

const fn member(name: &'static str, uses: &'static [&'static str], never: &'static [&'static str]) -> Crate {
    Crate { name, uses, never }
}

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

/// All dependencies of a package that is built alone. `cargo metadata` has those of the whole workspace, where other
/// crates add features.
fn needs_alone(package: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--edges", "normal", "--prefix", "none", "--format", "{p}"])
        .args(["--offline", "--locked", "--package", package])
        .current_dir(boson_tests::root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let name = |line: &str| line.split(' ').next().unwrap_or_default().to_string();
    text.lines().map(name).collect()
}

#[test]
fn every_crate_of_the_workspace_has_its_rules() {
    let known: BTreeSet<&str> = CRATES.iter().map(|row| row.name).collect();
    let needs = needs();
    let found: BTreeSet<&str> = needs.keys().map(String::as_str).collect();
    assert_eq!(found, known, "add the crate here and in docs/architecture.md");
}

#[test]
fn crates_see_what_they_may() {
    let needs = needs();
    for row in CRATES {
        let needed = &needs[row.name];
        let ours = needed
            .iter()
            .map(String::as_str)
            .filter(|name| name.starts_with("boson-"));
        let uses: BTreeSet<&str> = row.uses.iter().copied().collect();
        assert_eq!(ours.collect::<BTreeSet<_>>(), uses, "{}", row.name);
        for forbidden in row.never {
            assert!(!needed.contains(*forbidden), "{} needs {forbidden}", row.name);
        }
    }
}

#[test]
fn custom_resources_need_no_client() {
    let needed = needs_alone("boson-api");
    assert!(needed.contains("kube-core"), "{needed:?}");
    for forbidden in CLIENT {
        assert!(!needed.contains(*forbidden), "boson-api needs {forbidden}");
    }
}

/// Packages with the features that cargo selects for the workspace. `edges`: kinds of dependencies that are built.
fn features(edges: &str) -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--workspace",
            "--offline",
            "--locked",
            "--prefix",
            "none",
            "--no-dedupe",
        ])
        .args(["--edges", edges, "--format", "{p} {f}"])
        .current_dir(boson_tests::root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut features: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let words: Vec<&str> = line.split(' ').filter(|word| *word != "(proc-macro)").collect();
        let [name, version, selected @ ..] = words.as_slice() else {
            continue;
        };
        let selected = selected.join(" ");
        features
            .entry(format!("{name} {version}"))
            .or_default()
            .insert(selected);
    }
    features
}

/// `make demo` builds only the programs, and `make test` the tests, too. If a dependency of tests selected another
/// feature, `make test` would compile wasmtime and kube a second time.
#[test]
fn tests_select_no_features_that_programs_do_not_have() {
    let (of_programs, of_all) = (features("normal,build"), features("normal,build,dev"));
    assert!(of_programs.len() > 300, "{} packages", of_programs.len());
    let different: Vec<_> = of_programs
        .iter()
        .filter(|(package, selected)| of_all.get(*package) != Some(selected))
        .collect();
    assert!(different.is_empty(), "{different:#?}");
}
