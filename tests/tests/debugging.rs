//! What helps authors to debug a plugin: `host run-plugin` shows its output, and no other command does; profiles.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use boson_tests::component::{component_of, core_module};
use boson_tests::{golden, host, host_with_input};
use std::fs;
use std::path::Path;

/// A plugin of `checks` that prints, and reports nothing. The import decides how.
fn module(import: &str, print: &str) -> String {
    format!(
        r#"(module
            {import}
            (memory (export "memory") 2)
            (data (i32.const 1024) "theirs1.0.0{{}}")
            (data (i32.const 2048) "\00\04\00\00\06\00\00\00\06\04\00\00\05\00\00\00\0b\04\00\00\02\00\00\00")
            (data (i32.const 3000) "found \1b[1m2 objects\0a")
            (data (i32.const 3100) "\b8\0b\00\00\14\00\00\00")
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 65536))
            (func (export "boson:types/about@1.0.0#describe") (result i32) (i32.const 2048))
            (func (export "boson:checks/policy@1.0.0#check") (param i32) (result i32) {print} (i32.const 4096)))"#
    )
}

const WASI: &str = r#"(import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))"#;
const CONSOLE: &str = r#"(import "boson:types/console@1.0.0" "print" (func $print (param i32 i32)))"#;
const CALL: &str = r#"{"view": {"target": "kubernetes", "manifest": {}, "groups": [], "objects": []}}"#;

/// Runs the plugin alone and in a conversion; what is on standard error.
fn run(scratch: &Path, plugin: &[u8]) -> [String; 2] {
    golden::case("convert/small").write_inputs(scratch).unwrap();
    fs::write(scratch.join("p.wasm"), plugin).unwrap();
    let alone = host_with_input(scratch, ["run-plugin", "p.wasm"], CALL.as_bytes()).unwrap();
    assert_eq!((alone.code, alone.stdout.as_str()), (0, "[]\n"), "{}", alone.stderr);
    let arguments = [
        "convert",
        "manifest.yml",
        "--release",
        "release",
        "--plugin",
        "checks=p.wasm",
    ];
    [alone.stderr, host(scratch, arguments).unwrap().stderr]
}

#[test]
fn only_run_plugin_shows_what_a_core_module_prints() {
    for (import, print) in [
        (
            WASI,
            "(drop (call $write (i32.const 2) (i32.const 3100) (i32.const 1) (i32.const 3200)))",
        ),
        (CONSOLE, "(call $print (i32.const 3000) (i32.const 20))"),
    ] {
        let scratch = tempfile::tempdir().unwrap();
        let core = core_module(&module(import, print), "checks", "checks", &[]).unwrap();
        let [alone, converted] = run(scratch.path(), &core);
        assert!(
            alone.starts_with("found ␛[1m2 objects\n"),
            "control characters are visible: {alone}"
        );
        assert!(
            !converted.contains("found") && !converted.contains("error"),
            "{converted}"
        );
    }
}

#[test]
fn a_component_that_prints_is_used_everywhere_and_shown_by_run_plugin_only() {
    let scratch = tempfile::tempdir().unwrap();
    let world = (
        "debug.wit",
        "package boson:debug@1.0.0; world debug { include boson:checks/checks@1.0.0; import boson:types/console@1.0.0; }",
    );
    let module = module(CONSOLE, "(call $print (i32.const 3000) (i32.const 20))");
    let component = component_of(&module, "checks", "debug", &[world]).unwrap();
    let [alone, converted] = run(scratch.path(), &component);
    assert!(alone.starts_with("found ␛[1m2 objects\n"), "{alone}");
    assert!(
        !converted.contains("found") && !converted.contains("error"),
        "{converted}"
    );
}

#[test]
fn output_is_bounded() {
    let scratch = tempfile::tempdir().unwrap();
    let print = "(local $n i32) (loop (call $print (i32.const 0) (i32.const 65536))
        (br_if 0 (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 64))))";
    let core = core_module(&module(CONSOLE, print), "checks", "checks", &[]).unwrap();
    let [alone, _] = run(scratch.path(), &core);
    assert!(
        alone.contains("more than 1024 KiB of output; the rest is not shown\n"),
        "it is not"
    );
    // Each byte is a character that is made visible.
    assert!(alone.len() < 4 << 20, "{}", alone.len());
}

#[test]
fn a_profile_begins_with_the_function_that_uses_the_fuel() {
    let scratch = tempfile::tempdir().unwrap();
    let busy = "(func $busy (local $n i32) (loop (br_if 0 (i32.lt_u
        (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 1000000)))))";
    let core = core_module(
        &module("", "(call $busy)").replacen("(func", &format!("{busy} (func"), 1),
        "checks",
        "checks",
        &[],
    );
    fs::write(scratch.path().join("p.wasm"), core.unwrap()).unwrap();
    let ran = host_with_input(scratch.path(), ["run-plugin", "p.wasm", "--profile"], CALL.as_bytes()).unwrap();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let first = ran.stderr.lines().nth(2).unwrap();
    assert!(first.ends_with("  busy"), "{}", ran.stderr);
}
