//! A plugin of the stage `resources` whose settings are a JSON Patch of the Service `demo-web`, of the deployment in
//! the golden case `convert/small`.

use crate::component::component;
use anyhow::Result;
use std::fs;
use std::path::Path;

/// Address of the plugin's texts in its memory.
pub const BASE: usize = 1024;

/// A plugin that patches the Service `demo-web` with its settings: a JSON Patch.
pub struct Patcher {
    /// JSON Schema of its settings.
    pub schema: &'static str,
    /// `describe` traps.
    pub traps: bool,
}

/// The memory of a module from `BASE` on: texts, and records as words.
#[derive(Default)]
pub struct Data(Vec<u8>);

// === impl Data ===

impl Data {
    /// Adds a text: its address and length.
    pub fn text(&mut self, text: &str) -> [usize; 2] {
        let at = BASE + self.0.len();
        self.0.extend(text.as_bytes());
        [at, text.len()]
    }

    /// Adds a record, aligned: its address.
    pub fn words(&mut self, words: &[usize]) -> usize {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        let at = BASE + self.0.len();
        let bytes = words
            .iter()
            .flat_map(|word| u32::try_from(*word).unwrap_or_default().to_le_bytes());
        self.0.extend(bytes);
        at
    }

    /// As WebAssembly text has it.
    pub fn escaped(&self) -> String {
        self.0.iter().map(|byte| format!("\\{byte:02x}")).collect()
    }
}

impl Default for Patcher {
    fn default() -> Self {
        Self {
            schema: r#"{"type": "array"}"#,
            traps: false,
        }
    }
}

// === impl Patcher ===

impl Patcher {
    /// Writes the component to a file of this directory.
    ///
    /// # Errors
    /// It cannot be made or written.
    pub fn write(&self, directory: &Path, file: &str) -> Result<()> {
        let component = component(&self.module(), "resources")?;
        Ok(fs::write(directory.join(file), component)?)
    }

    /// Records of the reply are pointers and lengths, placed by hand.
    fn module(&self) -> String {
        let mut data = Data::default();
        let description = ["patcher", "1.0.0", self.schema].map(|text| data.text(text));
        let reference = ["v1", "Service", "demo-web"].map(|text| data.text(text));
        // Neither codes nor additional members.
        let described = data.words(&[description.as_flattened(), &[0; 4]].concat());
        // The case `json-patch`; the patch itself is the host's input.
        let patch = data.words(&[&[0][..], reference.as_flattened(), &[0; 2]].concat());
        // ok: edits; no diagnostics, additional members.
        let edits = data.words(&[&[0, patch, 1][..], &[0; 4]].concat());
        let bytes = data.escaped();
        let free = (BASE + data.0.len()).next_multiple_of(8);
        let describe = if self.traps {
            "unreachable".to_string()
        } else {
            format!("i32.const {described}")
        };
        // The settings come after the view (40 bytes) and the context's deployment (28 bytes).
        format!(
            r#"(module
                (memory (export "memory") 64)
                (global $free (mut i32) (i32.const {free}))
                (data (i32.const {BASE}) "{bytes}")
                (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                    (global.get $free)
                    (global.set $free (i32.and (i32.add (i32.add (global.get $free) (local.get 3)) (i32.const 7)) (i32.const -8))))
                (func (export "boson:types/about@1.0.0#describe") (result i32) {describe})
                (func (export "boson:resources/transformation@1.0.0#transform") (param i32) (result i32)
                    (i32.store (i32.const {}) (i32.load (i32.add (local.get 0) (i32.const 68))))
                    (i32.store (i32.const {}) (i32.load (i32.add (local.get 0) (i32.const 72))))
                    (i32.const {edits})))"#,
            patch + 28,
            patch + 32,
        )
    }
}
