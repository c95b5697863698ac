//! The world of a module.

use crate::Error;
use crate::console;
use crate::packages::PACKAGES;
use walrus::Module;
use wit_parser::{Interface, Resolve, Type, TypeDef, TypeDefKind, World, WorldId, WorldItem, WorldKey};

/// A function of the contract, by its names in WIT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// `convert-group`
    pub name: String,
    /// Type of the first parameter: `group-request`.
    pub request: String,
    /// Type of the reply without errors: `converted`.
    pub reply: String,
}

/// All packages of the contract.
///
/// # Errors
/// None of this version.
pub fn contract() -> Result<Resolve, Error> {
    let mut resolve = Resolve::default();
    for (name, text) in PACKAGES {
        let unreadable = |error| Error::World(format!("{error:#}"));
        resolve.push_str(name, text).map_err(unreadable)?;
    }
    Ok(resolve)
}

/// The interface of a stage, without its package, and its functions. Empty if there is no such stage.
pub fn functions(stage: &str) -> (String, Vec<Function>) {
    let Ok(resolve) = contract() else {
        return Default::default();
    };
    let is_of_stage = |interface: &&Interface| {
        let package = interface.package.map(|id| resolve.packages[id].name.name.as_str());
        package == Some(stage) && !interface.functions.is_empty()
    };
    let mut interfaces = resolve.interfaces.iter().map(|(_, interface)| interface);
    let Some(interface) = interfaces.find(is_of_stage) else {
        return Default::default();
    };
    let functions = interface.functions.values().map(|function| Function {
        name: function.name.clone(),
        request: function
            .params
            .first()
            .map(|param| type_name(&resolve, &param.ty))
            .unwrap_or_default(),
        reply: function
            .result
            .map(|reply| type_name(&resolve, &reply))
            .unwrap_or_default(),
    });
    (interface.name.clone().unwrap_or_default(), functions.collect())
}

/// The name of a type; of a result, that of the value.
fn type_name(resolve: &Resolve, kind: &Type) -> String {
    let Type::Id(id) = kind else { return String::new() };
    match &resolve.types[*id] {
        TypeDef { name: Some(name), .. } => name.clone(),
        TypeDef {
            kind: TypeDefKind::Result(result),
            ..
        } => result.ok.map(|ok| type_name(resolve, &ok)).unwrap_or_default(),
        _ => String::new(),
    }
}

/// Prefix of the custom sections in which bindings store the world. Each `generate!` of Rust adds its own.
const SECTION: &str = "component-type";

/// The world of a module.
pub(crate) struct Declared {
    pub(crate) resolve: Resolve,
    pub(crate) world: WorldId,
    /// The module has it in a custom section.
    pub(crate) in_module: bool,
}

// === impl Declared ===

impl Declared {
    /// The world in the module's section, or the one of the contract that the module fits.
    pub(crate) fn of(core: &[u8], module: &Module) -> Result<Self, Error> {
        let in_module = module
            .customs
            .iter()
            .any(|(_, section)| section.name().starts_with(SECTION));
        if !in_module {
            return Self::of_contract(module);
        }
        let unreadable = |error| Error::World(format!("{error:#}"));
        let (_, bindings) = wit_component::metadata::decode(core).map_err(unreadable)?;
        Ok(Self {
            resolve: bindings.resolve,
            world: bindings.world,
            in_module,
        })
    }

    fn of_contract(module: &Module) -> Result<Self, Error> {
        let resolve = contract()?;
        let mut worlds = resolve.worlds.iter();
        let (world, _) = worlds
            .find(|(_, world)| fits(&resolve, world, module))
            .ok_or(Error::NoWorld)?;
        Ok(Self {
            resolve,
            world,
            in_module: false,
        })
    }

    /// Whether the component may import this interface: one that it also exports, as wrappers do.
    pub(crate) fn is_below(&self, interface: &str) -> bool {
        let world = &self.resolve.worlds[self.world];
        has(&self.resolve, world.imports.keys(), interface) && has(&self.resolve, world.exports.keys(), interface)
    }
}

/// Whether the module exports functions of the stage's interface, and imports of the contract only what the world does.
fn fits(resolve: &Resolve, world: &World, module: &Module) -> bool {
    let exports_of = |interface: &str| {
        let mut functions = module.exports.iter().filter_map(|export| export.name.split_once('#'));
        functions.any(|(name, _)| name == interface)
    };
    let is_of_stage = |item: &WorldItem| match item {
        WorldItem::Interface { id, .. } => resolve.interfaces[*id].package == world.package,
        _ => false,
    };
    let mut stage = world.exports.iter().filter(|(_, item)| is_of_stage(item));
    let mut imports = module.imports.iter().map(|import| import.module.as_str());
    stage.any(|(key, _)| exports_of(&resolve.name_world_key(key)))
        && imports.all(|name| {
            !name.starts_with("boson:") || name == console::MODULE || has(resolve, world.imports.keys(), name)
        })
}

fn has<'k>(resolve: &Resolve, mut keys: impl Iterator<Item = &'k WorldKey>, name: &str) -> bool {
    keys.any(|key| resolve.name_world_key(key) == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_the_names_of_their_types() {
        let (interface, functions) = functions("bpm");
        assert_eq!(interface, "conversion");
        let function = |name: &str, request: &str| Function {
            name: name.into(),
            request: request.into(),
            reply: "converted".into(),
        };
        let wanted = [
            function("convert-deployment", "deployment-request"),
            function("convert-group", "group-request"),
        ];
        assert_eq!(functions, wanted);
        for stage in ["ops", "variables", "links", "render", "resources", "checks"] {
            assert!(!super::functions(stage).1.is_empty(), "{stage}");
        }
    }
}
