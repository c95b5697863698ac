//! Lists the interfaces of a plugin.

use crate::engine::Sandbox;
use crate::plugin::Plugin;

/// Names of the interfaces of a component.
#[derive(Clone, Debug)]
pub struct Interfaces {
    /// What it imports: types, and for a wrapper the interface of its stage.
    pub imports: Vec<String>,
    /// What it exports.
    pub exports: Vec<String>,
}

// === impl Sandbox ===

impl Sandbox {
    /// The interfaces of the plugin.
    pub fn interfaces(&self, plugin: &Plugin) -> Interfaces {
        let kind = plugin.pre.component().component_type();
        let imports = kind.imports(&self.engine).map(|(name, _)| name.to_string());
        let exports = kind.exports(&self.engine).map(|(name, _)| name.to_string());
        Interfaces {
            imports: imports.collect(),
            exports: exports.collect(),
        }
    }
}
