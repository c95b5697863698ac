//! The core module of the provider: a function for each that the other component imports.

use super::STARTED;
use super::body::Body;
use super::memory::Memory;
use crate::Error;
use crate::answers::{Answer, answer};
use crate::console;
use std::collections::BTreeMap;
use walrus::ValType::{F32, F64, I32, I64};
use walrus::ir::Value;
use walrus::{ConstExpr, FunctionBuilder, FunctionId, GlobalId, LocalId, Module, ValType};
use wit_parser::abi::{AbiVariant, WasmType};
use wit_parser::{
    Function, Handle, LiftLowerAbi, ManglingAndAbi, Resolve, ResourceIntrinsic, Type, TypeDefKind, TypeId, TypeOwner,
    WasmExport, WasmExportKind, WasmImport, WorldId, WorldItem, WorldKey,
};

const ABI: ManglingAndAbi = ManglingAndAbi::Legacy(LiftLowerAbi::Sync);

pub(super) struct ProviderModule {
    pub(super) wasm: Vec<u8>,
    pub(super) prints: bool,
    pub(super) starts: bool,
}

struct Wanted<'r> {
    key: &'r WorldKey,
    function: &'r Function,
    /// `wasi:cli/exit@0.2.6#exit`; reports of traps list it.
    name: String,
    answer: Answer,
}

struct Shared {
    memory: Memory,
    /// 1 after the other component has started.
    started: Option<GlobalId>,
    print: Option<FunctionId>,
    /// Functions that make a resource of each type.
    new: BTreeMap<TypeId, FunctionId>,
}

/// The module that exports what the world does.
pub(super) fn build(resolve: &Resolve, world: WorldId) -> Result<ProviderModule, Error> {
    let wanted = functions(resolve, world)?;
    let mut module = Module::default();
    let has = |answers: fn(&Answer) -> bool| wanted.iter().any(|wanted| answers(&wanted.answer));
    let prints = has(|answer| matches!(answer, Answer::Print));
    let starts = has(|answer| matches!(answer, Answer::RandomBytes(_) | Answer::RandomNumber(_)));
    // Imports come first.
    let print = prints.then(|| console::print(&mut module));
    let new = constructors(&mut module, resolve, &wanted);
    let shared = Shared {
        memory: Memory::add(&mut module),
        started: starts.then(|| add_started_flag(&mut module)),
        print,
        new,
    };
    for wanted in &wanted {
        write(&mut module, resolve, wanted, &shared);
    }
    let wasm = module.emit_wasm();
    Ok(ProviderModule { wasm, prints, starts })
}

fn functions(resolve: &Resolve, world: WorldId) -> Result<Vec<Wanted<'_>>, Error> {
    let mut wanted = Vec::new();
    for (key, item) in &resolve.worlds[world].exports {
        let interface = resolve.name_world_key(key);
        let WorldItem::Interface { id, .. } = item else {
            return Err(Error::mismatch(format!("'{interface}' is no interface")));
        };
        for (name, function) in &resolve.interfaces[*id].functions {
            if function.kind.is_async() || !function.find_futures_and_streams(resolve).is_empty() {
                return Err(Error::Async);
            }
            wanted.push(Wanted {
                key,
                function,
                name: format!("{interface}#{name}"),
                answer: answer(&interface, name),
            });
        }
    }
    Ok(wanted)
}

/// Imports a function that makes a resource for each type of which one is returned.
fn constructors(module: &mut Module, resolve: &Resolve, wanted: &[Wanted<'_>]) -> BTreeMap<TypeId, FunctionId> {
    let mut new = BTreeMap::new();
    let returned = |wanted: &&Wanted<'_>| matches!(wanted.answer, Answer::Resource | Answer::SomeResource);
    for wanted in wanted.iter().filter(returned) {
        let Some(resource) = resource(resolve, wanted.function.result) else {
            continue;
        };
        let TypeOwner::Interface(owner) = resolve.types[resource].owner else {
            continue;
        };
        let key = WorldKey::Interface(owner);
        let intrinsic = WasmImport::ResourceIntrinsic {
            interface: Some(&key),
            resource,
            intrinsic: ResourceIntrinsic::ExportedNew,
        };
        let (from, name) = resolve.wasm_import_name(ABI, intrinsic);
        new.entry(resource).or_insert_with(|| {
            let signature = module.types.add(&[I32], &[I32]);
            module.add_import_func(&from, &name, signature).0
        });
    }
    new
}

/// The type of a resource that a function returns, also in an `option`.
fn resource(resolve: &Resolve, result: Option<Type>) -> Option<TypeId> {
    let Type::Id(mut id) = result? else { return None };
    if let TypeDefKind::Option(Type::Id(inner)) = resolve.types[id].kind {
        id = inner;
    }
    let TypeDefKind::Handle(Handle::Own(mut id)) = resolve.types[id].kind else {
        return None;
    };
    while let TypeDefKind::Type(Type::Id(original)) = resolve.types[id].kind {
        id = original;
    }
    Some(id)
}

/// Adds the flag, and the function that sets it.
fn add_started_flag(module: &mut Module) -> GlobalId {
    let started = module
        .globals
        .add_local(I32, true, false, ConstExpr::Value(Value::I32(0)));
    let mut builder = FunctionBuilder::new(&mut module.types, &[], &[]);
    builder
        .name(STARTED.into())
        .func_body()
        .i32_const(1)
        .global_set(started);
    let function = builder.finish(Vec::new(), &mut module.funcs);
    module.exports.add(STARTED, function);
    started
}

/// Adds and exports a function.
fn write(module: &mut Module, resolve: &Resolve, wanted: &Wanted<'_>, shared: &Shared) {
    let signature = resolve.wasm_signature(AbiVariant::GuestExport, wanted.function);
    let params: Vec<ValType> = signature.params.iter().map(value_type).collect();
    let results: Vec<ValType> = signature.results.iter().map(value_type).collect();
    let args: Vec<LocalId> = params.iter().map(|kind| module.locals.add(*kind)).collect();
    let list = module.locals.add(I32);
    let mut builder = FunctionBuilder::new(&mut module.types, &params, &results);
    builder.name(wanted.name.clone());
    let mut body = builder.func_body();
    shared.memory.begin(&mut body);
    let resource = resource(resolve, wanted.function.result);
    Body {
        params: &params,
        args: &args,
        result: results.first().copied(),
        in_memory: signature.retptr,
        list,
        memory: &shared.memory,
        started: shared.started,
        print: shared.print,
        new: resource.and_then(|resource| shared.new.get(&resource).copied()),
    }
    .write(&mut body, wanted.answer);
    let function = builder.finish(args, &mut module.funcs);
    let export = WasmExport::Func {
        interface: Some(wanted.key),
        func: wanted.function,
        kind: WasmExportKind::Normal,
    };
    module.exports.add(&resolve.wasm_export_name(ABI, export), function);
}

fn value_type(kind: &WasmType) -> ValType {
    match kind {
        WasmType::I32 | WasmType::Pointer | WasmType::Length => I32,
        WasmType::I64 | WasmType::PointerOrI64 => I64,
        WasmType::F32 => F32,
        WasmType::F64 => F64,
    }
}
