//! Plugins of the stage `resources`: they change the objects of a conversion.

use crate::Plugin;
use crate::types::{Context, Diagnostic, ObjectReference};
use serde_json::Value;

/// Generated.
#[doc(hidden)]
#[allow(missing_docs, reason = "documented in `wit/`, where a name does not say all")]
pub mod bindings {
    wit_bindgen::generate!({
        path: ["../../wit/types/1.0.0", "../../wit/resources/1.0.0"],
        world: "boson:resources/resources@1.0.0",
        with: {
            "boson:types/types@1.0.0": crate::types::bindings::boson::types::types,
            "boson:types/objects@1.0.0": crate::types::bindings::boson::types::objects,
        },
        pub_export_macro: true,
        default_bindings_module: "boson_plugin::resources::bindings",
        generate_all,
        additional_derives: [PartialEq],
    });
}

pub use crate::types::View;
pub use bindings::boson::resources::shapes::{Edit, Edits, Patch};

/// A plugin of this stage.
pub trait Resources: Plugin {
    /// Receives a conversion and returns changes to its objects.
    ///
    /// # Errors
    /// What is wrong with the input.
    fn transform(view: View, settings: Self::Settings, context: Context) -> Result<Edits, Vec<Diagnostic>>;
}

// === impl Edits ===

impl From<Vec<Edit>> for Edits {
    fn from(edits: Vec<Edit>) -> Self {
        Self {
            edits,
            diagnostics: Vec::new(),
            more: Vec::new(),
        }
    }
}

// === impl Edit ===

impl Edit {
    /// Merges an object into another, by RFC 7386.
    pub fn merge(object: &Value, patch: &Value) -> Self {
        Self::MergePatch(Patch {
            object: ObjectReference::of(object),
            patch: patch.to_string(),
        })
    }

    /// Applies a list of operations to an object, by RFC 6902.
    pub fn json_patch(object: &Value, operations: &Value) -> Self {
        Self::JsonPatch(Patch {
            object: ObjectReference::of(object),
            patch: operations.to_string(),
        })
    }
}
