//! Components that keep a compiler busy. It has one second of processor time here, so that a machine that needs longer
//! finds the same.

use super::ops;
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Why a compiler may refuse a component.
const REASONS: [&str; 6] = [
    "needs too much processor time to compile",
    "needs too much memory to compile",
    "is nested too deeply to be compiled",
    "has more than 384 MiB of machine code",
    "is not a valid component: ",
    "needs more than",
];

/// Lets `host` load a plugin, with limited processor time for itself and for the compiler.
fn load(scratch: &Path, component: &[u8]) -> (Option<i32>, String) {
    std::fs::write(scratch.join("plugin.wasm"), component).unwrap();
    let output = Command::new("sh")
        .args(["-c", "ulimit -S -t 1 && exec \"$@\"", "sh"])
        .arg(boson_tests::binary().unwrap())
        .args(["run-plugin", "plugin.wasm", "--call", "describe"])
        .current_dir(scratch)
        .env("XDG_CACHE_HOME", scratch)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    (
        output.status.code(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

fn block(depth: usize, inside: &str) -> String {
    format!("{} {inside} {}", "(block ".repeat(depth), ")".repeat(depth))
}

/// Families, each with the parts of a module.
fn families() -> Vec<(&'static str, String)> {
    let locals = (0..40_000).fold(String::new(), |mut text, nth| {
        let _ = write!(
            text,
            "(local.set {nth} (i32.add (local.get {}) (i32.const 1)))",
            (nth * 7919) % 40_000
        );
        text
    });
    let targets = "0 ".repeat(2_000_000);
    let ladder = (0..3000).fold(String::new(), |mut text, nth| {
        let _ = write!(text, "(br_if {nth} (local.get 0))");
        text
    });
    let loops = "(loop (br_if 0 (local.get 0)) ".repeat(2000) + &")".repeat(2000);
    let calls = "(call $callee (local.get 0) (local.get 0) (local.get 0) (local.get 0))".repeat(80_000);
    vec![
        ("locals", format!("(func (local {}) {locals})", "i32 ".repeat(40_000))),
        ("targets", format!("(func (block (br_table {targets} (i32.const 0))))")),
        ("blocks", format!("(func (param i32) {})", block(3000, &ladder))),
        ("deep blocks", format!("(func {})", block(20_000, ""))),
        ("loops", format!("(func (param i32) {loops})")),
        (
            "calls",
            format!("(func $callee (param i32 i32 i32 i32)) (func (param i32) {calls})"),
        ),
        (
            "functions",
            "(func (param i64) (result i64) (i64.mul (local.get 0) (local.get 0)))".repeat(100_000),
        ),
        ("segments", "(data \"x\")".repeat(90_000)),
        ("globals", "(global (mut i64) (i64.const 7))".repeat(200_000)),
        (
            "tables",
            format!(
                "(table $t 60000 funcref) (func $f) (elem (table $t) (i32.const 0) func {})",
                "$f ".repeat(60_000)
            ),
        ),
    ]
}

#[test]
fn whatever_is_compiled_ends_with_a_reason_of_one_sentence() {
    for (family, parts) in families() {
        let scratch = tempfile::tempdir().unwrap();
        let (code, said) = load(scratch.path(), &ops("unreachable", &parts));
        assert!(said.len() < 3000, "{family}: {} bytes", said.len());
        match code {
            Some(0) => assert!(!said.contains("error"), "{family}: {said}"),
            Some(1) => {
                assert!(said.contains("error[plugin-refused]"), "{family}: {said}");
                assert!(REASONS.iter().any(|reason| said.contains(reason)), "{family}: {said}");
            }
            code => panic!("{family}: {code:?} {said}"),
        }
    }
}
