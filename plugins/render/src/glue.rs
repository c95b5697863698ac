//! The exports of the typed world, as core functions by the canonical ABI.
//!
//! They only store their arguments where `fd_pread` finds them and evaluate one Ruby expression. Ruby itself reads the
//! arguments and answers with a string whose bytes are the result record in memory (`memory.rb`), so there is no second
//! implementation of the contract's records to keep in step.

use anyhow::{Context, Result, bail};
use walrus::ir::{LoadKind, StoreKind};
use walrus::{ExportItem, FunctionBuilder, FunctionId, InstrSeqBuilder, LocalId, Module, ValType};

use crate::imports::{State, arg, when};

/// Names of functions that CRuby's module exports.
pub(crate) mod ruby {
    pub(crate) const REALLOC: &str = "cabi_realloc";
    pub(crate) const START: &str = "ruby-init: func(args: list<string>) -> ()";
    pub(crate) const EVALUATE: &str = "rb-eval-string-protect: func(str: string) -> tuple<handle<rb-abi-value>, s32>";
    pub(crate) const TEXT: &str = "rstring-ptr: func(value: handle<rb-abi-value>) -> string";
    pub(crate) const CONSTRUCT: &str = "_initialize";
}

/// Names of functions that exist only while we build.
pub(crate) mod build {
    /// The constructors of the C program. By its own name wizer and wit-component would call it a second time.
    pub(crate) const CONSTRUCT: &str = "boson-construct";
    /// Ends the time when there is randomness.
    pub(crate) const SEAL: &str = "boson-seal";
}

/// The interfaces that the component exports.
const ABOUT: &str = "boson:types/about@1.0.0";
pub(crate) const INTERFACE: &str = "boson:render/templates@1.0.0";

/// Parameters of `render` after flattening: one address, because there are more than the ABI passes separately.
const RENDER_PARAMETERS: usize = 1;

/// Adds `describe`, `render` and what the build needs.
pub(crate) fn add_exports(module: &mut Module, state: &State) -> Result<()> {
    let exported = |name: &str| {
        module
            .exports
            .get_func(name)
            .with_context(|| format!("CRuby exports no `{name}`"))
    };
    let parts = Parts {
        realloc: exported(ruby::REALLOC)?,
        evaluate: exported(ruby::EVALUATE)?,
        text: exported(ruby::TEXT)?,
    };
    let construct = exported(ruby::CONSTRUCT)?;

    let describe = call(module, state, &parts, &expression("describe"), 0)?;
    module.exports.add(&format!("{ABOUT}#describe"), describe);
    let render = call(module, state, &parts, &expression("render"), RENDER_PARAMETERS)?;
    module.exports.add(&format!("{INTERFACE}#render"), render);

    name_exports(module);
    for name in [
        ruby::CONSTRUCT,
        "__wasi_vfs_rt_init",
        "wasi_vfs_pack_fs",
        "cabi_post_rstring-ptr",
    ] {
        module.exports.remove(name)?;
    }
    module.exports.add(build::CONSTRUCT, construct);
    let seal = seal_function(module, state);
    module.exports.add(build::SEAL, seal);
    Ok(())
}

/// Calls a function of `plugin.rb`. It removes the constant first: with it a template could reopen the renderer. Our
/// own code finds each other by its lexical scope, which needs no constant.
fn expression(function: &str) -> String {
    format!("Object.__send__(:remove_const, :Boson).const_get(:Plugin).{function}")
}

/// Gives functions names for the report of a trap; CRuby's module has none. The asyncify functions trap where a
/// template nests its calls deeper than Ruby's buffer for stack frames holds, the one trap that a template can cause on
/// its own.
fn name_exports(module: &mut Module) {
    for export in module.exports.iter() {
        if let ExportItem::Function(function) = export.item {
            let name = match export.name.strip_prefix("asyncify_") {
                Some(what) => format!("nested too deep: asyncify {what}"),
                None => export.name.split(':').next().unwrap_or_default().to_owned(),
            };
            module.funcs.get_mut(function).name.get_or_insert(name);
        }
    }
}

