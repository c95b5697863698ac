//! The limits of a call: a plugin that exceeds one is stopped with an error of its own class, and nothing else.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use boson_componentize::component;
use boson_document::json;
use boson_sandbox::json_call::JsonCallError;
use boson_sandbox::{Cache, Error, ErrorKind, Limits, Measures, Plugin, Sandbox, Source};
use std::time::Duration;

/// A call of `find`.
const FIND: &str = r#"{"request": {"document": {"a": 1}, "document-name": "m.yml", "path": "/a"}}"#;

fn sandbox(limits: Limits) -> Sandbox {
    Sandbox::new(limits, Cache::none()).unwrap()
}

/// A plugin of the stage `ops` whose `find` has this body; its memory has 128 KiB and grows at will.
fn plugin(sandbox: &Sandbox, find: &str, extra: &str) -> Plugin {
    let text = format!(
        r#"(module
            {extra}
            (memory (export "memory") 2)
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 65536))
            (func (export "boson:types/about@1.0.0#describe") (result i32) unreachable)
            (func (export "boson:ops/operations@1.0.0#apply") (param i32) (result i32) unreachable)
            (func $find (export "boson:ops/operations@1.0.0#find") (param i32) (result i32) {find}))"#
    );
    let bytes = component(&wat::parse_str(&text).unwrap()).unwrap();
    sandbox.load("theirs", &bytes, Source::Bytes("theirs".into())).unwrap()
}

/// Calls `find` of a plugin with this body, which has to fail.
#[track_caller]
fn failure(limits: Limits, find: &str, extra: &str) -> (Error, Measures) {
    let sandbox = sandbox(limits);
    let plugin = plugin(&sandbox, find, extra);
    match sandbox.call_json(&plugin, "find", &json::parse(FIND).unwrap()) {
        Err(JsonCallError::Plugin(failure, measures)) => (failure, measures),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn fails(limits: Limits, find: &str, extra: &str, kind: ErrorKind, words: &str) {
    let (failure, _) = failure(limits, find, extra);
    assert_eq!(failure.kind, kind, "{failure}");
    assert!(failure.to_string().contains(words), "{failure}");
    assert_eq!(failure.plugin, "theirs");
}

#[test]
fn a_loop_runs_out_of_fuel_after_the_same_amount_each_time() {
    let limits = || Limits {
        fuel: 1_000_000,
        ..Limits::default()
    };
    let [(first, one), (_, two)] = [(); 2].map(|()| failure(limits(), "(loop (br 0)) unreachable", ""));
    assert_eq!(first.kind, ErrorKind::OutOfFuel);
    assert!(
        first.to_string().contains("used up its 1000000 units of fuel"),
        "{first}"
    );
    assert_eq!(one.fuel, two.fuel);
}

#[test]
fn a_loop_with_too_much_fuel_meets_the_deadline() {
    let limits = Limits {
        fuel: u64::MAX / 2,
        deadline: Duration::from_secs(1),
        ..Limits::default()
    };
    fails(
        limits,
        "(loop (br 0)) unreachable",
        "",
        ErrorKind::Deadline,
        "more than 1 s",
    );
}

#[test]
fn memory_is_bounded() {
    let limits = Limits {
        memory: 4 << 20,
        ..Limits::default()
    };
    let grow = "(loop (drop (memory.grow (i32.const 16))) (br 0)) unreachable";
    fails(limits, grow, "", ErrorKind::OverMemory, "4 MiB");
}

#[test]
fn tables_are_bounded() {
    let grow = "(loop (drop (table.grow $t (ref.null func) (i32.const 50000))) (br 0)) unreachable";
    let table = "(table $t 1 funcref)";
    fails(Limits::default(), grow, table, ErrorKind::OverMemory, "table elements");
}

#[test]
fn the_stack_is_bounded() {
    let call = "(call $endless) (i32.const 0)";
    let endless = "(func $endless (call $endless))";
    fails(
        Limits::default(),
        call,
        endless,
        ErrorKind::TooDeep,
        "exceeded its stack",
    );
}

#[test]
fn a_reply_is_bounded() {
    // ok(found) with a text of 100 MB, for which the plugin has memory.
    let big = "(drop (memory.grow (i32.const 1700)))
        (i32.store (i32.const 4) (i32.const 16)) (i32.store (i32.const 8) (i32.const 100000000))
        (memory.fill (i32.const 16) (i32.const 32) (i32.const 100000000)) (i32.const 0)";
    fails(Limits::default(), big, "", ErrorKind::OverOutput, "64 MiB");
}

#[test]
fn a_reply_outside_of_memory_is_a_failure_of_the_plugin() {
    let wild = "(i32.store (i32.const 4) (i32.const -16)) (i32.store (i32.const 8) (i32.const 4096)) (i32.const 0)";
    let (failure, _) = failure(Limits::default(), wild, "");
    assert!(
        matches!(failure.kind, ErrorKind::Malformed | ErrorKind::Trapped),
        "{failure}"
    );
}

#[test]
fn a_trap_names_the_functions() {
    let call = "(call $inner) (i32.const 0)";
    let (failure, _) = failure(Limits::default(), call, "(func $inner unreachable)");
    assert_eq!(failure.kind, ErrorKind::Trapped);
    assert_eq!(failure.functions[0], "inner");
}

#[test]
fn no_state_of_a_call_survives_it() {
    let sandbox = sandbox(Limits::default());
    let once = "(if (i32.load (i32.const 1024)) (then unreachable))
        (i32.store (i32.const 1024) (i32.const 1)) (i32.const 0)";
    let plugin = plugin(&sandbox, once, "");
    for _ in 0..3 {
        let reply = sandbox.call_json(&plugin, "find", &json::parse(FIND).unwrap());
        assert!(!reply.unwrap().failed);
    }
}
