//! `host convert --record`, `host run-plugin --replay` and `host plugin test`: calls of real conversions, repeated.

use boson_tests::wrapper::COMMON;
use boson_tests::{Ran, built_in, component, golden, host, root};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const STAGES: [&str; 5] = ["ops", "variables", "links", "render", "bpm"];

/// Converts the example with these additional arguments.
fn convert(directory: &Path, extra: &[&str]) -> Ran {
    let example = root().join("docs/examples/nats");
    let path = |name: &str| example.join(name).to_str().unwrap().to_string();
    let mut arguments = ["convert", &path("manifest.yml"), "-o", &path("ops/scale.yml")]
        .map(str::to_string)
        .to_vec();
    for release in ["releases/messaging", "releases/smoke"] {
        arguments.extend(["--release".to_string(), path(release)]);
    }
    let rest = [
        "-v",
        "system_domain=example.com",
        "--vars-store",
        "vars.yml",
        "--out",
        "out",
    ];
    arguments.extend(rest.iter().chain(extra).map(|text| text.to_string()));
    host(directory, &arguments).unwrap()
}

/// A directory with a recording of the only call of the stage `ops`.
fn recorded_ops() -> TempDir {
    let scratch = tempfile::tempdir().unwrap();
    let ran = convert(scratch.path(), &["--record", "recorded", "--record-stage", "ops"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    scratch
}

fn plugin(stage: &str) -> String {
    built_in(&format!("{stage}.wasm"))
        .unwrap()
        .to_str()
        .unwrap()
        .to_string()
}

fn cases(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory.join("recorded")).unwrap();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    folders
}

#[test]
fn a_recorded_conversion_has_no_values_and_can_be_repeated() {
    let scratch = tempfile::tempdir().unwrap();
    // One value is given, the others are generated.
    let given = "-vbroker_password=kzfgpqhwmtrxvbnd";
    let ran = convert(scratch.path(), &["--record", "recorded", given]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let folders = cases(scratch.path());
    assert!(
        ran.stderr
            .contains(&format!("recorded {} calls in recorded\n", folders.len())),
        "{}",
        ran.stderr
    );

    let store = fs::read_to_string(scratch.path().join("vars.yml")).unwrap();
    // Keys and certificates have long lines; passwords are values of one line.
    let values = store.lines().filter_map(|line| line.trim().split(' ').next_back());
    let values = values.chain(["kzfgpqhwmtrxvbnd"]);
    let values: Vec<&str> = values
        .filter(|value| value.len() >= 16 && !value.contains("-----"))
        .collect();
    assert!(values.len() > 10, "the store has values");
    for folder in &folders {
        for file in ["call.json", "reply.json"] {
            let text = fs::read_to_string(folder.join(file)).unwrap_or_default();
            let value = values.iter().find(|value| text.contains(**value));
            assert_eq!(value, None, "{}/{file}", folder.display());
        }
    }

    let mut passed = 0;
    for stage in STAGES {
        let ran = host(scratch.path(), ["plugin", "test", &plugin(stage), "recorded"]).unwrap();
        assert_eq!(ran.code, 0, "{stage}: {}{}", ran.stdout, ran.stderr);
        passed += ran.stdout.lines().filter(|line| line.starts_with("ok ")).count();
    }
    // Those of `resources` and `checks` have no plugin, and no reply.
    assert_eq!(passed, folders.len() - 2);
    let views = folders.iter().filter(|folder| !folder.join("reply.json").exists());
    let views: Vec<String> = views
        .map(|folder| folder.file_name().unwrap().to_str().unwrap()[4..].to_string())
        .collect();
    assert_eq!(views, ["transform", "check"]);
}

#[test]
fn a_changed_reply_is_found_and_can_be_accepted() {
    let scratch = recorded_ops();
    let folders = cases(scratch.path());
    let [folder] = folders.as_slice() else {
        panic!("one call: {folders:?}")
    };
    let (reply, ops, case) = (folder.join("reply.json"), plugin("ops"), folder.to_str().unwrap());
    let ran = host(scratch.path(), ["run-plugin", &ops, "--replay", case]).unwrap();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("the reply matches the recorded one\n"),
        "{}",
        ran.stderr
    );

    let recorded = fs::read_to_string(&reply).unwrap();
    fs::write(&reply, recorded.replacen("\"nats\"", "\"gnats\"", 1)).unwrap();
    let difference = "/ok/document/name: expected \"gnats\", found \"nats\"";
    let ran = host(scratch.path(), ["run-plugin", &ops, "--replay", case]).unwrap();
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains(difference), "{}", ran.stderr);
    let test = ["plugin", "test", &ops, "recorded", "--junit", "report.xml"];
    let ran = host(scratch.path(), test).unwrap();
    assert_eq!(ran.code, 1);
    assert!(
        ran.stdout.contains(difference) && ran.stdout.contains("0 passed, 1 failed"),
        "{}",
        ran.stdout
    );
    let report = fs::read_to_string(scratch.path().join("report.xml")).unwrap();
    assert!(report.contains("tests=\"1\" failures=\"1\""), "{report}");

    let ran = host(scratch.path(), ["plugin", "test", &ops, "recorded", "--update"]).unwrap();
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    assert!(ran.stdout.contains("1 updated"), "{}", ran.stdout);
    assert_eq!(fs::read_to_string(&reply).unwrap(), recorded);
    let ran = host(scratch.path(), test).unwrap();
    assert_eq!(ran.code, 0, "{}", ran.stdout);
}

