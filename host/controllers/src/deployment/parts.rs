//! Tests that each part of the controller does only what its place says.

use std::path::{Path, PathBuf};

/// Calls that change the cluster.
const WRITES: [&str; 10] = [
    ".apply(MANAGER",
    ".apply_any(",
    ".create(MANAGER",
    ".create_any(",
    ".delete(",
    ".delete_any(",
    ".emit(",
    ".merge(MANAGER",
    ".replace(MANAGER",
    ".set_status(",
];
/// What a pure function has no use for.
const IMPURE: [&str; 7] = [
    ".await",
    "async ",
    "client::Cluster",
    "Context",
    "Instant",
    "SystemTime",
    "Timestamp",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/deployment")
}

/// The sources below a folder without their tests, each with its path.
fn sources(folder: &Path) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(sources(&path));
        } else if !path.ends_with("tests.rs") && !path.ends_with("parts.rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap().to_string();
            all.push((path.display().to_string(), code));
        }
    }
    assert!(!all.is_empty(), "no sources in {}", folder.display());
    all
}

/// The words that occur in a source, outside of comments.
fn found(code: &str, words: &[&'static str]) -> Vec<&'static str> {
    let code: Vec<&str> = code
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect();
    let code = code.join("\n");
    words.iter().copied().filter(|word| code.contains(word)).collect()
}

#[test]
fn only_act_writes() {
    let act = folder().join("act");
    let (inside, outside): (Vec<_>, Vec<_>) = sources(&folder())
        .into_iter()
        .partition(|(path, _)| Path::new(path).starts_with(&act));
    assert!(inside.iter().any(|(_, code)| !found(code, &WRITES).is_empty()));
    for (path, code) in outside {
        assert_eq!(found(&code, &WRITES), [""; 0], "{path} writes: move that to act");
    }
}

#[test]
fn plans_and_statuses_are_pure() {
    for part in ["plan", "status"] {
        for (path, code) in sources(&folder().join(part)) {
            assert_eq!(found(&code, &IMPURE), [""; 0], "{path} is not pure");
        }
    }
}
