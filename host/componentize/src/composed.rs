//! A component and the provider of its imports, in one component.

use crate::Error;
use crate::console;
use crate::provider::{self, Provider, STARTED};
use std::convert::Infallible;
use wasm_encoder::reencode::{self, Reencode, ReencodeComponent};
use wasm_encoder::{
    ComponentBuilder, ComponentExportKind, ComponentTypeRef, ComponentValType, InstanceType, PrimitiveValType,
};
use wasmparser::{ComponentImport, Parser, Payload};
use wit_parser::{Resolve, WorldId, WorldItem};

/// An import or export: its name, kind and index.
type Item = (String, ComponentExportKind, u32);

/// The component that contains both, with the other imports and the exports of `component`.
///
/// The two are beside each other, because a component may not call what it contains.
pub(crate) fn compose(component: &[u8], provider: &Provider, exports: &[String]) -> Result<Vec<u8>, Error> {
    let mut outer = ComponentBuilder::default();
    let console = provider.prints.then(|| import_console(&mut outer));
    let inner = outer.component_raw(None, &provider.component);
    let answers = outer.instantiate(None, inner, console);
    let invalid = |error: reencode::Error| Error::Invalid(error.to_string());
    let imports = imports(&mut outer, component, answers).map_err(invalid)?;
    let inner = outer.component_raw(None, component);
    let plugin = outer.instantiate(None, inner, imports.clone());
    if let Some(starter) = &provider.starter {
        let inner = outer.component_raw(None, &starter.component);
        let mut alias = |of, name: &str, kind| (name.to_string(), kind, outer.alias_export(of, name, kind));
        // With the types that the description refers to.
        let mut imports = imports;
        imports.push(alias(answers, STARTED, ComponentExportKind::Func));
        if let Some(about) = &starter.about {
            imports.push(alias(plugin, about, ComponentExportKind::Instance));
        }
        outer.instantiate(None, inner, imports);
    }
    for name in exports {
        let kind = ComponentExportKind::Instance;
        let interface = outer.alias_export(plugin, name, kind);
        outer.export(name, kind, interface, None);
    }
    Ok(outer.finish())
}

/// Names of the interfaces that a world exports.
pub(crate) fn exports(resolve: &Resolve, world: WorldId) -> Vec<String> {
    let exports = resolve.worlds[world].exports.iter();
    let interfaces = exports.filter(|(_, item)| matches!(item, WorldItem::Interface { .. }));
    interfaces.map(|(key, _)| resolve.name_world_key(key)).collect()
}

fn import_console(outer: &mut ComponentBuilder) -> Item {
    let mut console = InstanceType::new();
    let bytes = ComponentValType::Primitive(PrimitiveValType::U8);
    console.ty().defined_type().list(bytes);
    let text = ("text", ComponentValType::Type(0));
    console.ty().function().params([text]).result(None);
    console.export("print", ComponentTypeRef::Func(1));
    let console = outer.type_instance(None, &console);
    let import = outer.import(console::MODULE, ComponentTypeRef::Instance(console));
    (console::MODULE.into(), ComponentExportKind::Instance, import)
}

/// Imports what the component imports, or takes it from the provider. With the imports come the types that they refer
/// to, which are before the first module of a component.
fn imports(outer: &mut ComponentBuilder, component: &[u8], answers: u32) -> Result<Vec<Item>, reencode::Error> {
    let mut places = Places {
        types: outer.type_count(),
        instances: outer.instance_count(),
        depth: 0,
    };
    let mut items = Vec::new();
    for payload in Parser::new(0).parse_all(component) {
        match payload? {
            Payload::Version { .. } | Payload::CustomSection(_) => {}
            Payload::ComponentTypeSection(section) => {
                for kind in section {
                    places.parse_component_type(outer.ty(None).1, kind?)?;
                }
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section {
                    outer.alias(None, places.component_alias(alias?)?);
                }
            }
            Payload::ComponentImportSection(section) => {
                for import in section {
                    items.push(places.item(outer, import?, answers)?);
                }
            }
            _ => break,
        }
    }
    Ok(items)
}

/// Where the types and instances of the component begin in the outer one.
struct Places {
    types: u32,
    instances: u32,
    /// Types that contain the one that is being read.
    depth: u32,
}

// === impl Places ===

impl Places {
    fn item(
        &mut self,
        outer: &mut ComponentBuilder,
        import: ComponentImport<'_>,
        answers: u32,
    ) -> Result<Item, reencode::Error> {
        let (name, kind) = (import.name.name, self.component_type_ref(import.ty)?);
        let index = if provider::provides(name) {
            outer.alias_export(answers, name, ComponentExportKind::Instance)
        } else {
            outer.import(import.name, kind)
        };
        Ok((name.to_string(), kind.kind(), index))
    }
}

impl Reencode for Places {
    type Error = Infallible;
}

impl ReencodeComponent for Places {
    fn component_type_index(&mut self, index: u32) -> u32 {
        self.outer_component_type_index(0, index)
    }

    fn outer_component_type_index(&mut self, count: u32, index: u32) -> u32 {
        if count == self.depth {
            index.saturating_add(self.types)
        } else {
            index
        }
    }

    fn component_instance_index(&mut self, index: u32) -> u32 {
        if self.depth == 0 {
            index.saturating_add(self.instances)
        } else {
            index
        }
    }

    fn push_depth(&mut self) {
        self.depth += 1;
    }

    fn pop_depth(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }
}
