//! The plugins of docs/examples/plugins are built as their pages say, and do what they say.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "a test that is left out says so")]

use boson_tests::{copy, golden, host, host_with_input, root};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Whether this compiler has the standard library for WebAssembly. Debian's builds it, with other options.
fn has_target() -> bool {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
    let sysroot = String::from_utf8(output.stdout).unwrap();
    Path::new(sysroot.trim())
        .join("lib/rustlib/wasm32-unknown-unknown")
        .is_dir()
}

/// Builds an example in Rust with the versions of this workspace, without network. Its dependencies are compiled once for
/// all runs.
fn build(example: &str, scratch: &Path) -> PathBuf {
    let folder = scratch.join("docs/examples/plugins").join(example);
    copy(&root().join("docs/examples/plugins").join(example), &folder).unwrap();
    copy(&root().join("wit"), &scratch.join("wit")).unwrap();
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let target = boson_tests::binary()
        .unwrap()
        .ancestors()
        .nth(2)
        .unwrap()
        .join("examples");
    let output = Command::new(env!("CARGO"))
        .args(["build", "--release", "--offline", "--target", "wasm32-unknown-unknown"])
        .current_dir(&folder)
        .env("CARGO_TARGET_DIR", &target)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let module = format!("{}.wasm", example.replace('-', "_"));
    target.join("wasm32-unknown-unknown/release").join(module)
}

/// Codes and pointers of the diagnostics of a reply.
fn found(reply: &str) -> Vec<(String, String)> {
    let reply: Value = serde_json::from_str(reply).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_string();
    let place = |one: &Value| text(&one["place"]["object"]["pointer"]);
    let all = reply.as_array().unwrap().iter();
    all.map(|one| (text(&one["code"]), place(one))).collect()
}

#[test]
fn the_check_in_rust_finds_what_its_page_lists() {
    if !has_target() {
        eprintln!("left out: this compiler has no standard library for wasm32-unknown-unknown");
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let module = build("security-policy", scratch.path());
    let container = json!({"name": "p", "securityContext": {"privileged": true, "runAsUser": 0}});
    let set = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s"},
        "spec": {"template": {"spec": {"containers": [container]}}},
    });
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "e"}, "spec": {"type": "NodePort"},
    });
    let view = json!({"target": "kubernetes", "manifest": {}, "groups": [], "objects": [set, service]});
    let call = json!({"view": view}).to_string();
    let arguments = ["run-plugin", module.to_str().unwrap()];
    let ran = host_with_input(scratch.path(), arguments, call.as_bytes()).unwrap();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let pod = "/spec/template/spec/containers/0";
    let wanted = [
        (
            "security-policy-privileged",
            format!("{pod}/securityContext/privileged"),
        ),
        ("security-policy-root", pod.to_string()),
        ("security-policy-exposed", "/spec/type".to_string()),
    ];
    let wanted = wanted.map(|(code, pointer)| (code.to_string(), pointer));
    assert_eq!(found(&ran.stdout), wanted, "{}", ran.stdout);

    golden::case("convert/small").write_inputs(scratch.path()).unwrap();
    let plugin = format!("checks={}", module.display());
    let arguments = [
        "convert",
        "manifest.yml",
        "--release",
        "release",
        "--enforce-checks",
        "--plugin",
        &plugin,
    ];
    let ran = host(scratch.path(), arguments).unwrap();
    assert_eq!(ran.code, 0, "a deployment without violations: {}", ran.stderr);
}
