//! Plugins that were built for version 1.0.0, and what a version 1.1.0 can add. That version is made up.

use boson_tests::component::component_of;
use boson_tests::wit_changes::{self, Items};
use boson_tests::wrapper::COMMON;
use boson_tests::{Ran, host, host_with_input, root};
use serde_json::{Value, json};
use std::fs;
use wit_parser::Resolve;

/// As text, so that it stays as the tools of the day encoded it. It imports and exports functions.
#[test]
fn a_component_that_was_built_for_1_0_0_replies_as_recorded() {
    let place = root().join("tests/contract/1.0.0");
    let scratch = tempfile::tempdir().unwrap();
    fs::write(
        scratch.path().join("p.wasm"),
        wat::parse_file(place.join("ops-wrapper.wat")).unwrap(),
    )
    .unwrap();
    let cases = place.join("cases").display().to_string();
    let ran = host(scratch.path(), ["plugin", "test", "p.wasm", &cases]).unwrap();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stdout.starts_with("ok       ops-apply\n\n1 passed"),
        "{}",
        ran.stdout
    );
}

/// The texts of `types` and `checks` in a version 1.1.0: the view has a member `history`, and there is an interface
/// that plugins may import.
fn later() -> [String; 2] {
    let read = |package: &str| fs::read_to_string(root().join(format!("wit/{package}/1.0.0/{package}.wit"))).unwrap();
    let view = "objects: list<json>,\n        ";
    let types = read("types").replace("package boson:types@1.0.0", "package boson:types@1.1.0");
    assert!(types.contains(view));
    let types = types.replace(
        view,
        &format!("{view}/// Since 1.1.0 with the member `history`, if there is one.\n        "),
    );
    let added = "@since(version = 1.1.0) interface history { @since(version = 1.1.0) last: func() -> u32; }
        @since(version = 1.1.0) world checks-of-history {
            @since(version = 1.1.0) import history;
            @since(version = 1.1.0) export boson:types/about@1.1.0;
            @since(version = 1.1.0) export policy;
        }";
    [types, read("checks").replace("@1.0.0", "@1.1.0") + added]
}

/// A check for this version. If the view has a member in `more`, it reports `theirs-history`, and otherwise nothing.
fn check(version: &str, world: &str, import: &str) -> Vec<u8> {
    let common = COMMON.replace("@1.0.0", &format!("@{version}"));
    let module = format!(
        r#"(module {import} {common} (data (i32.const 3000) "theirs-history")
            (func (export "boson:checks/policy@{version}#check") (param i32) (result i32)
                (if (i32.load offset=36 (local.get 0)) (then
                    (i32.store8 (i32.const 5000) (i32.const 1))
                    (i32.store (i32.const 5004) (i32.const 3000)) (i32.store (i32.const 5008) (i32.const 14))
                    (i32.store (i32.const 4096) (i32.const 5000)) (i32.store (i32.const 4100) (i32.const 1))))
                (i32.const 4096)))"#
    );
    let [types, checks] = later();
    let later = [("types.wit", types.as_str()), ("checks.wit", checks.as_str())];
    let more = if version == "1.0.0" { &[][..] } else { &later };
    component_of(&module, "checks", world, more).unwrap()
}

/// Calls the plugin with a view that has these members in `more`.
fn call(component: &[u8], more: &Value) -> Ran {
    let scratch = tempfile::tempdir().unwrap();
    fs::write(scratch.path().join("p.wasm"), component).unwrap();
    let view = json!({"target": "quarks", "manifest": {}, "groups": [], "objects": [], "more": more});
    let call = json!({"view": view}).to_string();
    host_with_input(scratch.path(), ["run-plugin", "p.wasm"], call.as_bytes()).unwrap()
}

fn codes(ran: &Ran) -> Vec<String> {
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let reply: Value = serde_json::from_str(&ran.stdout).unwrap();
    reply
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["code"].as_str().unwrap().to_string())
        .collect()
}

/// The host of these tests knows 1.0.0. One that knows 1.1.0 differs by the member that it passes.
#[test]
fn an_optional_member_of_1_1_0_reaches_plugins_that_know_it() {
    let (none, history) = (json!([]), json!([{"name": "history", "value": {"deploys": 3}}]));
    let later = check("1.1.0", "checks", "");
    assert_eq!(
        codes(&call(&later, &history)),
        ["theirs-history"],
        "in a host for 1.1.0"
    );
    assert_eq!(
        codes(&call(&later, &none)),
        [""; 0],
        "in a host for 1.0.0, which has no such member"
    );
    let first = root().join("tests/contract/1.0.0");
    let first = wat::parse_file(first.join("ops-wrapper.wat")).unwrap();
    let request = |more: &Value| {
        let scratch = tempfile::tempdir().unwrap();
        fs::write(scratch.path().join("p.wasm"), &first).unwrap();
        let request = json!({"document": {"a": 1}, "document-name": "m.yml", "path": "/a", "more": more});
        let call = json!({ "request": request }).to_string();
        let ran = host_with_input(
            scratch.path(),
            ["run-plugin", "p.wasm", "--call", "find"],
            call.as_bytes(),
        )
        .unwrap();
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stdout
    };
    assert_eq!(
        request(&history),
        request(&none),
        "a plugin for 1.0.0 in a host for 1.1.0"
    );
}

#[test]
fn a_plugin_that_needs_an_interface_of_1_1_0_is_refused_with_both_versions() {
    let import = r#"(import "boson:checks/history@1.1.0" "last" (func (result i32)))"#;
    let ran = call(&check("1.1.0", "checks-of-history", import), &json!([]));
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    for words in [
        "error[plugin-refused]",
        "boson:checks/history of version 1.1.0",
        "use a later host",
    ] {
        assert!(ran.stderr.contains(words), "no '{words}': {}", ran.stderr);
    }
}

#[test]
fn version_1_1_0_breaks_no_plugin_and_a_new_field_would() {
    let items = |types: &str, checks: &str| -> [Items; 2] {
        let mut resolve = Resolve::default();
        let ids =
            [("types.wit", types), ("checks.wit", checks)].map(|(name, text)| resolve.push_str(name, text).unwrap());
        ids.map(|id| wit_changes::items(&resolve, id))
    };
    let released = ["types", "checks"]
        .map(|package| fs::read_to_string(root().join(format!("wit/{package}/1.0.0/{package}.wit"))).unwrap());
    let old = items(&released[0], &released[1]);
    let [types, checks] = later();
    let new = items(&types, &checks);
    for (old, new) in old.iter().zip(&new) {
        assert_eq!(wit_changes::breaking(old, new), [""; 0]);
    }
    let field = types.replace("objects: list<json>,", "objects: list<json>,\n history: json,");
    let changed = wit_changes::breaking(&old[0], &items(&field, &checks)[0]);
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert!(changed[0].starts_with("'objects.view' changes from "), "{changed:?}");
}
