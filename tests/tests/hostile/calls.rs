//! What runs around a call: start functions, `cabi_realloc` for the input, and the function after a reply.

use super::{fails, is_alive, is_short, load, ops};
use boson_sandbox::ErrorKind;
use boson_tests::component::component;

#[test]
fn a_start_function_is_limited_like_a_call() {
    for (body, kind) in [
        ("(loop (br 0))", ErrorKind::OutOfFuel),
        ("unreachable", ErrorKind::Trapped),
        ("(call $start)", ErrorKind::TooDeep),
        (
            "(loop (drop (memory.grow (i32.const 16))) (br 0))",
            ErrorKind::OverMemory,
        ),
        (
            "(loop (drop (table.grow $t (ref.null func) (i32.const 30000))) (br 0))",
            ErrorKind::OverMemory,
        ),
        (
            "(memory.fill (i32.const 0) (i32.const 1) (i32.const -1))",
            ErrorKind::OutOfFuel,
        ),
    ] {
        let start = format!("(table $t 1 funcref) (func $start {body}) (start $start)");
        let failure = load(&ops("unreachable", &start))
            .map(|plugin| plugin.digest)
            .unwrap_err();
        assert_eq!(failure.kind, kind, "{body}: {failure}");
        is_short(&failure);
    }
    is_alive();
}

#[test]
fn what_a_component_has_from_the_beginning_counts() {
    let more = load(&ops("unreachable", "(memory $second 2000)"))
        .map(|plugin| plugin.digest)
        .unwrap_err();
    // By the pool of instances, or when the memory is created.
    let kinds = [ErrorKind::OverMemory, ErrorKind::Refused];
    assert!(kinds.contains(&more.kind), "{more}");
    let more = load(&ops("unreachable", "(table 60001 funcref)"))
        .map(|plugin| plugin.digest)
        .unwrap_err();
    assert!(kinds.contains(&more.kind), "{more}");
    is_short(&more);
    is_alive();
}

/// A plugin with this `cabi_realloc`; its parameters are the old address, the old size, the alignment and the size.
fn reallocating(body: &str, extra: &str) -> Vec<u8> {
    let module = format!(
        r#"(module {extra}
            (memory (export "memory") 2)
            (func $realloc (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) {body})
            (func (export "boson:types/about@1.0.0#describe") (result i32) unreachable)
            (func (export "boson:ops/operations@1.0.0#apply") (param i32) (result i32) unreachable)
            (func (export "boson:ops/operations@1.0.0#find") (param i32) (result i32) unreachable))"#
    );
    component(&module, "ops").unwrap()
}

#[test]
fn realloc_cannot_make_the_host_write_anywhere_else() {
    for (body, kinds) in [
        ("(i32.const -16)", &[ErrorKind::Trapped, ErrorKind::Malformed][..]),
        ("(i32.const 131071)", &[ErrorKind::Trapped, ErrorKind::Malformed]),
        // Not aligned.
        ("(i32.const 1)", &[ErrorKind::Trapped, ErrorKind::Malformed]),
        // Everything at one place: what the plugin reads is its own concern.
        ("(i32.const 1024)", &[ErrorKind::Trapped]),
        ("unreachable", &[ErrorKind::Trapped]),
        ("(loop (br 0)) unreachable", &[ErrorKind::OutOfFuel]),
        (
            "(loop (drop (memory.grow (i32.const 16))) (br 0)) unreachable",
            &[ErrorKind::OverMemory],
        ),
        (
            "(call $realloc (local.get 0) (local.get 1) (local.get 2) (local.get 3))",
            &[ErrorKind::TooDeep],
        ),
    ] {
        let plugin = load(&reallocating(body, "")).unwrap();
        let failure = super::failure(&plugin);
        assert!(kinds.contains(&failure.kind), "{body}: {failure}");
    }
    is_alive();
}

#[test]
fn a_function_after_a_reply_is_limited_like_the_call() {
    let post = |body: &str| {
        let name = "cabi_post_boson:ops/operations@1.0.0#find";
        let extra = format!(r#"(func $post (export "{name}") (param i32) {body}) (data (i32.const 3000) "7")"#);
        let seven = "(i32.store (i32.const 4100) (i32.const 3000)) (i32.store (i32.const 4104) (i32.const 1))";
        ops(&format!("{seven} (i32.const 4096)"), &extra)
    };
    fails(&post("(loop (br 0))"), ErrorKind::OutOfFuel, "used up its");
    fails(&post("unreachable"), ErrorKind::Trapped, "stopped with a trap");
    fails(
        &post("(call $post (local.get 0))"),
        ErrorKind::TooDeep,
        "exceeded its stack",
    );
    let grow = "(loop (drop (memory.grow (i32.const 16))) (br 0))";
    fails(&post(grow), ErrorKind::OverMemory, "64 MiB");
    is_alive();
}
