//! Output of a plugin: what its runtime writes to standard output and standard error, and what it prints by the
//! interface `console` of the contract.

use crate::packages::PACKAGES;
use walrus::{FunctionId, ImportKind, Module, ValType};

/// The interface of the contract.
pub(crate) const MODULE: &str = "boson:types/console@1.0.0";
const PRINT: &str = "print";
/// A world with the interface, after the package that it uses. It is merged with that of the plugin.
pub(crate) const WORLD: [(&str, &str); 2] = [
    PACKAGES[0],
    (
        "debug.wit",
        "package boson:debug@1.0.0; world debug { import boson:types/console@1.0.0; }",
    ),
];

/// Whether an import is the function of the console.
pub(crate) fn is_print(module: &str, name: &str) -> bool {
    module == MODULE && name == PRINT
}

/// The imported function. It is added if the module does not import it.
pub(crate) fn print(module: &mut Module) -> FunctionId {
    let imported = module.imports.iter().find_map(|import| match import.kind {
        ImportKind::Function(id) if is_print(&import.module, &import.name) => Some(id),
        _ => None,
    });
    imported.unwrap_or_else(|| {
        let signature = module.types.add(&[ValType::I32, ValType::I32], &[]);
        module.add_import_func(MODULE, PRINT, signature).0
    })
}
