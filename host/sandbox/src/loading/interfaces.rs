//! What a component is: its interfaces, and what an instance of it has from the beginning.

use crate::call::PAGE_BYTES;
use crate::engine::Sandbox;
use crate::plugin::Plugin;

/// Names of the interfaces of a component.
#[derive(Clone, Debug)]
pub struct Interfaces {
    /// What it imports: types, and for a wrapper the interface of its stage.
    pub imports: Vec<String>,
    pub exports: Vec<String>,
}

/// What a component and each instance of it need.
#[derive(Clone, Copy, Debug)]
pub struct Requirements {
    /// Bytes of machine code.
    pub code: u64,
    pub memories: u32,
    /// Bytes that the largest memory has from the beginning.
    pub memory: u64,
    pub tables: u32,
    /// Elements that the largest table has from the beginning.
    pub table_elements: u64,
}

// === impl Sandbox ===

impl Sandbox {
    pub fn interfaces(&self, plugin: &Plugin) -> Interfaces {
        let kind = plugin.pre.component().component_type();
        let imports = kind.imports(&self.engine).map(|(name, _)| name.to_string());
        let exports = kind.exports(&self.engine).map(|(name, _)| name.to_string());
        Interfaces {
            imports: imports.collect(),
            exports: exports.collect(),
        }
    }

    /// What the plugin needs. The numbers of memories and tables are 0 if the component does not declare them.
    pub fn requirements(&self, plugin: &Plugin) -> Requirements {
        let needs = plugin.pre.component().resources_required();
        let needs = needs.as_ref();
        Requirements {
            code: plugin.code_bytes(),
            memories: needs.map_or(0, |needs| needs.num_memories),
            memory: needs.and_then(|needs| needs.max_initial_memory_size).unwrap_or(0) * PAGE_BYTES,
            tables: needs.map_or(0, |needs| needs.num_tables),
            table_elements: needs.and_then(|needs| needs.max_initial_table_size).unwrap_or(0),
        }
    }
}
