//! Components of other tools that import WASI.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use boson_componentize::{Error, without_wasi};
use std::path::Path;
use wasmparser::{KnownCustom, Name, Parser, Payload, Validator, WasmFeatures};
use wit_component::{ComponentEncoder, DecodedWasm, StringEncoding, embed_component_metadata};
use wit_parser::{Resolve, WorldItem};

const CONSOLE: &str = "boson:types/console@1.0.0";

/// The part of WASI that the components of these tests import, and a function that no version has.
const WASI: &str = r#"
package test:plugin;

world plugin {
    import wasi:cli/environment@0.2.6;
    import wasi:cli/exit@0.2.6;
    import wasi:cli/stdout@0.2.6;
    import wasi:cli/terminal-stdout@0.2.6;
    import wasi:clocks/monotonic-clock@0.2.6;
    import wasi:clocks/wall-clock@0.2.6;
    import wasi:filesystem/preopens@0.2.6;
    import wasi:io/poll@0.2.6;
    import wasi:random/random@0.2.6;
    import wasi:random/insecure-seed@0.2.6;
}

world silent {
    import wasi:cli/environment@0.2.6;
}

world waits {
    import wasi:clocks/monotonic-clock@0.3.0;
}

world other-types {
    import wasi:clocks/monotonic-clock@0.9.0;
}

package wasi:cli@0.2.6 {
    interface environment { get-environment: func() -> list<tuple<string, string>>; }
    interface exit { exit: func(status: result); }
    interface stdout { use wasi:io/streams@0.2.6.{output-stream}; get-stdout: func() -> output-stream; }
    interface terminal-output { resource terminal-output; }
    interface terminal-stdout {
        use terminal-output.{terminal-output};
        get-terminal-stdout: func() -> option<terminal-output>;
    }
}

package wasi:clocks@0.2.6 {
    interface monotonic-clock {
        use wasi:io/poll@0.2.6.{pollable};
        now: func() -> u64;
        resolution: func() -> u64;
        subscribe-duration: func(when: u64) -> pollable;
    }
    interface wall-clock {
        record datetime { seconds: u64, nanoseconds: u32 }
        now: func() -> datetime;
    }
}

package wasi:clocks@0.3.0 {
    interface monotonic-clock {
        now: func() -> u64;
        wait-for: async func(how-long: u64);
    }
}

package wasi:clocks@0.9.0 {
    interface monotonic-clock {
        now: func() -> string;
        resolution: func(of: string) -> f32;
        subscribe-duration: func();
    }
}

package wasi:filesystem@0.2.6 {
    interface types {
        resource descriptor {
            read: func(length: u64, offset: u64) -> result<tuple<list<u8>, bool>, u8>;
            open-at: func(path: string) -> result<descriptor, u8>;
        }
    }
    interface preopens {
        use types.{descriptor};
        get-directories: func() -> list<tuple<descriptor, string>>;
    }
}

package wasi:io@0.2.6 {
    interface error { resource error; }
    interface poll {
        resource pollable { ready: func() -> bool; block: func(); }
        poll: func(in: list<borrow<pollable>>) -> list<u32>;
    }
    interface streams {
        use error.{error};
        use poll.{pollable};
        variant stream-error { last-operation-failed(error), closed }
        resource output-stream {
            check-write: func() -> result<u64, stream-error>;
            write: func(contents: list<u8>) -> result<_, stream-error>;
            blocking-flush: func() -> result<_, stream-error>;
            subscribe: func() -> pollable;
        }
    }
}

package wasi:random@0.2.6 {
    interface random { get-random-bytes: func(len: u64) -> list<u8>; get-random-u64: func() -> u64; }
    interface insecure-seed { insecure-seed: func() -> tuple<u64, u64>; }
}
"#;

const DEBUG: &str = "package test:debug; world debug { import boson:types/console@1.0.0; }";

const EXPORTS: &str = r#"
    (memory (export "memory") 1)
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024)
    (func (export "boson:types/about@1.0.0#describe") (result i32) unreachable)
    (func (export "boson:bpm/conversion@1.0.0#convert-deployment") (param i32) (result i32) unreachable)
    (func (export "boson:bpm/conversion@1.0.0#convert-group") (param i32) (result i32) unreachable)
"#;

