//! Checks that a component is sealed, from its bytes: before it is compiled, and without reading its code.

use crate::component::{Import, judge};
use crate::error::{Failure, FailureKind};
use wasmparser::component_types::{ComponentAnyTypeId, ComponentEntityType};
use wasmparser::types::TypesRef;
use wasmparser::{Parser, Payload, ValidPayload, Validator, WasmFeatures};

/// # Errors
/// What it imports, or that it is of no stage or not a valid component.
pub(crate) fn check(name: &str, bytes: &[u8]) -> Result<(), Failure> {
    let refused = |message: String| Failure::new(FailureKind::Refused, name, message);
    let invalid = |error: wasmparser::BinaryReaderError| refused(format!("is not a valid component: {error}"));
    let outside = outside(bytes).map_err(invalid)?;
    judge(&outside.imports, &outside.exports).map_err(refused)?;
    Ok(())
}

/// The imports and exports of a component.
#[derive(Default)]
struct Outside<'b> {
    /// Imports that are not types.
    imports: Vec<Import>,
    exports: Vec<&'b str>,
}

fn outside(bytes: &[u8]) -> wasmparser::Result<Outside<'_>> {
    let mut outside = Outside::default();
    // The engine checks features when it compiles; only types matter here.
    let mut validator = Validator::new_with_features(WasmFeatures::all());
    let (mut depth, mut imports) = (0_usize, Vec::new());
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload?;
        match &payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section.clone() {
                    imports.push(import?.name.name);
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section.clone() {
                    outside.exports.push(export?.name.name);
                }
            }
            _ => {}
        }
        // The compiler validates functions.
        if let ValidPayload::End(types) = validator.payload(&payload)? {
            if depth == 0 {
                let types = types.as_ref();
                for name in &imports {
                    if let Some(item) = types.component_item_for_import(name) {
                        forbidden(types, name, name, &item.ty, &mut outside.imports);
                    }
                }
            }
            depth = depth.saturating_sub(1);
        }
    }
    Ok(outside)
}

fn forbidden(types: TypesRef<'_>, root: &str, name: &str, item: &ComponentEntityType, found: &mut Vec<Import>) {
    let mut add = |what: String| {
        found.push(Import {
            interface: root.into(),
            what,
        });
    };
    match item {
        ComponentEntityType::Type {
            created: ComponentAnyTypeId::Resource(_),
            ..
        } => add(format!("resource '{name}'")),
        ComponentEntityType::Type { .. } => {}
        ComponentEntityType::Instance(instance) => {
            for (member, item) in &types[*instance].exports {
                forbidden(types, root, &format!("{name}#{member}"), &item.ty, found);
            }
        }
        ComponentEntityType::Func(_) => add(format!("function '{name}'")),
        ComponentEntityType::Module(_) | ComponentEntityType::Component(_) | ComponentEntityType::Value(_) => {
            add(format!("'{name}'"));
        }
    }
}
