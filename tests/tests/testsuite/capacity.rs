//! The limit on the parts of a component: enough for those of Python and for composed ones, and the same for both
//! allocators of the engine.

use boson_tests::Ran;
use boson_tests::compiled::sha256;
use boson_tests::component::component;
use std::path::Path;
use std::process::{Command, Stdio};

/// Address space in which a component can run, but which is too small for the pool of instances.
const MAX_ADDRESS_SPACE_KIB: &str = "41943040";

/// A plugin of the ops stage whose `find` answers `7`, with these additional parts.
fn plugin(find: &str, extra: &str) -> Vec<u8> {
    let module = format!(
        r#"(module
            (memory $main (export "memory") 1)
            {extra}
            (data (memory $main) (i32.const 4096) "7")
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 8192))
            (func (export "boson:types/about@1.0.0#describe") (result i32) unreachable)
            (func (export "boson:ops/operations@1.0.0#apply") (param i32) (result i32) unreachable)
            (func (export "boson:ops/operations@1.0.0#find") (param i32) (result i32)
                {find}
                (i32.store $main (i32.const 20) (i32.const 4096))
                (i32.store $main (i32.const 24) (i32.const 1))
                (i32.const 16)))"#
    );
    component(&module, "ops").unwrap()
}

/// The component with this number of additional instances of a core module.
fn with_instances(mut component: Vec<u8>, module: &str, count: usize) -> Vec<u8> {
    let index = sections(&component, 1);
    push(&mut component, 1, &wat::parse_str(module).unwrap());
    let one = [[0].to_vec(), number(index), number(0)].concat();
    push(&mut component, 2, &[number(count), one.repeat(count)].concat());
    component
}

/// The component with an instance of another one inside.
fn with_component(mut outer: Vec<u8>, inner: &str) -> Vec<u8> {
    let index = sections(&outer, 4);
    push(&mut outer, 4, &wat::parse_str(inner).unwrap());
    push(&mut outer, 5, &[number(1), vec![0], number(index), number(0)].concat());
    outer
}

/// Number of sections of this kind: of modules, or components.
fn sections(component: &[u8], kind: u8) -> usize {
    let (mut rest, mut count) = (&component[8..], 0);
    while let [id, size @ ..] = rest {
        count += usize::from(*id == kind);
        let end = size.iter().position(|byte| byte & 0x80 == 0).unwrap();
        let size_of_section = size[..=end]
            .iter()
            .rev()
            .fold(0, |size, byte| size << 7 | usize::from(byte & 0x7f));
        rest = &size[end + 1 + size_of_section..];
    }
    count
}

fn push(component: &mut Vec<u8>, kind: u8, content: &[u8]) {
    component.push(kind);
    component.extend(number(content.len()));
    component.extend(content);
}

/// LEB128.
fn number(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = u8::try_from(number & 0x7f).unwrap();
        number >>= 7;
        bytes.push(if number > 0 { byte | 0x80 } else { byte });
        if number == 0 {
            return bytes;
        }
    }
}

/// Calls `find`, with unlimited or limited address space.
fn call(component: &[u8], space: &str) -> Ran {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("plugin.wasm");
    std::fs::write(&file, component).unwrap();
    let script = format!("ulimit -S -v {space} && exec \"$@\" --call find <input");
    std::fs::write(
        scratch.path().join("input"),
        r#"{"request": {"document": {"a": 7}, "document-name": "m.yml", "path": "/a"}}"#,
    )
    .unwrap();
    let output = Command::new("sh")
        .args(["-c", &script, "sh"])
        .arg(boson_tests::binary().unwrap())
        .args([Path::new("run-plugin"), &file])
        .current_dir(scratch.path())
        .env("XDG_CACHE_HOME", scratch.path())
        .env("BOSON_LOG", "debug")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Calls with either allocator.
fn both(component: &[u8], holds: impl Fn(&Ran) -> bool) {
    for (space, pooled) in [("unlimited", true), (MAX_ADDRESS_SPACE_KIB, false)] {
        let ran = call(component, space);
        assert!(holds(&ran), "{space}: {} {}\n{}", ran.code, ran.stdout, ran.stderr);
        assert_eq!(
            !ran.stderr.contains("creating instances on demand"),
            pooled,
            "{}",
            ran.stderr
        );
    }
}

fn answers(ran: &Ran) -> bool {
    ran.code == 0 && ran.stdout.contains("\"value\": 7")
}

/// Checks that both allocators give exactly the same error.
fn both_refuse(component: &[u8], words: &str) {
    let digest = format!("sha256:{}", &sha256(component)[..12]);
    let error = format!("error[plugin-refused]: plugin 'plugin.wasm' {words} ({digest})\n");
    both(component, |ran| {
        ran.code == 1 && ran.stderr.contains(&error) && !ran.stderr.contains("RUST_BACKTRACE")
    });
}

#[test]
fn a_component_has_at_most_64_core_instances() {
    let base = plugin("", "");
    both(&with_instances(base.clone(), "(module (table 1 funcref))", 11), answers);
    both(&with_instances(base.clone(), "(module)", 40), answers);
    both_refuse(&with_instances(base, "(module)", 64), "has more than 64 core instances");
}

#[test]
fn a_component_has_at_most_3_memories_in_one_module_or_several() {
    let uses = "(i32.store $second (i32.const 0) (i32.const 5))
        (if (i32.ne (i32.load $second (i32.const 0)) (i32.const 5)) (then unreachable))
        (if (i32.load $third (i32.const 0)) (then unreachable))";
    let three = plugin(uses, "(memory $second 1) (memory $third 1)");
    both(&three, answers);
    both(&with_instances(plugin("", ""), "(module (memory 1))", 2), answers);
    both_refuse(
        &with_instances(three, "(module (memory 1))", 1),
        "has more than 3 memories",
    );
}

/// Two components that call each other: the adapter between them uses the memories of both.
const COMPOSED: &str = r#"(component
    (component $a
        (core module $m
            (memory (export "memory") 1)
            (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
            (func (export "f") (param i32 i32) (result i32) (i32.load8_u (local.get 0))))
        (core instance $i (instantiate $m))
        (func (export "f") (param "text" string) (result u32)
            (canon lift (core func $i "f") (memory (core memory $i "memory")) (realloc (core func $i "realloc")))))
    (component $b
        (import "f" (func $f (param "text" string) (result u32)))
        (core module $memory (memory (export "memory") 1) (data (i32.const 8) "x"))
        (core instance $memory (instantiate $memory))
        (core func $lowered (canon lower (func $f) (memory (core memory $memory "memory"))))
        (core module $m
            (import "" "f" (func $f (param i32 i32) (result i32)))
            (func $start (if (i32.ne (call $f (i32.const 8) (i32.const 1)) (i32.const 120)) (then unreachable)))
            (start $start))
        (core instance (instantiate $m (with "" (instance (export "f" (func $lowered)))))))
    (instance $ia (instantiate $a))
    (instance (instantiate $b (with "f" (func $ia "f")))))"#;

#[test]
fn a_composed_component_runs() {
    both(&with_component(plugin("", ""), COMPOSED), answers);
}
