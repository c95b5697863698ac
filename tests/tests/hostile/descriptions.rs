//! What `describe` does. The operator calls it once, when it loads a plugin, and keeps the reply.

use super::{SANDBOX, is_alive, is_short, load};
use boson_sandbox::{Error, ErrorKind};
use boson_tests::component::component;

/// A plugin of the stage `ops` whose `describe` has this body. At 2048 is a valid description: addresses and lengths of
/// name, version, schema, and lists.
fn described(body: &str) -> Result<(), Error> {
    let module = format!(
        r#"(module
            (memory (export "memory") 8)
            (data (i32.const 1024) "theirs1.0.0{{}}\1b\0a")
            (data (i32.const 2048) "\00\04\00\00\06\00\00\00\06\04\00\00\05\00\00\00\0b\04\00\00\02\00\00\00")
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)
            (func $describe (export "boson:types/about@1.0.0#describe") (result i32) {body} (i32.const 2048))
            (func (export "boson:ops/operations@1.0.0#apply") (param i32) (result i32) unreachable)
            (func (export "boson:ops/operations@1.0.0#find") (param i32) (result i32) unreachable))"#
    );
    let plugin = load(&component(&module, "ops").unwrap()).unwrap();
    plugin.describe(&SANDBOX).map(drop)
}

#[track_caller]
fn fails(body: &str, kind: ErrorKind, words: &str) {
    let failure = described(body).unwrap_err();
    assert_eq!(failure.kind, kind, "{failure}");
    assert!(failure.message.contains(words), "no {words:?} in {failure}");
    is_short(&failure);
}

/// Sets a text of the description, or the list of codes: offset of its address, address and length.
fn set(offset: u32, at: u32, length: u32) -> String {
    format!(
        "(i32.store offset={offset} (i32.const 2048) (i32.const {at}))
         (i32.store offset={} (i32.const 2048) (i32.const {length}))",
        offset + 4
    )
}

/// Offsets of the parts of a description.
const NAME: u32 = 0;
const VERSION: u32 = 8;
const SCHEMA: u32 = 16;
const CODES: u32 = 24;

#[test]
fn a_description_that_never_comes_is_stopped() {
    described("").unwrap();
    fails("unreachable", ErrorKind::Trapped, "stopped with a trap");
    fails("(loop (br 0))", ErrorKind::OutOfFuel, "used up its");
    fails("(drop (call $describe))", ErrorKind::TooDeep, "exceeded its stack");
    is_alive();
}

#[test]
fn every_call_describes_the_plugin_in_the_same_way() {
    // It traps the second time in the same memory.
    let once = "(if (i32.load (i32.const 4096)) (then unreachable)) (i32.store (i32.const 4096) (i32.const 1))";
    for _ in 0..3 {
        described(once).unwrap();
    }
}

#[test]
fn texts_of_a_description_are_checked() {
    let text = 'x' as u32;
    let fill = format!("(memory.fill (i32.const 65536) (i32.const {text}) (i32.const 400000))");
    for (part, words) in [(NAME, "has a name that is not"), (VERSION, "has a version that is not")] {
        for (at, length) in [(1037, 2), (0, 0), (65_536, 64)] {
            let body = format!("{fill} {}", set(part, at, length));
            fails(&body, ErrorKind::Malformed, words);
        }
    }
    let lies = format!("{fill} {}", set(SCHEMA, 65_536, 400_000));
    fails(&lies, ErrorKind::Malformed, "a settings schema of more than 64 KiB");
    fails(
        &set(SCHEMA, 1024, 6),
        ErrorKind::Malformed,
        "has a settings schema that is not JSON",
    );
    is_alive();
}

/// The codes are one record of six words many times: zeros, which are empty texts, or one large text.
#[test]
fn codes_of_a_description_are_bounded() {
    fails(&set(CODES, 65_536, 1001), ErrorKind::Malformed, "more than 1000 codes");
    let large =
        "(i32.store (i32.const 65536) (i32.const 100000)) (i32.store offset=4 (i32.const 65536) (i32.const 400000))
        (memory.copy (i32.const 65560) (i32.const 65536) (i32.const 24))";
    let body = format!("{large} {}", set(CODES, 65_536, 2));
    fails(&body, ErrorKind::Malformed, "more than 512 KiB of texts");
    let million = set(CODES, 65_536, 1_000_000);
    let failure = described(&million).unwrap_err();
    assert!(
        matches!(
            failure.kind,
            ErrorKind::OverOutput | ErrorKind::Malformed | ErrorKind::Trapped
        ),
        "{failure}"
    );
    is_alive();
}
