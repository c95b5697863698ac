//! Core modules become components.

use anyhow::{Context, Result, bail};
use wit_component::{ComponentEncoder, DecodedWasm, StringEncoding, embed_component_metadata};
use wit_parser::{InterfaceId, Resolve, WorldItem};

/// The contract, compiled in: the builder may run anywhere.
const TYPES: &str = include_str!("../../../wit/types/1.0.0/types.wit");
const RENDER: &str = include_str!("../../../wit/render/1.0.0/render.wit");

/// The component of the `render` world around a core module that exports its functions.
pub(crate) fn encode_render(mut core: Vec<u8>) -> Result<Vec<u8>> {
    let mut resolve = Resolve::default();
    resolve.push_str("types.wit", TYPES)?;
    let package = resolve.push_str("render.wit", RENDER)?;
    let world = resolve.select_world(&[package], Some("render"))?;
    embed_component_metadata(&mut core, &resolve, world, StringEncoding::UTF8)?;
    encode(&core)
}

/// The component around a core module that carries its world, as those of `wit-bindgen` do.
///
/// # Errors
///
/// When the module lacks exports of its world or imports what the world has not.
pub fn encode(core: &[u8]) -> Result<Vec<u8>> {
    ComponentEncoder::default()
        .validate(true)
        .module(core)?
        .encode()
        .context("wrapping the component")
}

/// Refuses a component that imports anything but types.
///
/// # Errors
///
/// Names the import.
pub fn check_sealed(component: &[u8]) -> Result<()> {
    let decoded = wit_component::decode(component).context("reading the component back")?;
    let DecodedWasm::Component(resolve, world) = decoded else {
        bail!("the component has no world");
    };
    for (name, import) in &resolve.worlds[world].imports {
        let name = resolve.name_world_key(name);
        match import {
            WorldItem::Function(_) => bail!("the component imports the function `{name}`"),
            WorldItem::Interface { id, .. } => {
                if let Some(what) = import_besides_types(&resolve, *id) {
                    bail!("the component imports `{what}` of `{name}`");
                }
            }
            WorldItem::Type { .. } => {}
        }
    }
    Ok(())
}

/// A function or resource of an interface.
fn import_besides_types(resolve: &Resolve, interface: InterfaceId) -> Option<&str> {
    let interface = &resolve.interfaces[interface];
    let resource = |name: &str| {
        let id = interface.types.get(name)?;
        matches!(resolve.types[*id].kind, wit_parser::TypeDefKind::Resource).then_some(())
    };
    interface.functions.keys().map(String::as_str).next().or_else(|| {
        interface
            .types
            .keys()
            .map(String::as_str)
            .find(|name| resource(name).is_some())
    })
}
