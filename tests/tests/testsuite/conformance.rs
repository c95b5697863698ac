//! `host plugin test --conformance` and `--fuzz`: the built-in plugins keep the contract, and plugins that do not are
//! found.

use boson_tests::component::component;
use boson_tests::wrapper::{COMMON, wrapper};
use boson_tests::{Ran, built_in, host};
use std::fs;
use std::path::Path;

/// A result with empty lists and texts at 4096; `find` of `ops` needs a text.
const EMPTY: &str = "(i32.const 4096)";

/// Writes a plugin with these functions of an interface.
fn write(folder: &Path, stage: &str, interface: &str, functions: &[(&str, &str)], extra: &str) {
    let functions: String = functions
        .iter()
        .map(|(name, body)| {
            format!(r#"(func (export "boson:{stage}/{interface}@1.0.0#{name}") (param i32) (result i32) {body})"#)
        })
        .collect();
    let module = format!("(module {COMMON} {extra} {functions})");
    fs::write(folder.join("p.wasm"), component(&module, stage).unwrap()).unwrap();
}

fn test(folder: &Path, more: &[&str]) -> Ran {
    let arguments = ["plugin", "test", "p.wasm"].iter().chain(more);
    host(folder, arguments).unwrap()
}

#[test]
fn the_built_in_plugins_keep_the_contract_also_with_changed_inputs() {
    let scratch = tempfile::tempdir().unwrap();
    for stage in ["ops", "variables", "links", "render", "bpm"] {
        let file = built_in(&format!("{stage}.wasm")).unwrap();
        let number = if stage == "render" { "20" } else { "100" };
        let arguments = [
            "plugin",
            "test",
            file.to_str().unwrap(),
            "--conformance",
            "--fuzz",
            number,
        ];
        let ran = host(scratch.path(), arguments).unwrap();
        assert_eq!(ran.code, 0, "{stage}: {}{}", ran.stdout, ran.stderr);
        assert!(
            ran.stdout.contains("ok       contract: description\n"),
            "{}",
            ran.stdout
        );
        assert!(
            ran.stdout
                .contains(&format!("ok       fuzz: {number} changed inputs\n")),
            "{}",
            ran.stdout
        );
    }
}

#[test]
fn a_wrapper_is_tested_with_the_rule_that_it_wraps() {
    let scratch = tempfile::tempdir().unwrap();
    let plugin = wrapper("ops", "operations", &["apply", "find"], 1, "").unwrap();
    fs::write(scratch.path().join("p.wasm"), plugin).unwrap();
    let ran = test(scratch.path(), &["--conformance", "--fuzz", "50"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_plugin_that_breaks_the_contract_is_found() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let text = |at: u32, length: u32| {
        format!(
            "(i32.store (i32.const 4100) (i32.const {at})) (i32.store (i32.const 4104) (i32.const {length})) {EMPTY}"
        )
    };
    let conform = |words: &str| {
        let ran = test(folder, &["--conformance"]);
        assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains("FAILED   contract: "), "{}", ran.stdout);
        assert!(ran.stdout.contains(words), "no {words:?} in {}", ran.stdout);
    };
    // A document that is no JSON; one that is no part of the input; a trap.
    let data = r#"(data (i32.const 3000) "{\"new\":1}nothing")"#;
    write(
        folder,
        "ops",
        "operations",
        &[("apply", &text(3009, 7)), ("find", &text(3000, 9))],
        data,
    );
    conform("`document` is not JSON");
    write(
        folder,
        "ops",
        "operations",
        &[("apply", &text(3000, 9)), ("find", &text(3000, 9))],
        data,
    );
    conform("the value at '/new' differs from its origin");
    write(
        folder,
        "ops",
        "operations",
        &[("apply", "unreachable"), ("find", &text(3000, 9))],
        data,
    );
    conform("stopped with a trap");
    // An object with a mark of the operator.
    let object = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"evil","labels":{"quarks.cloudfoundry.org/plugin":"ops"}}}"#;
    let add = format!(
        "(i32.store (i32.const 5000) (i32.const 2)) (i32.store (i32.const 5004) (i32.const 3000))
         (i32.store (i32.const 5008) (i32.const {})) {}",
        object.len(),
        text(5000, 1)
    );
    let data = format!("(data (i32.const 3000) \"{}\")", object.replace('"', "\\\""));
    write(folder, "resources", "transformation", &[("transform", &add)], &data);
    conform("bundle-reserved-mark");
    // A diagnostic that the description does not have.
    let report = "(i32.store8 (i32.const 5000) (i32.const 1)) (i32.store (i32.const 5004) (i32.const 3000))
        (i32.store (i32.const 5008) (i32.const 10)) (i32.store (i32.const 4096) (i32.const 5000))
        (i32.store (i32.const 4100) (i32.const 1)) (i32.const 4096)";
    write(
        folder,
        "checks",
        "policy",
        &[("check", report)],
        "(data (i32.const 3000) \"theirs-odd\")",
    );
    conform("the code 'theirs-odd' is not in the description of the plugin");
    // A member that a later version may add changes the reply: the list of members follows that of objects.
    let later = "(if (i32.load offset=36 (local.get 0)) (then unreachable)) (i32.const 4096)";
    write(folder, "checks", "policy", &[("check", later)], "");
    conform("a member 'later' in `more` of the request changes the reply");
}

#[test]
fn an_input_that_a_plugin_traps_with_is_kept_as_a_case() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    // It traps if the document has more than 3000 bytes, which no input has that is not changed.
    let body =
        "(if (i32.gt_u (i32.load offset=12 (local.get 0)) (i32.const 3000)) (then unreachable)) (i32.const 4096)";
    write(folder, "checks", "policy", &[("check", body)], "");
    let ran = test(folder, &["--conformance"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let ran = test(folder, &["--fuzz", "400", "--keep", "found"]);
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stdout.contains("FAILED   fuzz: ") && ran.stdout.contains("plugin-trapped"),
        "{}",
        ran.stdout
    );
    let kept = fs::read_dir(folder.join("found"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    assert!(
        ran.stdout.contains(kept.file_name().unwrap().to_str().unwrap()),
        "{}",
        ran.stdout
    );
    let ran = host(folder, ["run-plugin", "p.wasm", "--replay", kept.to_str().unwrap()]).unwrap();
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("error[plugin-trapped]"), "{}", ran.stderr);
}

#[test]
fn cases_are_needed_only_to_compare_replies() {
    let scratch = tempfile::tempdir().unwrap();
    write(scratch.path(), "checks", "policy", &[("check", EMPTY)], "");
    let ran = test(scratch.path(), &[]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    let ran = test(scratch.path(), &["--conformance"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
}
