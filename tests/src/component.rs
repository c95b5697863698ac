//! Plugins for tests: a core module, as text, made a component of a world.

use crate::root;
use anyhow::Result;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// A core module as a component of the stage's world.
///
/// # Errors
/// It is no such module.
pub fn component(module: &str, stage: &str) -> Result<Vec<u8>> {
    component_of(module, stage, stage, &[])
}

/// A core module as a component of a world that stands in these packages, or in that of the stage. `more`: names and texts.
///
/// # Errors
/// It is no such module, or there is no such world.
pub fn component_of(module: &str, stage: &str, world: &str, more: &[(&str, &str)]) -> Result<Vec<u8>> {
    let (mut resolve, wit) = (Resolve::default(), root().join("wit"));
    resolve.push_dir(wit.join("types"))?;
    let (mut package, _) = resolve.push_dir(wit.join(stage))?;
    for (name, text) in more {
        package = resolve.push_str(name, text)?;
    }
    let world = resolve.select_world(&[package], Some(world))?;
    let mut module = wat::parse_str(module)?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    ComponentEncoder::default().module(&module)?.encode()
}
