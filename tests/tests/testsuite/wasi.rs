//! Components that import WASI, as compilers build them by default: what they need to start is answered, and the rest
//! stops the call.

use boson_tests::component::component_of;
use boson_tests::{Ran, host_with_input};

/// A call of `find`.
const FIND: &str = r#"{"request": {"document": {"a": 1}, "document-name": "m.yml", "path": "/a"}}"#;

const WASI: &str = r#"
package test:plugin;

world w {
    include boson:ops/ops@1.0.0;
    import wasi:cli/environment@0.2.6;
    import wasi:cli/exit@0.2.6;
    import wasi:cli/stdin@0.2.6;
    import wasi:cli/stdout@0.2.6;
    import wasi:clocks/wall-clock@0.2.6;
    import wasi:filesystem/preopens@0.2.6;
    import wasi:io/poll@0.2.6;
    import wasi:random/insecure-seed@0.2.6;
    import wasi:random/random@0.2.6;
}

package wasi:cli@0.2.6 {
    interface environment { get-environment: func() -> list<tuple<string, string>>; }
    interface exit { exit: func(status: result); }
    interface stdin { use wasi:io/streams@0.2.6.{input-stream}; get-stdin: func() -> input-stream; }
    interface stdout { use wasi:io/streams@0.2.6.{output-stream}; get-stdout: func() -> output-stream; }
}
package wasi:clocks@0.2.6 {
    interface wall-clock {
        record datetime { seconds: u64, nanoseconds: u32 }
        now: func() -> datetime;
    }
}
package wasi:filesystem@0.2.6 {
    interface types {
        resource descriptor { read: func(length: u64, offset: u64) -> result<tuple<list<u8>, bool>, u8>; }
    }
    interface preopens {
        use types.{descriptor};
        get-directories: func() -> list<tuple<descriptor, string>>;
    }
}
package wasi:io@0.2.6 {
    interface error { resource error; }
    interface poll {
        resource pollable { block: func(); }
        poll: func(in: list<borrow<pollable>>) -> list<u32>;
    }
    interface streams {
        use error.{error};
        use poll.{pollable};
        variant stream-error { last-operation-failed(error), closed }
        resource input-stream { blocking-read: func(len: u64) -> result<list<u8>, stream-error>; }
        resource output-stream {
            check-write: func() -> result<u64, stream-error>;
            blocking-write-and-flush: func(contents: list<u8>) -> result<_, stream-error>;
            subscribe: func() -> pollable;
        }
    }
}
package wasi:random@0.2.6 {
    interface insecure-seed { insecure-seed: func() -> tuple<u64, u64>; }
    interface random { get-random-bytes: func(len: u64) -> list<u8>; }
}
"#;

/// A plugin of the stage ops that uses random bytes while it starts and in its description, and whose `find` has this
/// body and answers `7`.
fn plugin(find: &str) -> Vec<u8> {
    let text = format!(
        r#"(module
            (import "wasi:cli/environment@0.2.6" "get-environment" (func $environment (param i32)))
            (import "wasi:cli/exit@0.2.6" "exit" (func $exit (param i32)))
            (import "wasi:cli/stdin@0.2.6" "get-stdin" (func $stdin (result i32)))
            (import "wasi:cli/stdout@0.2.6" "get-stdout" (func $stdout (result i32)))
            (import "wasi:clocks/wall-clock@0.2.6" "now" (func $now (param i32)))
            (import "wasi:filesystem/preopens@0.2.6" "get-directories" (func $directories (param i32)))
            (import "wasi:filesystem/types@0.2.6" "[method]descriptor.read" (func $read (param i32 i64 i64 i32)))
            (import "wasi:io/poll@0.2.6" "poll" (func $poll (param i32 i32 i32)))
            (import "wasi:io/streams@0.2.6" "[method]input-stream.blocking-read"
                (func $input (param i32 i64 i32)))
            (import "wasi:io/streams@0.2.6" "[method]output-stream.check-write" (func $room (param i32 i32)))
            (import "wasi:io/streams@0.2.6" "[method]output-stream.blocking-write-and-flush"
                (func $write (param i32 i32 i32 i32)))
            (import "wasi:io/streams@0.2.6" "[method]output-stream.subscribe"
                (func $subscribe (param i32) (result i32)))
            (import "wasi:io/streams@0.2.6" "[resource-drop]output-stream" (func $drop (param i32)))
            (import "wasi:random/insecure-seed@0.2.6" "insecure-seed" (func $seed (param i32)))
            (import "wasi:random/random@0.2.6" "get-random-bytes" (func $random (param i64 i32)))
            (memory (export "memory") 4)
            (global $heap (mut i32) (i32.const 8192))
            (data (i32.const 4096) "7")
            (data (i32.const 4100) "printed\n")
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                global.get $heap
                (global.set $heap (i32.add (i32.and (i32.add (local.get 3) (i32.const 7)) (i32.const -8))
                    (global.get $heap))))
            (func (export "_initialize") (call $random (i64.const 100000) (i32.const 64))
                (if (i32.ne (i32.load (i32.const 68)) (i32.const 100000)) (then unreachable))
                (if (i32.ne (i32.load8_u offset=99999 (i32.load (i32.const 64))) (i32.const 42)) (then unreachable)))
            (func (export "boson:types/about@1.0.0#describe") (result i32)
                (call $random (i64.const 2496) (i32.const 64))
                (i32.const 256))
            (func (export "boson:ops/operations@1.0.0#apply") (param i32) (result i32) unreachable)
            (func $must (param i32) (if (i32.eqz (local.get 0)) (then unreachable)))
            (func (export "boson:ops/operations@1.0.0#find") (param i32) (result i32)
                (local $stream i32)
                {find}
                (i32.store (i32.const 20) (i32.const 4096))
                (i32.store (i32.const 24) (i32.const 1))
                (i32.const 16)))"#
    );
    component_of(&text, "ops", "w", &[("wasi.wit", WASI)]).unwrap()
}

