//! Plugins that were made to harm the host, by families. Whatever a plugin does, its own call or its loading fails with
//! an error of a known class and a message of limited length; the process goes on within its limits, and other plugins
//! are called as before. `tests/tests/fuzz.rs` adds generated plugins.
//!
//! | family | tests |
//! |---|---|
//! | imports: several, long names, many functions | `refused`, `types` |
//! | WASI in components | `testsuite/wasi.rs` |
//! | files: machine code, endless, no component, no description | `refused` |
//! | composition: nesting, instances that multiply, aliases | `types`, `testsuite/capacity.rs` |
//! | types: huge sections, functions with other types than the contract | `types` |
//! | custom sections: names of functions, long or with control codes; worlds of core modules | `sections` |
//! | compilation: large functions, many functions, locals, branches, nesting | `compilation` |
//! | start functions that loop, trap or grow | `calls` |
//! | growth of memories and tables; recursion | `calls`, `host/sandbox/tests/limits.rs` |
//! | `cabi_realloc` that traps, loops or returns bad addresses; functions after a reply | `calls` |
//! | replies: wrong lengths, overlapping lists, invalid UTF-8 and cases | `lifting` |
//! | replies: too many values, diagnostics, edits | `floods` |
//! | replies: duplicates, places that do not exist, unknown members, control characters | `testsuite/replies.rs` |
//! | patches that multiply what they copy or shift | `host/pipeline/src/bundle/patch.rs` |
//! | objects that install plugins, have reserved marks or privileges | `cluster/plugins/refused.rs` |
//! | descriptions that trap, loop, lie, or are huge | `descriptions` |
//! | settings schemas made for long comparisons | `host/pipeline/src/settings` |
//! | wrappers that call the rule often, or with huge arguments | `wrappers`, `testsuite/wrapping.rs` |
//! | many components, for the cache | `crowds` |
//! | many hostile calls beside normal ones | `crowds`, `cluster/memory.rs` |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod calls;
mod compilation;
mod crowds;
mod descriptions;
mod floods;
mod lifting;
mod refused;
mod sections;
mod types;
mod wrappers;

use boson_document::json;
use boson_sandbox::json_call::JsonCallError;
use boson_sandbox::{Cache, Error, ErrorKind, Limits, Plugin, Sandbox, Source};
use boson_tests::component::component;
use boson_tests::wrapper::COMMON;
use std::sync::LazyLock;
use std::time::Duration;

/// A call of `find`.
const FIND: &str = r#"{"request": {"document": {"a": 1}, "document-name": "m.yml", "path": "/a"}}"#;

/// Enough for every normal plugin here, and soon used up.
fn limits() -> Limits {
    Limits {
        fuel: 100_000_000,
        deadline: Duration::from_secs(30),
        memory: 64 << 20,
        ..Limits::default()
    }
}

/// A sandbox that compiles in a separate process, as in `host`.
static SANDBOX: LazyLock<Sandbox> =
    LazyLock::new(|| Sandbox::new(limits(), Cache::new(None, boson_tests::binary().ok())).unwrap());

fn load(bytes: &[u8]) -> Result<Plugin, Error> {
    SANDBOX.load("theirs", bytes, Source::Bytes("theirs".into()))
}

/// Loads a component that has to be refused, for this reason.
#[track_caller]
fn refused(bytes: &[u8], words: &str) {
    let failure = load(bytes).map(|plugin| plugin.digest).unwrap_err();
    assert_eq!(failure.kind, ErrorKind::Refused, "{failure}");
    is_short(&failure);
    assert!(failure.message.contains(words), "no {words:?} in {failure}");
}

/// Whether a message can be shown anywhere.
#[track_caller]
fn is_short(failure: &Error) {
    let text = failure.diagnostic();
    let text = format!("{} {}", text.message, text.help.unwrap_or_default());
    assert!(text.len() < 3000, "{} bytes", text.len());
    assert!(!text.contains(char::is_control), "{text:?}");
}

/// A component of the stage `ops` that describes itself as `theirs`. `find`: the body of its function; the address of
/// the reply is 4096, where an `ok` with an empty text is. `extra`: other parts of its module.
fn ops(find: &str, extra: &str) -> Vec<u8> {
    let module = format!(
        r#"(module {COMMON} {extra}
            (func (export "boson:ops/operations@1.0.0#apply") (param i32) (result i32) unreachable)
            (func $find (export "boson:ops/operations@1.0.0#find") (param i32) (result i32) {find}))"#
    );
    component(&module, "ops").unwrap()
}

/// The failure of a call of `find`.
#[track_caller]
fn failure(plugin: &Plugin) -> Error {
    match SANDBOX.call_json(plugin, "find", &json::parse(FIND).unwrap()) {
        Err(JsonCallError::Plugin(failure, _)) => {
            is_short(&failure);
            failure
        }
        other => panic!("{other:?}"),
    }
}

/// Loads a component, and calls `find`, which has to fail in this way.
#[track_caller]
fn fails(component: &[u8], kind: ErrorKind, words: &str) {
    let failure = failure(&load(component).unwrap());
    assert_eq!(failure.kind, kind, "{failure}");
    assert!(failure.message.contains(words), "no {words:?} in {failure}");
}

/// A plugin that behaves: its `find` returns 7.
fn normal() -> Vec<u8> {
    let seven =
        r#"(i32.store (i32.const 4100) (i32.const 3000)) (i32.store (i32.const 4104) (i32.const 1)) (i32.const 4096)"#;
    ops(seven, r#"(data (i32.const 3000) "7")"#)
}

/// Calls the normal plugin, which has to reply.
#[track_caller]
fn is_alive() {
    let plugin = load(&normal()).unwrap();
    let reply = SANDBOX.call_json(&plugin, "find", &json::parse(FIND).unwrap()).unwrap();
    assert_eq!(json::to_text(&reply.value), r#"{"value":7,"more":[]}"#);
}
