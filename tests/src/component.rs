//! Plugins for tests: a core module, as text, built into a component of a world.

use crate::root;
use anyhow::Result;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// Builds a component of the stage's world from a core module.
///
/// # Errors
/// It is not such a module.
pub fn component(module: &str, stage: &str) -> Result<Vec<u8>> {
    component_of(module, stage, stage, &[])
}

/// Builds a component from a core module, for a world in these packages or in the package of the stage. `more`: names
/// and texts.
///
/// # Errors
/// It is not such a module, or the world does not exist.
pub fn component_of(module: &str, stage: &str, world: &str, more: &[(&str, &str)]) -> Result<Vec<u8>> {
    let module = core_module(module, stage, world, more)?;
    ComponentEncoder::default().module(&module)?.encode()
}

/// A core module with its world, as bindings generators make them. Parameters as of [`component_of`].
///
/// # Errors
/// It is not a module, or the world does not exist.
pub fn core_module(module: &str, stage: &str, world: &str, more: &[(&str, &str)]) -> Result<Vec<u8>> {
    let (mut resolve, wit) = (Resolve::default(), root().join("wit"));
    resolve.push_dir(wit.join("types/1.0.0"))?;
    let (mut package, _) = resolve.push_dir(wit.join(stage).join("1.0.0"))?;
    for (name, text) in more {
        package = resolve.push_str(name, text)?;
    }
    let world = resolve.select_world(&[package], Some(world))?;
    let mut module = wat::parse_str(module)?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    Ok(module)
}
