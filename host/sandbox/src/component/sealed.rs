//! Checks that a component is sealed, from its bytes: before it is compiled, and without reading its code.

use crate::component::imports::{Import, Imports, Path};
use crate::component::kind_of;
use crate::error::{Error, ErrorKind};
use wasmparser::component_types::{ComponentAnyTypeId, ComponentEntityType};
use wasmparser::types::TypesRef;
use wasmparser::{Parser, Payload, ValidPayload, Validator, WasmFeatures};

/// Bytes of all types of a component. The engine keeps them for as long as the component is loaded, and takes forty
/// times as much memory for them. CRuby has 3 kB.
const MAX_TYPE_BYTES: usize = 256 << 10;
/// Bytes of all imports, exports, aliases and instances, of the component and its modules.
const MAX_DECLARATION_BYTES: usize = 4 << 20;

/// # Errors
/// What it imports, that it declares too much, or that it is of no stage or not a valid component.
pub(crate) fn check(name: &str, bytes: &[u8]) -> Result<(), Error> {
    let refused = |message: String| Error::new(ErrorKind::Refused, name, message);
    let invalid = |error: wasmparser::BinaryReaderError| refused(format!("is not a valid component: {error}"));
    if let Some(message) = check_size(bytes).map_err(invalid)? {
        return Err(refused(message));
    }
    let (imports, exports) = imports_and_exports(bytes).map_err(invalid)?;
    kind_of(&imports, &exports).map_err(refused)?;
    Ok(())
}

/// What a component has too much of: machine code is on a disk, and this would be in memory.
fn check_size(bytes: &[u8]) -> wasmparser::Result<Option<String>> {
    let (mut types, mut others) = (0, 0);
    for payload in Parser::new(0).parse_all(bytes) {
        match payload? {
            Payload::TypeSection(section) => types += section.range().len(),
            Payload::CoreTypeSection(section) => types += section.range().len(),
            Payload::ComponentTypeSection(section) => types += section.range().len(),
            Payload::ImportSection(section) => others += section.range().len(),
            Payload::ExportSection(section) => others += section.range().len(),
            Payload::GlobalSection(section) => others += section.range().len(),
            Payload::InstanceSection(section) => others += section.range().len(),
            Payload::ComponentAliasSection(section) => others += section.range().len(),
            Payload::ComponentExportSection(section) => others += section.range().len(),
            Payload::ComponentImportSection(section) => others += section.range().len(),
            Payload::ComponentInstanceSection(section) => others += section.range().len(),
            _ => {}
        }
    }
    Ok(match (types > MAX_TYPE_BYTES, others > MAX_DECLARATION_BYTES) {
        (true, _) => Some(format!("has more than {} KiB of types", MAX_TYPE_BYTES >> 10)),
        (_, true) => {
            let most = MAX_DECLARATION_BYTES >> 20;
            Some(format!(
                "has more than {most} MiB of imports, exports, aliases and instances"
            ))
        }
        _ => None,
    })
}

fn imports_and_exports(bytes: &[u8]) -> wasmparser::Result<(Imports, Vec<&str>)> {
    let (mut found, mut exports) = (Imports::default(), Vec::new());
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
                    exports.push(export?.name.name);
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
                        found.add(name, |path, found| collect_items(types, path, &item.ty, found));
                    }
                }
            }
            depth = depth.saturating_sub(1);
        }
    }
    Ok((found, exports))
}

/// Adds what is not a type.
fn collect_items(types: TypesRef<'_>, path: &Path<'_>, item: &ComponentEntityType, found: &mut Import) {
    match item {
        ComponentEntityType::Type {
            created: ComponentAnyTypeId::Resource(_),
            ..
        } => found.add("resource", path),
        ComponentEntityType::Type { .. } => {}
        ComponentEntityType::Instance(instance) => {
            for (member, item) in &types[*instance].exports {
                collect_items(types, &path.below(member), &item.ty, found);
            }
        }
        ComponentEntityType::Func(_) => found.add("function", path),
        ComponentEntityType::Module(_) | ComponentEntityType::Component(_) | ComponentEntityType::Value(_) => {
            found.add("", path);
        }
    }
}
