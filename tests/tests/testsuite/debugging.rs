//! What helps authors to debug a plugin: commands for authors show its output, and no other command does; exceptions;
//! profiles.

use boson_tests::component::{component_of, core_module};
use boson_tests::wrapper::COMMON;
use boson_tests::{Run, golden, host, host_with_input};
use std::fs;
use std::path::Path;

/// A plugin of `checks` that prints, and reports nothing. The import decides how.
fn module(import: &str, print: &str) -> String {
    format!(
        r#"(module
            {import} {COMMON}
            (data (i32.const 3000) "found \1b[1m2 objects\0a")
            (data (i32.const 3100) "\b8\0b\00\00\14\00\00\00")
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

/// A plugin of `checks` that imports nothing and keeps its output. `reply`: the address of its reply; at 4096, there is
/// an empty list, and at 4200 one with an exception.
fn keeping(printed: &str, reply: u32) -> Vec<u8> {
    let diagnostic = "\\00\\00\\00\\00\\98\\12\\00\\00\\10\\00\\00\\00\\a8\\12\\00\\00\\19\\00\\00\\00";
    let module = format!(
        r#"(module {COMMON}
            (data (i32.const 4200) "\00\12\00\00\01\00\00\00")
            (data (i32.const 4608) "{diagnostic}")
            (data (i32.const 4704) "\68\12\00\00\01\00\00\00")
            (data (i32.const 4712) "\f0\12\00\00\05\00\00\00\f8\12\00\00\16\00\00\00")
            (data (i32.const 4760) "plugin-exceptionTypeError: not a function")
            (data (i32.const 4848) "stack   [\22edit (plugin.js:7)\22]")
            (data (i32.const 8192) "{printed}")
            (data (i32.const 8000) "\00\20\00\00\10\00\00\00")
            (func (export "boson:types/output@1.0.0#take") (result i32) (i32.const 8000))
            (func (export "boson:checks/policy@1.0.0#check") (param i32) (result i32) (i32.const {reply})))"#
    );
    let world = (
        "mine.wit",
        "package my:plugin@1.0.0; world plugin { include boson:checks/checks@1.0.0; export boson:types/output@1.0.0; }",
    );
    component_of(&module, "checks", "plugin", &[world]).unwrap()
}

const CONVERT: [&str; 6] = [
    "convert",
    "manifest.yml",
    "--release",
    "release",
    "--plugin",
    "checks=p.wasm",
];

#[test]
fn what_a_component_without_imports_prints_is_shown_to_authors_only() {
    let scratch = tempfile::tempdir().unwrap();
    let [alone, converted] = run(scratch.path(), &keeping("correct-horse 7\\0a", 4096));
    assert!(alone.starts_with("correct-horse 7\n"), "{alone}");
    assert!(!converted.contains("correct-horse"), "{converted}");

    let case = scratch.path().join("cases/one");
    fs::create_dir_all(&case).unwrap();
    let call = CALL.replacen('{', r#"{"stage": "checks", "function": "check", "#, 1);
    fs::write(case.join("call.json"), call).unwrap();
    fs::write(case.join("reply.json"), r#"{"ok": []}"#).unwrap();
    let tested = host(scratch.path(), ["plugin", "test", "p.wasm", "cases", "--fuzz", "5"]).unwrap();
    assert_eq!(tested.code, 0, "{}", tested.stdout);
    let shown = "ok       one\n         correct-horse 7\nok       fuzz";
    assert!(
        tested.stdout.contains(shown),
        "only what each case prints, once: {}",
        tested.stdout
    );

    let verbose = host(scratch.path(), CONVERT.iter().chain(&["-V"])).unwrap();
    assert_eq!(verbose.code, 0, "{}", verbose.stderr);
    assert!(
        verbose.stderr.contains("correct-horse 7 plugin=\"p.wasm\"\n"),
        "{}",
        verbose.stderr
    );
    let secret = host(
        scratch.path(),
        CONVERT.iter().chain(&["-V", "-v", "password=correct-horse"]),
    )
    .unwrap();
    assert!(secret.stderr.contains("<redacted> 7 plugin="), "{}", secret.stderr);
    assert!(!secret.stderr.contains("correct-horse"), "{}", secret.stderr);
}

#[test]
fn an_exception_is_a_failure_of_the_plugin_with_its_text_and_place() {
    let scratch = tempfile::tempdir().unwrap();
    golden::case("convert/small").write_inputs(scratch.path()).unwrap();
    fs::write(scratch.path().join("p.wasm"), keeping("correct-horse 7\\0a", 4200)).unwrap();
    let wanted = "[plugin-exception]: plugin 'p.wasm' raised an exception: TypeError: not a function; at edit (plugin.js:7) \
                  (sha256:";
    let alone = host_with_input(scratch.path(), ["run-plugin", "p.wasm"], CALL.as_bytes()).unwrap();
    assert_eq!(alone.code, 1, "{}", alone.stderr);
    let printed = format!("correct-horse 7\nerror{wanted}");
    assert!(alone.stderr.starts_with(&printed), "{}", alone.stderr);
    let converted = host(scratch.path(), CONVERT).unwrap();
    assert!(
        converted.stderr.contains(&format!("error{wanted}")),
        "{}",
        converted.stderr
    );
    let skipped = host(scratch.path(), CONVERT.iter().chain(&["--skip-failed-checks"])).unwrap();
    assert_eq!(skipped.code, 0, "{}", skipped.stderr);
    assert!(
        skipped.stderr.contains(&format!("warning{wanted}")),
        "{}",
        skipped.stderr
    );
}

#[test]
fn a_component_is_made_of_a_core_module_once() {
    let scratch = tempfile::tempdir().unwrap();
    let core = core_module(&module("", ""), "checks", "checks", &[]).unwrap();
    fs::write(scratch.path().join("p.wasm"), core).unwrap();
    let made = || {
        let mut run = Run::new(scratch.path(), ["run-plugin", "p.wasm", "-VV"]);
        run.input = CALL.into();
        run.environment = vec![("XDG_CACHE_HOME".into(), scratch.path().join("cache").into())];
        let ran = run.start().unwrap();
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "[]\n"), "{}", ran.stderr);
        ran.stderr.matches("making a component of a core module").count()
    };
    assert_eq!([made(), made()], [1, 0]);
}

#[test]
fn what_a_core_module_prints_is_shown_to_authors_only() {
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
fn a_component_that_prints_is_used_everywhere_and_shown_to_authors_only() {
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