/// Functions that a component of the world `plugin` imports.
const IMPORTS: &str = r#"
    (import "wasi:cli/environment@0.2.6" "get-environment" (func (param i32)))
    (import "wasi:cli/exit@0.2.6" "exit" (func (param i32)))
    (import "wasi:cli/stdout@0.2.6" "get-stdout" (func (result i32)))
    (import "wasi:cli/terminal-stdout@0.2.6" "get-terminal-stdout" (func (param i32)))
    (import "wasi:cli/terminal-output@0.2.6" "[resource-drop]terminal-output" (func (param i32)))
    (import "wasi:clocks/monotonic-clock@0.2.6" "now" (func (result i64)))
    (import "wasi:clocks/monotonic-clock@0.2.6" "subscribe-duration" (func (param i64) (result i32)))
    (import "wasi:clocks/wall-clock@0.2.6" "now" (func (param i32)))
    (import "wasi:filesystem/preopens@0.2.6" "get-directories" (func (param i32)))
    (import "wasi:filesystem/types@0.2.6" "[method]descriptor.open-at" (func (param i32 i32 i32 i32)))
    (import "wasi:io/poll@0.2.6" "poll" (func (param i32 i32 i32)))
    (import "wasi:io/streams@0.2.6" "[method]output-stream.check-write" (func (param i32 i32)))
    (import "wasi:io/streams@0.2.6" "[method]output-stream.write" (func (param i32 i32 i32 i32)))
    (import "wasi:random/random@0.2.6" "get-random-bytes" (func (param i64 i32)))
    (import "wasi:random/insecure-seed@0.2.6" "insecure-seed" (func (param i32)))
"#;

const ENVIRONMENT: &str = r#"(import "wasi:cli/environment@0.2.6" "get-environment" (func (param i32)))"#;
const PRINT: &str = r#"(import "boson:types/console@1.0.0" "print" (func (param i32 i32)))"#;
const BELOW: &str = r#"(import "boson:bpm/conversion@1.0.0" "convert-group" (func (param i32 i32)))"#;

/// A component that exports the stage bpm. `worlds`: what it may import, by package and world.
fn component(imports: &[&str], worlds: &[(&str, &str)]) -> Vec<u8> {
    let mut module = wat::parse_str(format!("(module {} {EXPORTS})", imports.concat())).unwrap();
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
    for (package, world) in worlds {
        let mut resolve = Resolve::default();
        let package = if *package == "wasi" {
            resolve.push_str("wasi.wit", WASI).unwrap()
        } else {
            resolve.push_dir(wit.join("types/1.0.0")).unwrap();
            match *package {
                "debug" => resolve.push_str("debug.wit", DEBUG).unwrap(),
                stage => resolve.push_dir(wit.join(stage).join("1.0.0")).unwrap().0,
            }
        };
        let world = resolve.select_world(&[package], Some(world)).unwrap();
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    }
    ComponentEncoder::default()
        .validate(true)
        .module(&module)
        .unwrap()
        .encode()
        .unwrap()
}

/// Names of the interfaces with functions that a component imports, and of those that it exports.
fn interfaces(component: &[u8]) -> [Vec<String>; 2] {
    Validator::new().validate_all(component).unwrap();
    let Ok(DecodedWasm::Component(resolve, world)) = wit_component::decode(component) else {
        panic!("not a component");
    };
    let world = &resolve.worlds[world];
    [&world.imports, &world.exports].map(|items| {
        let has_functions = |item: &WorldItem| match item {
            WorldItem::Interface { id, .. } => !resolve.interfaces[*id].functions.is_empty(),
            _ => true,
        };
        let items = items.iter().filter(|(_, item)| has_functions(item));
        items.map(|(key, _)| resolve.name_world_key(key)).collect()
    })
}

/// Names of all functions.
fn functions(component: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for payload in Parser::new(0).parse_all(component) {
        let Payload::CustomSection(section) = payload.unwrap() else {
            continue;
        };
        let KnownCustom::Name(names) = section.as_known() else {
            continue;
        };
        for names in names {
            if let Name::Function(names) = names.unwrap() {
                found.extend(names.into_iter().map(|name| name.unwrap().name.to_string()));
            }
        }
    }
    found
}