struct Parts {
    realloc: FunctionId,
    evaluate: FunctionId,
    text: FunctionId,
}

/// A function of `parameters` times i32 that evaluates `code` and returns the address of the string it gives.
fn call(module: &mut Module, state: &State, parts: &Parts, code: &str, parameters: usize) -> Result<FunctionId> {
    let memory = state.memory;
    let arguments: Vec<LocalId> = (0..parameters).map(|_| module.locals.add(ValType::I32)).collect();
    let address = module.locals.add(ValType::I32);
    let mut function = FunctionBuilder::new(&mut module.types, &vec![ValType::I32; parameters], &[ValType::I32]);
    function.name(code.to_owned());
    let mut body = function.func_body();

    let bytes = i32::try_from(4 * parameters.max(1))?;
    allocate(&mut body, parts, bytes).local_set(address);
    for (index, argument) in arguments.iter().enumerate() {
        let place = arg(4, 4 * index as u64);
        body.local_get(address)
            .local_get(*argument)
            .store(memory, StoreKind::I32 { atomic: false }, place);
    }
    body.local_get(address).global_set(state.arguments);

    // The code as immediate words, with the zero byte at its end that CRuby relies on.
    let words = words(code);
    allocate(&mut body, parts, i32::try_from(8 * words.len())?).local_set(address);
    for (index, word) in words.iter().enumerate() {
        let place = arg(8, 8 * index as u64);
        body.local_get(address)
            .i64_const(*word)
            .store(memory, StoreKind::I64 { atomic: false }, place);
    }
    body.local_get(address)
        .i32_const(i32::try_from(code.len())?)
        .call(parts.evaluate)
        .local_set(address);

    // (value, state): a state other than 0 is an exception that left our Ruby code, a bug of ours.
    let whole = LoadKind::I32 { atomic: false };
    body.local_get(address).load(memory, whole, arg(4, 4));
    when(&mut body, |failed| {
        failed.unreachable();
    });
    body.local_get(address)
        .load(memory, whole, arg(4, 0))
        .call(parts.text)
        .load(memory, whole, arg(4, 0));
    Ok(function.finish(arguments, &mut module.funcs))
}

/// Leaves the address of new memory on the stack.
fn allocate<'b, 'f>(body: &'b mut InstrSeqBuilder<'f>, parts: &Parts, bytes: i32) -> &'b mut InstrSeqBuilder<'f> {
    body.i32_const(0)
        .i32_const(0)
        .i32_const(8)
        .i32_const(bytes)
        .call(parts.realloc)
}

fn words(code: &str) -> Vec<i64> {
    let mut bytes = code.as_bytes().to_vec();
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
        .chunks_exact(8)
        .filter_map(|chunk| chunk.try_into().ok())
        .map(i64::from_le_bytes)
        .collect()
}

fn seal_function(module: &mut Module, state: &State) -> FunctionId {
    let mut function = FunctionBuilder::new(&mut module.types, &[], &[]);
    function.func_body().i32_const(1).global_set(state.sealed);
    function.finish(vec![], &mut module.funcs)
}

/// Keeps only the exports of the world: any other export would be attack surface.
pub(crate) fn drop_build_exports(module: &[u8]) -> Result<Vec<u8>> {
    let mut module = walrus::ModuleConfig::new()
        .generate_producers_section(false)
        .parse(module)?;
    let others: Vec<_> = module
        .exports
        .iter()
        .filter(|export| {
            let of_world = [ABOUT, INTERFACE]
                .iter()
                .any(|interface| export.name.starts_with(interface));
            !(of_world || ["memory", ruby::REALLOC].contains(&export.name.as_str()))
        })
        .map(walrus::Export::id)
        .collect();
    for export in others {
        module.exports.delete(export);
    }
    let left = module.exports.iter().count();
    if left != 4 {
        bail!("{left} exports are left instead of describe, render, memory and realloc");
    }
    walrus::passes::gc::run(&mut module);
    Ok(module.emit_wasm())
}