fn call(component: &[u8]) -> Ran {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("plugin.wasm");
    std::fs::write(&file, component).unwrap();
    let arguments = ["run-plugin", file.to_str().unwrap(), "--call", "find"];
    host_with_input(scratch.path(), arguments, FIND.as_bytes()).unwrap()
}

#[test]
fn what_a_runtime_needs_is_answered_in_the_same_way_on_every_machine() {
    let ran = call(&plugin(
        r#"
        (i32.store (i32.const 84) (i32.const 1))
        (call $environment (i32.const 80))
        (call $must (i32.eqz (i32.load (i32.const 84))))
        (i32.store (i32.const 84) (i32.const 1))
        (call $directories (i32.const 80))
        (call $must (i32.eqz (i32.load (i32.const 84))))
        (call $now (i32.const 80))
        (call $must (i64.eq (i64.load (i32.const 80)) (i64.const 946684800)))
        (call $seed (i32.const 80))
        (call $must (i64.eq (i64.load (i32.const 80)) (i64.const 0x2a2a2a2a2a2a2a2a)))
        (call $must (i64.eq (i64.load (i32.const 88)) (i64.const 0x2a2a2a2a2a2a2a2a)))
        (local.set $stream (call $stdout))
        (call $room (local.get $stream) (i32.const 80))
        (call $must (i32.eqz (i32.load8_u (i32.const 80))))
        (call $must (i64.gt_u (i64.load (i32.const 88)) (i64.const 4095)))
        (call $write (local.get $stream) (i32.const 4100) (i32.const 8) (i32.const 80))
        (call $must (i32.eqz (i32.load8_u (i32.const 80))))
        (i32.store (i32.const 100) (call $subscribe (local.get $stream)))
        (call $poll (i32.const 100) (i32.const 1) (i32.const 80))
        (call $must (i32.eq (i32.load (i32.const 84)) (i32.const 1)))
        "#,
    ));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("\"value\": 7"), "{}", ran.stdout);
    assert!(ran.stderr.contains("printed"), "{}", ran.stderr);
}

#[test]
fn everything_else_traps_with_its_name() {
    for (find, words) in [
        (
            "(call $input (call $stdin) (i64.const 1) (i32.const 80))",
            "wasi:io/streams@0.2.6#[method]input-stream.blocking-read",
        ),
        ("(call $exit (i32.const 1))", "wasi:cli/exit@0.2.6#exit"),
        (
            "(call $random (i64.const 8) (i32.const 80))",
            "wasi:random/random@0.2.6#get-random-bytes",
        ),
        (
            "(call $poll (i32.const 100) (i32.const 0) (i32.const 80))",
            "wasi:io/poll@0.2.6#poll",
        ),
    ] {
        let ran = call(&plugin(find));
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert!(ran.stderr.contains("error[plugin-trapped]"), "{}", ran.stderr);
        assert!(
            ran.stderr.contains(&format!("active functions: {words}")),
            "{}",
            ran.stderr
        );
        assert!(ran.stderr.contains("a plugin has no files"), "{}", ran.stderr);
        assert_eq!(ran.stdout, "");
    }
}

/// There are no directories, so no file has a handle.
#[test]
fn a_component_that_reads_a_file_fails() {
    let ran = call(&plugin(
        "(call $read (i32.const 1) (i64.const 1) (i64.const 0) (i32.const 80))",
    ));
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("unknown handle index 1"), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
}

#[test]
fn a_component_with_async_functions_is_refused_with_what_to_do() {
    let component = wat::parse_str("(component (type $s (stream u8)) (core func (canon stream.new $s)))").unwrap();
    let ran = call(&component);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("error[plugin-async]"), "{}", ran.stderr);
    assert!(ran.stderr.contains("wasm32-wasip2"), "{}", ran.stderr);
}
