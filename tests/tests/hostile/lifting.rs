//! Replies that are no values of their types: the host reads them from the memory of the plugin.

use super::{failure, is_alive, load, ops};
use boson_sandbox::ErrorKind;

/// Bytes of a diagnostic in a reply, and of a place that it refers to.
const DIAGNOSTIC: u32 = 104;
const RELATED: u32 = 48;
/// Where there is room for large replies.
const LIST_ADDRESS: u32 = 8 << 16;

/// `err` with a list: its address and length.
fn err(at: i64, length: i64) -> String {
    format!(
        "(i32.store8 (i32.const 4096) (i32.const 1)) (i32.store (i32.const 4100) (i32.const {at}))
         (i32.store (i32.const 4104) (i32.const {length})) (i32.const 4096)"
    )
}

/// `ok` with a text: its address and length.
fn ok(at: i64, length: i64) -> String {
    format!(
        "(i32.store (i32.const 4100) (i32.const {at})) (i32.store (i32.const 4104) (i32.const {length})) (i32.const 4096)"
    )
}

/// Writes a list of records of this size, whose words at `offset` are an address and a length.
fn list(at: u32, count: u32, size: u32, offset: u32, [address, length]: [u32; 2]) -> String {
    format!(
        "(local.set $to (i32.const {at}))
         (loop
            (i32.store offset={offset} (local.get $to) (i32.const {address}))
            (i32.store offset={} (local.get $to) (i32.const {length}))
            (local.set $to (i32.add (local.get $to) (i32.const {size})))
            (br_if 0 (i32.lt_u (local.get $to) (i32.const {}))))",
        offset + 4,
        at + count * size
    )
}

#[track_caller]
fn is_one_of(find: &str, kinds: &[ErrorKind]) {
    let failure = failure(&load(&ops(find, "")).unwrap());
    assert!(kinds.contains(&failure.kind), "{failure}");
}

#[test]
fn addresses_and_lengths_outside_of_memory_are_faults_of_the_plugin() {
    let kinds = &[ErrorKind::Malformed, ErrorKind::Trapped, ErrorKind::OverOutput];
    for (at, length) in [
        (-16, 4096),
        (0, -1),
        (524_280, 9),
        (-1, 1),
        (1, 0x2762_7628),
        (4, 1 << 31),
    ] {
        is_one_of(&ok(at, length), kinds);
        is_one_of(&err(at, length), kinds);
    }
    // The reply itself.
    for address in [-4_i64, -1, 4097, 524_287] {
        is_one_of(&format!("(i32.const {address})"), kinds);
    }
    is_alive();
}

#[test]
fn texts_that_are_not_utf_8_and_cases_that_do_not_exist_are_faults_of_the_plugin() {
    let texts: [&[u8]; 4] = [b"\xff\xfe", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf0\x9f\x98"];
    for text in texts {
        let bytes: String = text.iter().map(|byte| format!("\\{byte:02x}")).collect();
        let plugin = ops(
            &ok(3000, text.len() as i64),
            &format!("(data (i32.const 3000) \"{bytes}\")"),
        );
        let failure = failure(&load(&plugin).unwrap());
        assert_eq!(failure.kind, ErrorKind::Malformed, "{failure}");
    }
    let kinds = &[ErrorKind::Malformed, ErrorKind::Trapped];
    // The case of the result; the severity, and the case of the place of its first diagnostic.
    is_one_of("(i32.store8 (i32.const 4096) (i32.const 7)) (i32.const 4096)", kinds);
    for offset in [0, 20, 24] {
        let case = format!("(i32.store8 (i32.const {}) (i32.const 9))", 16_384 + offset);
        let place = "(i32.store8 (i32.const 16404) (i32.const 1))";
        let written = if offset == 24 { format!("{place} {case}") } else { case };
        is_one_of(&format!("{written} {}", err(16_384, 1)), kinds);
    }
    is_alive();
}

#[test]
fn a_reply_that_refers_to_one_place_many_times_counts_each_time() {
    let grow = "(local $to i32) (drop (memory.grow (i32.const 40)))";
    // A thousand diagnostics with one text of 500 kB.
    let texts = list(LIST_ADDRESS, 1000, DIAGNOSTIC, 12, [LIST_ADDRESS + 200_000, 500_000]);
    let texts = format!("{grow} {texts} {}", err(LIST_ADDRESS.into(), 1000));
    // A thousand with one list of ten thousand places.
    let places = list(
        LIST_ADDRESS,
        1000,
        DIAGNOSTIC,
        64,
        [LIST_ADDRESS + 1000 * DIAGNOSTIC, 10_000],
    );
    let cases = list(LIST_ADDRESS + 1000 * DIAGNOSTIC, 10_000, RELATED, 40, [0, 0]);
    let places = format!("{grow} {cases} {places} {}", err(LIST_ADDRESS.into(), 1000));
    for find in [texts, places] {
        is_one_of(&find, &[ErrorKind::OverOutput]);
    }
    is_alive();
}
