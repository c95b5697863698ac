//! `_initialize`: the function that starts the runtime of a library. The component calls it before any other.

use crate::Error;
use walrus::ir::Value;
use walrus::{ConstExpr, ExportItem, FunctionBuilder, GlobalId, Module, ValType};

const INITIALIZE: &str = "_initialize";

/// Rejects a program: nothing would start its runtime, because a component calls only `_initialize`.
pub(crate) fn check(module: &Module) -> Result<(), Error> {
    let exports = |name: &str| module.exports.iter().any(|export| export.name == name);
    if exports("_start") && !exports(INITIALIZE) {
        return Err(Error::Program);
    }
    Ok(())
}

/// Adds a global that is 1 as soon as the module has started.
pub(crate) fn flag(module: &mut Module) -> Result<GlobalId, Error> {
    let export = module.exports.iter().find(|export| export.name == INITIALIZE);
    let start = export.map(|export| (export.id(), export.item));
    let initial = Value::I32(i32::from(start.is_none()));
    let started = module
        .globals
        .add_local(ValType::I32, true, false, ConstExpr::Value(initial));
    let Some((export, item)) = start else {
        return Ok(started);
    };
    let ExportItem::Function(initialize) = item else {
        return Err(Error::Signature(INITIALIZE.into()));
    };
    let signature = module.types.get(module.funcs.get(initialize).ty());
    if !(signature.params().is_empty() && signature.results().is_empty()) {
        return Err(Error::Signature(INITIALIZE.into()));
    }
    let mut builder = FunctionBuilder::new(&mut module.types, &[], &[]);
    builder.name(INITIALIZE.into());
    builder.func_body().call(initialize).i32_const(1).global_set(started);
    let outer = builder.finish(Vec::new(), &mut module.funcs);
    module.exports.get_mut(export).item = ExportItem::Function(outer);
    Ok(started)
}
