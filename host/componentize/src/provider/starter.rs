//! A component that tells the provider that the component beside it has started. No code of the component around all
//! can do so: it may not call what is inside of it.
//!
//! Runtimes such as CPython take a seed when a function is called first. So the description, which has no input, is
//! asked for before: what the first call prepares is the same for each call of each instance.

use super::memory::{Memory, RESULT_ADDRESS};
use super::{STARTED, encode};
use crate::{Error, embed};
use walrus::{FunctionBuilder, FunctionId, Module, ValType};
use wit_component::{StringEncoding, embed_component_metadata};
use wit_parser::abi::AbiVariant;
use wit_parser::{Function, Resolve, WorldId, WorldItem, WorldKey};

/// The interface that all plugins export, without its version, and its function.
const ABOUT: &str = "boson:types/about@";
const DESCRIBE: &str = "describe";
const WORLD: (&str, &str) = (
    "wasi.wit",
    "package boson:wasi@1.0.0; world starter { import started: func(); }",
);

pub(crate) struct Starter {
    pub(crate) component: Vec<u8>,
    /// The interface of the other component that it calls first.
    pub(crate) about: Option<String>,
}

// === impl Starter ===

impl Starter {
    /// For a component with this world.
    pub(super) fn of(mut resolve: Resolve, world: WorldId) -> Result<Self, Error> {
        let found = about(&resolve, world);
        let about = found.as_ref().map(|(key, _)| resolve.name_world_key(key));
        let mut wasm = module(about.as_deref()).emit_wasm();
        if let Some((key, item)) = found {
            let interfaces = &resolve.interfaces;
            let has_only_types = |item: &WorldItem| match item {
                WorldItem::Interface { id, .. } => interfaces[*id].functions.is_empty(),
                _ => false,
            };
            let importing = &mut resolve.worlds[world];
            importing.exports.clear();
            importing.imports.retain(|_, item| has_only_types(item));
            importing.imports.insert(key, item);
            embed_component_metadata(&mut wasm, &resolve, world, StringEncoding::UTF8).map_err(Error::mismatch)?;
        }
        embed(&mut wasm, &[WORLD])?;
        let component = encode(&wasm)?;
        Ok(Self { component, about })
    }
}

/// The exported interface with the description, if it has the form that the contract gives it.
fn about(resolve: &Resolve, world: WorldId) -> Option<(WorldKey, WorldItem)> {
    let is_about = |(key, item): &(&WorldKey, &WorldItem)| match item {
        WorldItem::Interface { id, .. } if resolve.name_world_key(key).starts_with(ABOUT) => {
            let describe = resolve.interfaces[*id].functions.get(DESCRIBE);
            describe.is_some_and(|describe| returns_record(resolve, describe))
        }
        _ => false,
    };
    let found = resolve.worlds[world].exports.iter().find(is_about);
    found.map(|(key, item)| (key.clone(), item.clone()))
}

fn returns_record(resolve: &Resolve, describe: &Function) -> bool {
    let signature = resolve.wasm_signature(AbiVariant::GuestImport, describe);
    describe.params.is_empty() && signature.retptr
}

/// The module: it calls the function of the interface, and then [`STARTED`].
fn module(about: Option<&str>) -> Module {
    let mut module = Module::default();
    let mut import = |from: &str, name: &str, params: &[ValType]| -> FunctionId {
        let signature = module.types.add(params, &[]);
        module.add_import_func(from, name, signature).0
    };
    let describe = about.map(|about| import(about, DESCRIBE, &[ValType::I32]));
    let started = import("$root", STARTED, &[]);
    let mut builder = FunctionBuilder::new(&mut module.types, &[], &[]);
    let mut body = builder.func_body();
    if let Some(describe) = describe {
        body.i32_const(RESULT_ADDRESS).call(describe);
    }
    body.call(started);
    let start = builder.finish(Vec::new(), &mut module.funcs);
    if describe.is_some() {
        Memory::add(&mut module);
    }
    module.exports.add("_initialize", start);
    module
}
