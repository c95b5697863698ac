//! Each key that the tables of `boson_manifest::schema` mark as used changes the output of a conversion. The other
//! fates have messages, which `plugins/bpm/tests/keys.rs` checks.

use boson_manifest::schema::{Fate, GROUP, JOB, Key, MANIFEST, QUARKS};
use boson_tests::{Ran, host, root};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{fs, thread};

/// Conversions at a time.
const CONCURRENT_CONVERSIONS: usize = 4;
/// Keys that the other stages read and the bpm stage gets from the host, so users cannot set them in a manifest.
const INTERNAL: [&str; 6] = [
    "manifest cloud_config",
    "manifest runtime_config",
    "quarks consumes",
    "quarks instances",
    "quarks release",
    "quarks is_addon",
];

/// Two manifests that differ in one key.
#[derive(Clone, Default, Deserialize)]
struct Case {
    /// Members of both, by their paths in an ops file.
    #[serde(default)]
    given: Map<String, Value>,
    /// Members of the second.
    change: Map<String, Value>,
}

/// All keys with their fates, as `<table> <key>`.
fn keys() -> impl Iterator<Item = (String, Fate)> {
    let tables: [(&str, &[Key]); 4] = [
        ("manifest", MANIFEST),
        ("group", GROUP),
        ("job", JOB),
        ("quarks", QUARKS),
    ];
    let named = |(table, keys): (&'static str, &'static [Key])| {
        keys.iter().map(move |key| (format!("{table} {}", key.path), key.fate))
    };
    tables.into_iter().flat_map(named)
}

fn used() -> BTreeSet<String> {
    let used = keys().filter(|(_, fate)| *fate == Fate::Used);
    let names = used.map(|(key, _)| key);
    names.filter(|key| !INTERNAL.contains(&key.as_str())).collect()
}

/// The last part of a key: `canaries` of `manifest update.canaries` and of `update.canaries`.
fn last(key: &str) -> String {
    let part = key.rsplit([' ', '.']).next();
    part.unwrap_or_default().to_string()
}

fn cases() -> BTreeMap<String, Case> {
    let text = fs::read_to_string(root().join("tests/effects/keys.yml")).unwrap();
    let tables: BTreeMap<String, BTreeMap<String, Case>> = serde_yaml::from_str(&text).unwrap();
    let named = |(table, keys): (String, BTreeMap<String, Case>)| {
        keys.into_iter()
            .map(move |(key, case)| (format!("{table} {key}"), case))
    };
    tables.into_iter().flat_map(named).collect()
}

/// Converts the manifest with these members set.
fn convert(directory: &Path, target: &str, members: &[&Map<String, Value>]) -> Ran {
    let replace = |(path, value): (&String, &Value)| json!({"type": "replace", "path": path, "value": value});
    let ops: Vec<Value> = members.iter().copied().flatten().map(replace).collect();
    fs::write(directory.join("ops.yml"), Value::from(ops).to_string()).unwrap();
    let place = root().join("tests/effects");
    let [manifest, release] = ["manifest.yml", "release"].map(|name| place.join(name).display().to_string());
    let options = ["--ops-file=ops.yml", "--vars-store=vars.yml"];
    let arguments = ["convert", &manifest, "--target", target, "--release", &release];
    host(directory, arguments.iter().chain(&options)).unwrap()
}

/// The messages of a run, without their places.
fn messages(ran: &Ran) -> Vec<&str> {
    let is_message =
        |line: &&str| line.starts_with("error[") || line.starts_with("warning[") || line.contains("= path:");
    ran.stderr.lines().filter(is_message).collect()
}

/// What is wrong with a case.
fn check(case: &Case) -> Option<String> {
    let directory = tempfile::tempdir().unwrap();
    // Some keys have an effect only on the objects of one target.
    for target in ["kubernetes", "quarks"] {
        let before = convert(directory.path(), target, &[&case.given]);
        let after = convert(directory.path(), target, &[&case.given, &case.change]);
        for ran in [&before, &after] {
            if ran.stderr.contains("in ops.yml failed") {
                return Some(format!("the members cannot be set: {}", ran.stderr));
            }
        }
        if before.stdout != after.stdout || messages(&before) != messages(&after) {
            return None;
        }
    }
    Some("no effect".into())
}

#[test]
fn every_used_key_has_a_case() {
    let cases: BTreeSet<String> = cases().into_keys().collect();
    let missing: Vec<String> = used().difference(&cases).cloned().collect();
    let unknown: Vec<String> = cases.difference(&used()).cloned().collect();
    assert_eq!(
        (missing, unknown),
        (Vec::new(), Vec::new()),
        "missing and unknown cases in tests/effects/keys.yml"
    );
}

#[test]
fn every_used_key_changes_the_output() {
    let left = Mutex::new(cases().into_iter());
    let wrong = Mutex::new(Vec::new());
    let work = || {
        loop {
            let next = left.lock().next();
            let Some((key, case)) = next else { return };
            if let Some(why) = check(&case) {
                wrong.lock().push(format!("{key}: {why}"));
            }
        }
    };
    thread::scope(|scope| (0..CONCURRENT_CONVERSIONS).for_each(|_| drop(scope.spawn(work))));
    let wrong = wrong.into_inner();
    assert!(wrong.is_empty(), "{} keys:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_page_lists_no_key_as_without_effect() {
    let page = fs::read_to_string(root().join("docs/guarantees.md")).unwrap();
    let (_, section) = page.split_once("## Not implemented yet").unwrap();
    let named: BTreeSet<String> = section.split('`').skip(1).step_by(2).map(last).collect();
    let all: BTreeSet<String> = keys().map(|(key, _)| last(&key)).collect();
    let listed: Vec<&String> = named.intersection(&all).collect();
    assert!(
        listed.is_empty(),
        "all keys have an effect, but the page lists {listed:?}"
    );
}