#[test]
fn a_plugin_is_packed_with_its_cases_only_if_it_passes_them() {
    let scratch = recorded_ops();
    let folders = cases(scratch.path());
    let ops = plugin("ops");
    let pack = ["plugin", "pack", "ops", &ops, "--cases", "recorded"];
    let ran = host(scratch.path(), pack).unwrap();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("  cases.json.zst: "), "{}", ran.stderr);

    let reply = folders[0].join("reply.json");
    let recorded = fs::read_to_string(&reply).unwrap();
    fs::write(&reply, recorded.replacen("\"nats\"", "\"gnats\"", 1)).unwrap();
    let ran = host(scratch.path(), pack).unwrap();
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    let first = "error[plugin-case-failed]: case '001-apply' failed: the reply differs from the expected one at '/ok/document/name'";
    assert!(ran.stderr.contains(first), "{}", ran.stderr);
    assert!(!ran.stderr.contains("gnats"), "no values: {}", ran.stderr);

    fs::remove_file(&reply).unwrap();
    let ran = host(scratch.path(), pack).unwrap();
    assert!(
        ran.code == 1 && ran.stderr.contains("no expected reply"),
        "{}",
        ran.stderr
    );
    let other = ["plugin", "pack", "links", &plugin("links"), "--cases", "recorded"];
    let ran = host(scratch.path(), other).unwrap();
    assert!(ran.code == 1 && ran.stderr.contains("it has 0 cases"), "{}", ran.stderr);
}

#[test]
fn a_call_is_logged_with_the_plugin_and_its_digest() {
    let scratch = tempfile::tempdir().unwrap();
    let ran = convert(scratch.path(), &["--log", "debug", "--log-format", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let lines = ran
        .stderr
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let calls: Vec<Value> = lines.filter(|line| line["message"] == "called").collect();
    let of = |plugin: &str| calls.iter().find(|call| call["plugin"] == plugin).unwrap();
    for stage in STAGES {
        let call = of(stage);
        let digest = call["digest"].as_str().unwrap();
        assert!(digest.starts_with("sha256:") && digest.len() == 19, "{call}");
        assert!(
            call["fuel"].as_u64() > Some(0) && call["memory"].as_u64() > Some(0),
            "{call}"
        );
    }
}

#[test]
fn tests_without_a_case_of_the_stage_fail() {
    let scratch = recorded_ops();
    let ran = host(scratch.path(), ["plugin", "test", &plugin("links"), "recorded"]).unwrap();
    assert_eq!(ran.code, 1);
    assert!(
        ran.stdout.contains("no case belongs to the stage of this plugin"),
        "{}",
        ran.stdout
    );
    let ran = host(scratch.path(), ["plugin", "test", &plugin("links"), "out"]).unwrap();
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("plugin-case"), "{}", ran.stderr);
}

#[test]
fn a_directory_with_files_is_not_recorded_to() {
    let scratch = tempfile::tempdir().unwrap();
    fs::create_dir(scratch.path().join("recorded")).unwrap();
    fs::write(scratch.path().join("recorded/mine"), "x").unwrap();
    let ran = convert(scratch.path(), &["--record", "recorded"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("record-not-empty"), "{}", ran.stderr);
    assert!(!scratch.path().join("out").exists());
}

#[test]
fn a_conversion_that_fails_has_a_recording_and_a_failure_can_be_repeated() {
    let scratch = tempfile::tempdir().unwrap();
    let small = golden::case("convert/small");
    small.write_inputs(scratch.path()).unwrap();
    // A plugin that traps in its only function.
    let trap = r#"(func (export "boson:checks/policy@1.0.0#check") (param i32) (result i32) unreachable)"#;
    let module = component::component(&format!("(module {COMMON} {trap})"), "checks").unwrap();
    fs::write(scratch.path().join("p.wasm"), module).unwrap();
    let arguments = [
        "convert",
        "manifest.yml",
        "--release",
        "release",
        "--record",
        "recorded",
        "--plugin",
        "checks=p.wasm",
    ];
    let ran = host(scratch.path(), arguments).unwrap();
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let folders = cases(scratch.path());
    assert!(
        ran.stderr
            .contains(&format!("recorded {} calls in recorded\n", folders.len())),
        "{}",
        ran.stderr
    );
    let last = folders.last().unwrap();
    let reply = fs::read_to_string(last.join("reply.json")).unwrap();
    assert_eq!(reply, "{\n  \"failure\": \"plugin-trapped\"\n}\n");
    let ran = host(
        scratch.path(),
        ["run-plugin", "p.wasm", "--replay", last.to_str().unwrap()],
    )
    .unwrap();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("the reply matches the recorded one\n"),
        "{}",
        ran.stderr
    );
}

#[test]
fn names_in_cases_cannot_control_a_terminal() {
    let scratch = recorded_ops();
    let folders = cases(scratch.path());
    let renamed = scratch.path().join("recorded/\u{1b}[31m");
    fs::rename(&folders[0], &renamed).unwrap();
    let recorded = fs::read_to_string(renamed.join("reply.json")).unwrap();
    fs::write(
        renamed.join("reply.json"),
        recorded.replacen("\"name\"", "\"\\u001b[31m\"", 1),
    )
    .unwrap();
    let ran = host(scratch.path(), ["plugin", "test", &plugin("ops"), "recorded"]).unwrap();
    assert_eq!(ran.code, 1);
    assert!(!ran.stdout.contains('\u{1b}'), "{:?}", ran.stdout);
    assert!(ran.stdout.contains("FAILED   ␛[31m"), "{}", ran.stdout);
}
