//! A component that exports the interfaces of WASI that another one imports, and nothing else of WASI.

mod body;
mod memory;
mod module;

use crate::Error;
use crate::console;
use walrus::{FunctionBuilder, Module};
use wit_component::{ComponentEncoder, DecodedWasm, StringEncoding, embed_component_metadata};
use wit_parser::{Resolve, WorldId};

/// Name of the function that [`starter`] calls.
pub(crate) const STARTED: &str = "started";
const EXPORTS_STARTED: &str = "package boson:wasi@1.0.0; world provider { export started: func(); }";
const IMPORTS_STARTED: &str = "package boson:wasi@1.0.0; world starter { import started: func(); }";

/// The component that answers for WASI.
pub(crate) struct Provider {
    pub(crate) component: Vec<u8>,
    /// It imports the console.
    pub(crate) prints: bool,
    /// It exports [`STARTED`], to be called when the other component has started.
    pub(crate) starts: bool,
}

/// Whether the provider exports an interface that a component imports. Of two components that print, only the provider
/// can import the console, so it also passes on what the other one prints.
pub(crate) fn provides(interface: &str) -> bool {
    interface.starts_with("wasi:") || interface == console::MODULE
}

/// The world that a component was made for.
pub(crate) fn world(component: &[u8]) -> Result<(Resolve, WorldId), Error> {
    match wit_component::decode(component) {
        Ok(DecodedWasm::Component(resolve, world)) => Ok((resolve, world)),
        Ok(DecodedWasm::WitPackage(..)) => Err(Error::unfit("it is a WIT package")),
        Err(error) => Err(Error::unfit(format!("{error:#}"))),
    }
}

/// The provider for a component with this world.
pub(crate) fn provider(mut resolve: Resolve, world: WorldId) -> Result<Provider, Error> {
    let imports = resolve.worlds[world].imports.clone();
    let mut exports = imports;
    exports.retain(|key, _| provides(&resolve.name_world_key(key)));
    let turned = &mut resolve.worlds[world];
    turned.imports.clear();
    turned.exports = exports;
    let made = module::made(&resolve, world)?;
    let mut wasm = made.wasm;
    embed_component_metadata(&mut wasm, &resolve, world, StringEncoding::UTF8).map_err(Error::unfit)?;
    if made.prints {
        console::embed(&mut wasm)?;
    }
    if made.starts {
        embed(&mut wasm, EXPORTS_STARTED)?;
    }
    Ok(Provider {
        component: encoded(&wasm)?,
        prints: made.prints,
        starts: made.starts,
    })
}

/// A component that tells the provider that the component beside it has started. No code of the component around both
/// can do so: it may not call what is inside of it.
pub(crate) fn starter() -> Result<Vec<u8>, Error> {
    let mut module = Module::default();
    let signature = module.types.add(&[], &[]);
    let (started, _) = module.add_import_func("$root", STARTED, signature);
    let mut builder = FunctionBuilder::new(&mut module.types, &[], &[]);
    builder.func_body().call(started);
    let start = builder.finish(Vec::new(), &mut module.funcs);
    module.exports.add("_initialize", start);
    let mut wasm = module.emit_wasm();
    embed(&mut wasm, IMPORTS_STARTED)?;
    encoded(&wasm)
}

fn embed(module: &mut Vec<u8>, wit: &str) -> Result<(), Error> {
    let mut resolve = Resolve::default();
    let package = resolve.push_str("wasi.wit", wit).map_err(Error::unfit)?;
    let world = resolve.select_world(&[package], None).map_err(Error::unfit)?;
    embed_component_metadata(module, &resolve, world, StringEncoding::UTF8).map_err(Error::unfit)
}

fn encoded(module: &[u8]) -> Result<Vec<u8>, Error> {
    let encoder = ComponentEncoder::default().validate(true).module(module);
    encoder.and_then(|mut encoder| encoder.encode()).map_err(Error::unfit)
}