#[test]
fn a_component_that_uses_wasi_imports_only_the_console() {
    let given = component(&[IMPORTS], &[("bpm", "bpm"), ("wasi", "plugin")]);
    let [imports, exports] = interfaces(&given);
    assert!(imports.iter().all(|name| name.starts_with("wasi:")), "{imports:?}");
    let made = without_wasi(&given).unwrap().unwrap();
    assert_eq!(interfaces(&made), [vec![CONSOLE.to_string()], exports]);
    assert_eq!(without_wasi(&given).unwrap().unwrap(), made, "the same bytes each time");
    assert_eq!(without_wasi(&made), Ok(None));
}

#[test]
fn traps_name_the_function_of_wasi() {
    let given = component(&[IMPORTS], &[("bpm", "bpm"), ("wasi", "plugin")]);
    let names = functions(&without_wasi(&given).unwrap().unwrap());
    for name in [
        "wasi:cli/exit@0.2.6#exit",
        "wasi:filesystem/types@0.2.6#[method]descriptor.open-at",
        "wasi:random/random@0.2.6#get-random-bytes",
    ] {
        assert!(names.iter().any(|found| found == name), "{name}: {names:?}");
    }
}

#[test]
fn only_a_component_that_prints_imports_the_console() {
    let silent = component(&[ENVIRONMENT], &[("bpm", "bpm"), ("wasi", "silent")]);
    let made = without_wasi(&silent).unwrap().unwrap();
    assert!(interfaces(&made)[0].is_empty());
}

#[test]
fn a_wrapper_keeps_its_rule_and_what_it_prints() {
    let worlds = [("bpm", "bpm-wrapper"), ("wasi", "silent"), ("debug", "debug")];
    let quiet = component(&[ENVIRONMENT, BELOW], &worlds[..2]);
    let made = without_wasi(&quiet).unwrap().unwrap();
    assert_eq!(interfaces(&made)[0], ["boson:bpm/conversion@1.0.0"]);
    let loud = component(&[ENVIRONMENT, BELOW, PRINT], &worlds);
    let made = without_wasi(&loud).unwrap().unwrap();
    assert_eq!(interfaces(&made)[0], [CONSOLE, "boson:bpm/conversion@1.0.0"]);
}

#[test]
fn a_function_of_an_unknown_type_is_answered_with_a_trap() {
    let import = r#"
        (import "wasi:clocks/monotonic-clock@0.9.0" "now" (func (param i32)))
        (import "wasi:clocks/monotonic-clock@0.9.0" "resolution" (func (param i32 i32) (result f32)))
        (import "wasi:clocks/monotonic-clock@0.9.0" "subscribe-duration" (func))
    "#;
    let given = component(&[import], &[("bpm", "bpm"), ("wasi", "other-types")]);
    let made = without_wasi(&given).unwrap().unwrap();
    assert!(interfaces(&made)[0].is_empty());
}

#[test]
fn components_without_wasi_and_other_files_stay_as_they_are() {
    assert_eq!(without_wasi(&component(&[], &[("bpm", "bpm")])), Ok(None));
    assert_eq!(without_wasi(b"plugin"), Ok(None));
    assert_eq!(without_wasi(&wat::parse_str("(module)").unwrap()), Ok(None));
}

#[test]
fn async_functions_are_an_error_of_their_own() {
    let lifted = r#"(component
        (core module $m
            (func (export "f") (result i32) i32.const 0)
            (func (export "c") (param i32 i32 i32) (result i32) i32.const 0))
        (core instance $i (instantiate $m))
        (func (export "run") async (canon lift (core func $i "f") async (callback (core func $i "c"))))
    )"#;
    let streams = r#"(component (type $s (stream u8)) (core func (canon stream.new $s)))"#;
    for component in [lifted, streams] {
        let component = wat::parse_str(component).unwrap();
        Validator::new_with_features(WasmFeatures::all())
            .validate_all(&component)
            .unwrap();
        assert_eq!(without_wasi(&component), Err(Error::Async));
    }
    let clock = |imports: &str| without_wasi(&component(&[imports], &[("bpm", "bpm"), ("wasi", "waits")]));
    let now = r#"(import "wasi:clocks/monotonic-clock@0.3.0" "now" (func (result i64)))"#;
    assert!(
        matches!(clock(now), Ok(Some(_))),
        "of WASI 0.3, what is not async is answered"
    );
    let wait = r#"(import "wasi:clocks/monotonic-clock@0.3.0" "wait-for" (func (param i64)))"#;
    assert_eq!(clock(wait), Err(Error::Async));
}
