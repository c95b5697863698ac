//! Components of core modules, written as text.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use boson_componentize::{Error, component, is_core_module};
use std::path::Path;
use wasmparser::{Parser, Payload, Validator};
use wit_component::{DecodedWasm, StringEncoding, embed_component_metadata};
use wit_parser::{Resolve, WorldItem};

/// Imports of WASI, one of each kind of answer.
const WASI: &str = r#"
    (import "wasi_snapshot_preview1" "args_sizes_get" (func (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "environ_get" (func (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "clock_time_get" (func (param i32 i64 i32) (result i32)))
    (import "wasi_snapshot_preview1" "clock_res_get" (func (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "random_get" (func (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_fdstat_get" (func (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_seek" (func (param i32 i64 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "path_unlink_file" (func (param i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "poll_oneoff" (func (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "sched_yield" (func (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func (param i32)))
    (import "wasi_snapshot_preview1" "adapter_monotonic_clock_set_paused" (func (param i32)))
"#;

const MEMORY: &str = r#"
    (memory (export "memory") 1)
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024)
    (func (export "_initialize"))
    (func (export "boson:types/about@1.0.0#describe") (result i32) unreachable)
"#;

const CHECK: &str = r#"
    (func (export "boson:checks/policy@1.0.0#check") (param i32) (result i32) unreachable)
"#;

const CONVERSION: &str = r#"
    (func (export "boson:bpm/conversion@1.0.0#convert-deployment") (param i32) (result i32) unreachable)
    (func (export "boson:bpm/conversion@1.0.0#convert-group") (param i32) (result i32) unreachable)
"#;

const BELOW: &str = r#"
    (import "boson:bpm/conversion@1.0.0" "convert-deployment" (func (param i32 i32)))
    (import "boson:bpm/conversion@1.0.0" "convert-group" (func (param i32 i32)))
"#;

fn module(parts: &[&str]) -> Vec<u8> {
    wat::parse_str(format!("(module {})", parts.concat())).unwrap()
}

/// The module with this world of the contract in its custom section.
fn with_world(mut module: Vec<u8>, stage: &str, world: &str) -> Vec<u8> {
    let (mut resolve, wit) = (
        Resolve::default(),
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit"),
    );
    resolve.push_dir(wit.join("types/1.0.0")).unwrap();
    let (package, _) = resolve.push_dir(wit.join(stage).join("1.0.0")).unwrap();
    let world = resolve.select_world(&[package], Some(world)).unwrap();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    module
}

/// Names of the interfaces whose functions the component imports.
fn imports(component: &[u8]) -> Vec<String> {
    Validator::new().validate_all(component).unwrap();
    let Ok(DecodedWasm::Component(resolve, world)) = wit_component::decode(component) else {
        panic!("not a component");
    };
    let has_functions = |item: &WorldItem| match item {
        WorldItem::Interface { id, .. } => !resolve.interfaces[*id].functions.is_empty(),
        WorldItem::Function(_) => true,
        WorldItem::Type { .. } => false,
    };
    let imports = resolve.worlds[world]
        .imports
        .iter()
        .filter(|(_, item)| has_functions(item));
    imports.map(|(key, _)| resolve.name_world_key(key)).collect()
}

#[test]
fn a_check_that_uses_wasi_imports_only_the_console() {
    let core = with_world(module(&[WASI, MEMORY, CHECK]), "checks", "checks");
    assert!(is_core_module(&core));
    let component = component(&core).unwrap();
    assert!(!is_core_module(&component));
    assert_eq!(imports(&component), [CONSOLE]);
}

#[test]
fn a_wrapper_imports_the_interface_of_its_stage() {
    let core = with_world(module(&[BELOW, WASI, MEMORY, CONVERSION]), "bpm", "bpm-wrapper");
    assert_eq!(
        imports(&component(&core).unwrap()),
        ["boson:bpm/conversion@1.0.0", CONSOLE]
    );
}

#[test]
fn a_module_without_a_section_gets_the_world_of_its_exports() {
    let wrapper = component(&module(&[BELOW, WASI, MEMORY, CONVERSION])).unwrap();
    assert_eq!(imports(&wrapper), ["boson:bpm/conversion@1.0.0", CONSOLE]);
    let rule = component(&module(&[WASI, MEMORY, CONVERSION])).unwrap();
    assert_eq!(imports(&rule), [CONSOLE]);
}

#[test]
fn the_same_module_gives_the_same_bytes() {
    let core = module(&[WASI, MEMORY, CHECK]);
    assert_eq!(component(&core), component(&core));
}

#[test]
fn a_component_starts_its_module_and_remembers_it() {
    let component = component(&module(&[WASI, MEMORY, CHECK])).unwrap();
    let globals = Parser::new(0)
        .parse_all(&component)
        .filter_map(|payload| match payload.unwrap() {
            Payload::GlobalSection(section) => Some(section.count()),
            _ => None,
        });
    assert_eq!(globals.sum::<u32>(), 1);
    let starts = Parser::new(0)
        .parse_all(&component)
        .filter(|payload| matches!(payload, Ok(Payload::StartSection { .. })));
    assert_eq!(starts.count(), 1);
}

#[test]
fn an_import_that_no_plugin_has_is_an_error_that_names_it() {
    let cases = [
        ("env", "getpid", "linker"),
        ("wasi:cli/environment@0.2.6", "get-arguments", "--stub-wasi"),
        ("gojs", "runtime.wasmExit", "GOOS=wasip1"),
        ("__wbindgen_placeholder__", "__wbindgen_describe", "wasm-bindgen"),
        ("boson:ops/operations@1.0.0", "apply", "wrapper"),
    ];
    for (interface, name, help) in cases {
        let import = format!("(import \"{interface}\" \"{name}\" (func))");
        let error = component(&with_world(module(&[&import, MEMORY, CHECK]), "checks", "checks")).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(&format!("'{name}' of '{interface}'")), "{text}");
        assert!(error.help().unwrap().contains(help), "{error:?}");
    }
    let memory = component(&module(&["(import \"env\" \"memory\" (memory 1))", CHECK])).unwrap_err();
    assert!(memory.to_string().contains("'memory' of 'env'"), "{memory}");
}

#[test]
fn wasi_has_only_its_own_functions_with_their_own_signatures() {
    let with = |import: &str| component(&module(&[import, MEMORY, CHECK])).unwrap_err();
    let unknown = with(r#"(import "wasi_snapshot_preview1" "thread_spawn" (func (param i32) (result i32)))"#);
    assert!(unknown.to_string().contains("'thread_spawn'"), "{unknown}");
    for import in [
        r#"(import "wasi_snapshot_preview1" "fd_write" (func (param i32) (result i32)))"#,
        r#"(import "wasi_snapshot_preview1" "fd_close" (func (param i32)))"#,
        r#"(import "wasi_snapshot_preview1" "proc_exit" (func (param i32) (result i32)))"#,
    ] {
        assert!(matches!(with(import), Error::Signature(_)), "{import}");
    }
}

#[test]
fn a_module_without_a_world_is_an_error() {
    assert_eq!(component(&module(&[WASI, MEMORY])), Err(Error::NoWorld));
    assert_eq!(component(&module(&[])), Err(Error::NoWorld));
}

#[test]
fn other_files_and_other_modules_are_errors() {
    assert_eq!(component(b"plugin"), Err(Error::NotCore));
    assert_eq!(component(&wat::parse_str("(component)").unwrap()), Err(Error::NotCore));
    assert!(matches!(component(b"\0asm\x01\0\0\0\x0b"), Err(Error::Invalid(_))));
    let program = module(&["(func (export \"_start\"))", CHECK]);
    assert_eq!(component(&program), Err(Error::Program));
    let (random, export) = (
        r#"(import "wasi_snapshot_preview1" "random_get" (func (param i32 i32) (result i32)))"#,
        r#"(func (export "boson:types/about@1.0.0#describe") (result i32) unreachable)"#,
    );
    assert_eq!(component(&module(&[random, export, CHECK])), Err(Error::NoMemory));
    let incomplete = component(&module(&[
        MEMORY,
        "(func (export \"boson:bpm/conversion@1.0.0#convert-group\"))",
    ]));
    assert!(matches!(incomplete, Err(Error::Mismatch(_))), "{incomplete:?}");
}

const CONSOLE: &str = "boson:types/console@1.0.0";

#[test]
fn only_a_component_that_prints_imports_the_console() {
    let print = format!(r#"(import "{CONSOLE}" "print" (func (param i32 i32)))"#);
    let go = module(&[WASI, MEMORY, CHECK]);
    let wrapper = module(&[&print, BELOW, MEMORY, CONVERSION]);
    let rust = with_world(module(&[&print, MEMORY, CHECK]), "checks", "checks");
    for core in [&go, &wrapper, &rust] {
        let made = component(core).unwrap();
        assert!(imports(&made).contains(&CONSOLE.to_string()), "{:?}", imports(&made));
    }
    let silent = module(&[MEMORY, CHECK]);
    let made = component(&silent).unwrap();
    assert!(!imports(&made).contains(&CONSOLE.to_string()), "{:?}", imports(&made));
    let other = print.replace("i32 i32", "i64");
    let error = component(&module(&[&other, MEMORY, CHECK])).unwrap_err();
    assert_eq!(error, Error::Signature(CONSOLE.into()));
}
