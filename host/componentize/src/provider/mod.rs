//! A component that exports the interfaces of WASI that another one imports, and nothing else of WASI.

mod body;
mod memory;
mod module;
mod starter;

use crate::{Error, console, embed};
use starter::Starter;
use wit_component::{ComponentEncoder, DecodedWasm, StringEncoding, embed_component_metadata};
use wit_parser::{Resolve, WorldId};

/// Name of the function that the [`Starter`] calls.
pub(crate) const STARTED: &str = "started";
const EXPORTS_STARTED: (&str, &str) = (
    "wasi.wit",
    "package boson:wasi@1.0.0; world provider { export started: func(); }",
);

/// The component that answers for WASI.
pub(crate) struct Provider {
    pub(crate) component: Vec<u8>,
    /// It imports the console.
    pub(crate) prints: bool,
    /// What calls [`STARTED`], if the provider exports it.
    pub(crate) starter: Option<Starter>,
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
        Ok(DecodedWasm::WitPackage(..)) => Err(Error::mismatch("it is a WIT package")),
        Err(error) => Err(Error::mismatch(format!("{error:#}"))),
    }
}

/// The provider for a component with this world.
pub(crate) fn provider(mut resolve: Resolve, world: WorldId) -> Result<Provider, Error> {
    let given = resolve.clone();
    let mut exports = resolve.worlds[world].imports.clone();
    exports.retain(|key, _| provides(&resolve.name_world_key(key)));
    let exporting = &mut resolve.worlds[world];
    exporting.imports.clear();
    exporting.exports = exports;
    let made = module::build(&resolve, world)?;
    let mut wasm = made.wasm;
    embed_component_metadata(&mut wasm, &resolve, world, StringEncoding::UTF8).map_err(Error::mismatch)?;
    if made.prints {
        embed(&mut wasm, &console::WORLD)?;
    }
    if made.starts {
        embed(&mut wasm, &[EXPORTS_STARTED])?;
    }
    Ok(Provider {
        component: encode(&wasm)?,
        prints: made.prints,
        starter: made.starts.then(|| Starter::of(given, world)).transpose()?,
    })
}

/// The component of a module that holds its world.
pub(crate) fn encode(module: &[u8]) -> Result<Vec<u8>, Error> {
    let encoder = ComponentEncoder::default().validate(true).module(module);
    encoder
        .and_then(|mut encoder| encoder.encode())
        .map_err(Error::mismatch)
}
