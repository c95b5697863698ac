//! Wrappers for tests and the bench, small enough to be read.

use crate::component::component_of;
use anyhow::Result;

/// The description of a plugin named `theirs`, and what every module needs.
pub const COMMON: &str = r#"
    (memory (export "memory") 8)
    (global $top (mut i32) (i32.const 65536))
    (data (i32.const 1024) "theirs1.0.0{}")
    (data (i32.const 2048) "\00\04\00\00\06\00\00\00\06\04\00\00\05\00\00\00\0b\04\00\00\02\00\00\00")
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
        (global.get $top)
        (global.set $top (i32.and (i32.add (i32.add (global.get $top) (local.get 3)) (i32.const 15)) (i32.const -16))))
    (func (export "boson:types/about@1.0.0#describe") (result i32) (i32.const 2048))"#;

/// A wrapper of a stage: each function runs `extra`, calls the rule below this number of times, and returns its last
/// reply. The parameter is the address of request and context, which the import takes as they are.
///
/// # Errors
/// There is no such stage, or the interface has no such function.
pub fn wrapper(stage: &str, interface: &str, functions: &[&str], calls: usize, extra: &str) -> Result<Vec<u8>> {
    let interface = format!("boson:{stage}/{interface}@1.0.0");
    let (mut imports, mut exports) = (String::new(), String::new());
    for name in functions {
        imports.push_str(&format!(
            "(import \"{interface}\" \"{name}\" (func ${name} (param i32 i32)))\n"
        ));
        let call = format!("(call ${name} (local.get 0) (i32.const 4096))");
        exports.push_str(&format!(
            "(func (export \"{interface}#{name}\") (param i32) (result i32) {extra} {} (i32.const 4096))\n",
            call.repeat(calls)
        ));
    }
    let module = format!("(module {imports} {COMMON} {exports})");
    component_of(&module, stage, &format!("{stage}-wrapper"), &[])
}
