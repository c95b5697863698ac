//! Wrappers of the stage `ops`: operations on the manifest.

/// Generated.
#[doc(hidden)]
#[allow(missing_docs, reason = "documented in `wit/`, where a name does not say all")]
pub mod bindings {
    wit_bindgen::generate!({
        path: ["../../wit/types/1.0.0", "../../wit/ops/1.0.0"],
        world: "boson:ops/ops-wrapper@1.0.0",
        with: { "boson:types/types@1.0.0": crate::types::bindings::boson::types::types },
        pub_export_macro: true,
        default_bindings_module: "boson_plugin::ops::bindings",
        generate_all,
        additional_derives: [PartialEq],
    });
}

pub use bindings::boson::ops::shapes::*;

/// The rule that the plugin wraps.
pub mod rule {
    pub use super::bindings::boson::ops::operations::*;
}

wrapper! { Ops { apply(ApplyRequest) -> Applied; find(FindRequest) -> Found; } }
