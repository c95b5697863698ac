//! A plugin of the resources stage that adds an invalid object: the first letter of the deployment's name selects which
//! one.

use std::path::{Path, PathBuf};

/// A kind that plugins may not create.
pub const ILLEGAL: char = 'i';
/// An object above the size limit.
pub const LARGE: char = 'l';
/// An object that the API server refuses.
pub const REFUSED: char = 'r';

const TEXTS_ADDRESS: usize = 1 << 20;

/// Writes the component.
pub fn write(directory: &Path) -> PathBuf {
    let path = directory.join("hook.wasm");
    let component = boson_tests::component::component(&module(), "resources");
    std::fs::write(&path, component.unwrap()).unwrap();
    path
}

/// Results are records of pointers and lengths; the text of each is placed by hand.
fn module() -> String {
    let object = |kind: &str, rest: &str| format!(r#"{{"apiVersion":"{kind}","metadata":{{"name":"odd"}},{rest}}}"#);
    let illegal = object("rbac.authorization.k8s.io/v1", r#""kind":"Role""#);
    let refused = object("v1", r#""kind":"Service","spec":{"ports":[{"port":70000}]}"#);
    let large = object(
        "v1",
        &format!(r#""kind":"ConfigMap","data":{{"x":"{}"}}"#, "x".repeat(1_100_000)),
    );
    let quoted = |text: &str| text.replace('"', "\\22");
    let (at_refused, at_large) = (TEXTS_ADDRESS + 4096, TEXTS_ADDRESS + 8192);
    // The description: name, version, schema; no codes, no additional members.
    let strings = [("hook", 16), ("1.0.0", 24), ("{}", 48)];
    let data: String = strings
        .iter()
        .map(|(text, at)| format!("(data (i32.const {at}) \"{text}\")\n"))
        .collect();
    let fields: String = strings
        .iter()
        .zip((64..).step_by(8))
        .map(|((text, at), field)| format!("{}{}", store(field, *at), store(field + 4, text.len())))
        .collect();
    let case = |letter: char, at: usize, length: usize| {
        let name = u32::from(letter);
        // The list of edits, with one of the case `add`.
        let words = [(136, 192), (140, 1), (192, 2), (196, at), (200, length)];
        let addition = words.map(|(at, value)| store(at, value)).concat();
        format!("(if (i32.eq (local.get $letter) (i32.const {name})) (then {addition}))\n")
    };
    let cases = [
        case(ILLEGAL, TEXTS_ADDRESS, illegal.len()),
        case(REFUSED, at_refused, refused.len()),
        case(LARGE, at_large, large.len()),
    ];
    // The name of the deployment comes after the view (40 bytes) and the discriminant of the option.
    format!(
        r#"(module
            (memory (export "memory") 256)
            (global $free (mut i32) (i32.const {free}))
            {data}
            (data (i32.const {TEXTS_ADDRESS}) "{}")
            (data (i32.const {at_refused}) "{}")
            (data (i32.const {at_large}) "{}")
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (local $at i32)
                (local.set $at (i32.and (i32.add (global.get $free) (i32.const 15)) (i32.const -16)))
                (global.set $free (i32.add (local.get $at) (local.get 3)))
                (local.get $at))
            (func (export "boson:types/about@1.0.0#describe") (result i32)
                {fields}
                (i32.const 64))
            (func (export "boson:resources/transformation@1.0.0#transform") (param i32) (result i32) (local $letter i32)
                (local.set $letter (i32.load8_u (i32.load offset=44 (local.get 0))))
                {}
                (i32.const 132)))"#,
        quoted(&illegal),
        quoted(&refused),
        quoted(&large),
        cases.concat(),
        free = 4 << 20,
    )
}

fn store(at: usize, value: usize) -> String {
    format!("(i32.store (i32.const {at}) (i32.const {value}))")
}
