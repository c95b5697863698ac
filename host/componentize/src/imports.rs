//! Replaces the imports of a module.

use crate::Error;
use crate::console;
use crate::contract::Declared;
use crate::start;
use crate::wasi::{self, Scratch, State};
use walrus::{ExportItem, FunctionId, Import, ImportKind, MemoryId, Module, ValType};

/// Answers every import of WASI inside the module; its output goes to the console. Other imports remain if they are of
/// the rule that a wrapper wraps, or of the console. Returns whether it imports the console.
pub(crate) fn replace_all(module: &mut Module, declared: &Declared) -> Result<bool, Error> {
    let (mut of_wasi, mut prints) = (Vec::new(), false);
    for import in module.imports.iter() {
        match import.kind {
            ImportKind::Function(id) if console::is_print(&import.module, &import.name) => {
                check_print(module, id)?;
                prints = true;
            }
            ImportKind::Function(id) if import.module == wasi::MODULE => of_wasi.push((import.name.clone(), id)),
            ImportKind::Function(_) if declared.is_below(&import.module) => {}
            _ => return Err(import_error(import)),
        }
    }
    if of_wasi.is_empty() {
        return Ok(prints);
    }
    let writes = of_wasi.iter().any(|(name, _)| name == wasi::WRITE);
    let print = writes.then(|| console::print(module));
    let state = State {
        memory: memory(module)?,
        started: start::flag(module)?,
        print,
    };
    for (name, function) in of_wasi {
        replace(module, &name, function, &state)?;
    }
    Ok(prints || writes)
}

/// Checks the type of the function of the console.
fn check_print(module: &Module, function: FunctionId) -> Result<(), Error> {
    let signature = module.types.get(module.funcs.get(function).ty());
    if (signature.params(), signature.results()) == (&[ValType::I32, ValType::I32], &[]) {
        Ok(())
    } else {
        Err(Error::Signature(console::MODULE.into()))
    }
}

fn import_error(import: &Import) -> Error {
    Error::Import {
        interface: import.module.clone(),
        name: import.name.clone(),
    }
}

/// The memory that the addresses in calls of WASI refer to.
fn memory(module: &Module) -> Result<MemoryId, Error> {
    let export = module.exports.iter().find(|export| export.name == "memory");
    match export.map(|export| export.item) {
        Some(ExportItem::Memory(id)) => Ok(id),
        _ => Err(Error::NoMemory),
    }
}

fn replace(module: &mut Module, name: &str, function: FunctionId, state: &State) -> Result<(), Error> {
    let signature = module.types.get(module.funcs.get(function).ty());
    let answer = wasi::answer(name, signature.params(), signature.results())?;
    // None can be added while a function is being built.
    let scratch = Scratch {
        index: module.locals.add(ValType::I32),
        total: module.locals.add(ValType::I32),
    };
    module
        .replace_imported_func(function, |(body, args)| answer.write(body, args, state, &scratch))
        .map_err(|error| Error::Invalid(format!("{error:#}")))?;
    // Reports of traps list it.
    module.funcs.get_mut(function).name = Some(format!("{}.{name}", wasi::MODULE));
    Ok(())
}
