//! Components that `host` refuses, each with its own error.

use boson_tests::component::{component, component_of};
use boson_tests::{Ran, host_with_input};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A package with a world that imports a function.
const EVIL: &[(&str, &str)] = &[(
    "evil.wit",
    "package evil:clock@0.1.0; interface clock { now: func() -> u64; } world w { import clock; }",
)];
const FIND: &str = r#"{"request": {"document": {"a": 1}, "document-name": "m.yml", "path": "/a"}}"#;

/// A component of the ops world whose `find` has this body; the results are at 0 for `describe`, `find` and `apply`
/// alike.
fn plugin(scratch: &Path, find: &str, extra: &str) -> PathBuf {
    let text = format!(
        r#"(module
            {extra}
            (memory (export "memory") 2)
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 65536))
            (func (export "boson:types/about@1.0.0#describe") (result i32) unreachable)
            (func (export "boson:ops/operations@1.0.0#apply") (param i32) (result i32) unreachable)
            (func $find (export "boson:ops/operations@1.0.0#find") (param i32) (result i32) {find}))"#
    );
    write(scratch, &component(&text, "ops").unwrap())
}

fn write(scratch: &Path, bytes: &[u8]) -> PathBuf {
    let file = scratch.join("plugin.wasm");
    std::fs::write(&file, bytes).unwrap();
    file
}

fn call(scratch: &Path, plugin: &Path, more: &[&str]) -> Ran {
    let mut arguments = vec!["run-plugin", plugin.to_str().unwrap(), "--call", "find"];
    arguments.extend(more);
    host_with_input(scratch, arguments, FIND.as_bytes()).unwrap()
}

#[track_caller]
fn fails_with(ran: &Ran, code: &str, words: &str) {
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains(&format!("error[{code}]")), "{}", ran.stderr);
    assert!(ran.stderr.contains(words), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
}

#[test]
fn the_fuel_of_a_stopped_call_is_reported_and_always_the_same() {
    let scratch = tempfile::tempdir().unwrap();
    let plugin = plugin(scratch.path(), "(loop (br 0)) unreachable", "");
    let ran = call(scratch.path(), &plugin, &["--fuel", "1000000"]);
    fails_with(&ran, "plugin-out-of-fuel", "used up its 1000000 units of fuel");
    let again = call(scratch.path(), &plugin, &["--fuel", "1000000"]);
    let fuel = |ran: &Ran| {
        ran.stderr
            .lines()
            .find(|line| line.starts_with("fuel"))
            .map(str::to_string)
    };
    assert_eq!(fuel(&ran), fuel(&again), "fuel is the same on every run");
}

/// Instructions that keep a compiler busy for seconds.
fn slow() -> String {
    let step = "(i32.store (i32.const 8) (i32.mul (i32.load (i32.const 8)) (i32.load (i32.const 12))))";
    step.repeat(150_000)
}

/// Lets a plugin describe itself within a second of processor time: exit code, and output.
fn in_one_second(scratch: &Path, plugin: &Path) -> (Option<i32>, String) {
    let output = Command::new("sh")
        .args(["-c", "ulimit -S -t 1 && exec \"$@\"", "sh"])
        .arg(boson_tests::binary().unwrap())
        .args(["run-plugin", plugin.to_str().unwrap(), "--call", "describe"])
        .env("XDG_CACHE_HOME", scratch)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), said)
}

#[test]
fn the_compiler_is_bounded_by_processor_time() {
    let scratch = tempfile::tempdir().unwrap();
    let plugin = plugin(scratch.path(), &format!("{} i32.const 0", slow()), "");
    let (code, said) = in_one_second(scratch.path(), &plugin);
    assert!(said.contains("needs too much processor time to compile"), "{said}");
    assert_eq!(code, Some(1));
}

#[test]
fn a_component_with_imports_is_refused_with_their_names() {
    let scratch = tempfile::tempdir().unwrap();
    let core = r#"(module (import "evil:clock/clock@0.1.0" "now" (func (result i64))) (memory (export "memory") 1)
        (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable))"#;
    let plugin = write(scratch.path(), &component_of(core, "ops", "w", EVIL).unwrap());
    fails_with(
        &call(scratch.path(), &plugin, &[]),
        "plugin-refused",
        "function 'evil:clock/clock@0.1.0#now'",
    );
}

#[test]
fn a_component_that_does_not_describe_itself_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let mute = "package evil:mute@0.1.0; world w { export boson:ops/operations@1.0.0; }";
    let core = r#"(module (memory (export "memory") 1)
        (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)
        (func (export "boson:ops/operations@1.0.0#apply") (param i32) (result i32) unreachable)
        (func (export "boson:ops/operations@1.0.0#find") (param i32) (result i32) unreachable))"#;
    let component = component_of(core, "ops", "w", &[("mute.wit", mute)]).unwrap();
    let plugin = write(scratch.path(), &component);
    fails_with(
        &call(scratch.path(), &plugin, &[]),
        "plugin-refused",
        "exports no boson:types/about@1.0.0, which describes the plugin",
    );
}

#[test]
fn imports_are_checked_before_anything_is_compiled() {
    let scratch = tempfile::tempdir().unwrap();
    let core = format!(
        r#"(module (import "evil:clock/clock@0.1.0" "now" (func (result i64))) (memory (export "memory") 1) (func {})
        (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable))"#,
        slow()
    );
    let plugin = write(scratch.path(), &component_of(&core, "ops", "w", EVIL).unwrap());
    // There is not enough processor time to compile it.
    let (_, said) = in_one_second(scratch.path(), &plugin);
    assert!(
        said.contains("imports function 'evil:clock/clock@0.1.0#now'; a plugin may"),
        "{said}"
    );
    assert_eq!(cached(scratch.path()), [""; 0]);
}

/// Names in the cache of compiled code.
fn cached(home: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(home.join("boson/compiled")).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn a_refused_component_leaves_nothing_in_the_cache() {
    let scratch = tempfile::tempdir().unwrap();
    let traps = "(func $start unreachable) (start $start)";
    for (extra, kept) in [(traps, 0), ("", 1)] {
        let file = plugin(scratch.path(), "unreachable", extra);
        let mut run = boson_tests::Run::new(scratch.path(), ["run-plugin", "plugin.wasm", "--call", "find"]);
        run.input = FIND.into();
        run.environment = vec![("XDG_CACHE_HOME".into(), scratch.path().into())];
        fails_with(&run.start().unwrap(), "plugin-trapped", "unreachable");
        assert_eq!(cached(scratch.path()).len(), kept, "{}", file.display());
    }
}

#[test]
fn a_name_of_60_kb_is_quoted_in_part() {
    let scratch = tempfile::tempdir().unwrap();
    let name = "a".repeat(60_000);
    let text = format!(r#"(component (import "{name}" (func)))"#);
    let plugin = write(scratch.path(), &wat::parse_str(&text).unwrap());
    let ran = call(scratch.path(), &plugin, &[]);
    fails_with(&ran, "plugin-refused", "imports function 'aaaaaa");
    assert!(ran.stderr.len() < 1000, "{} bytes", ran.stderr.len());
    let many: String = (0..100).map(|nth| format!(r#"(import "f{nth}" (func))"#)).collect();
    let plugin = write(scratch.path(), &wat::parse_str(format!("(component {many})")).unwrap());
    fails_with(
        &call(scratch.path(), &plugin, &[]),
        "plugin-refused",
        "and 92 more; a plugin may",
    );
}

#[test]
fn a_file_that_is_not_a_plugin_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    for (bytes, words) in [
        (
            wat::parse_str("(component)").unwrap(),
            "exports no stage; expected one of",
        ),
        (b"#!/bin/sh".to_vec(), "is not a WebAssembly component"),
        (b"\0asm\x0d\0\x01\0garbage".to_vec(), "plugin '"),
        (Vec::new(), "is not a WebAssembly component"),
    ] {
        let plugin = write(scratch.path(), &bytes);
        fails_with(&call(scratch.path(), &plugin, &[]), "plugin-refused", words);
    }
    fails_with(
        &call(scratch.path(), &scratch.path().join("missing.wasm"), &[]),
        "plugin-refused",
        "help: check the path",
    );
    let missing = ["plugin", "pack", "checks", "missing.wasm"];
    let ran = host_with_input(scratch.path(), missing, b"").unwrap();
    fails_with(&ran, "plugin-parts-unreadable", "help: check the path");
}

#[test]
fn a_core_module_is_refused_if_no_component_can_be_made_of_it() {
    let scratch = tempfile::tempdir().unwrap();
    let imports = r#"(module (import "env" "f" (func)) (memory (export "memory") 1)
        (func (export "boson:types/about@1.0.0#describe") (result i32) unreachable)
        (func (export "boson:checks/policy@1.0.0#check") (param i32) (result i32) unreachable))"#;
    for (text, words) in [
        ("(module)", "names no world and exports no function of a stage"),
        (imports, "the module imports 'f' of 'env'"),
    ] {
        let plugin = write(scratch.path(), &wat::parse_str(text).unwrap());
        let ran = call(scratch.path(), &plugin, &[]);
        fails_with(&ran, "plugin-core-module", words);
        assert!(ran.stderr.contains("= help: "), "{}", ran.stderr);
    }
}

#[test]
fn a_component_that_never_ends_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    fails_with(
        &call(scratch.path(), Path::new("/dev/zero"), &[]),
        "plugin-refused",
        "has more than 96 MiB",
    );
    for arguments in [
        &[
            "plugin",
            "push",
            "/dev/zero",
            "registry.example.com/p:1",
            "--archive",
            "p.tar",
        ][..],
        &["plugin", "pack", "checks", "/dev/zero"],
    ] {
        let ran = host_with_input(scratch.path(), arguments, b"").unwrap();
        fails_with(&ran, "plugin-too-large", "96 MiB");
    }
}

#[test]
fn machine_code_is_never_taken_from_a_user() {
    let scratch = tempfile::tempdir().unwrap();
    let component = plugin(scratch.path(), "unreachable", "");
    let code = scratch.path().join("plugin.cwasm");
    let status = Command::new(boson_tests::binary().unwrap())
        .arg("compile-plugin")
        .stdin(File::open(&component).unwrap())
        .stdout(File::create(&code).unwrap())
        .status()
        .unwrap();
    assert!(status.success());
    fails_with(&call(scratch.path(), &code, &[]), "plugin-refused", "is machine code");
    // Beside a component of the user's plugin directory it is ignored.
    std::fs::write(scratch.path().join("ops.wasm"), b"junk").unwrap();
    let ran = host_with_input(scratch.path(), ["plugin", "list", "--plugins-dir", "."], b"").unwrap();
    assert!(ran.stderr.contains("is not a WebAssembly component"), "{}", ran.stderr);
}
