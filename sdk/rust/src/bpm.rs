//! Wrappers of the stage `bpm`: Kubernetes objects.

/// Generated.
#[doc(hidden)]
#[allow(missing_docs, reason = "documented in `wit/`, where a name does not say all")]
pub mod bindings {
    wit_bindgen::generate!({
        path: ["../../wit/types/1.0.0", "../../wit/bpm/1.0.0"],
        world: "boson:bpm/bpm-wrapper@1.0.0",
        with: { "boson:types/types@1.0.0": crate::types::bindings::boson::types::types },
        pub_export_macro: true,
        default_bindings_module: "boson_plugin::bpm::bindings",
        generate_all,
        additional_derives: [PartialEq],
    });
}

pub use bindings::boson::bpm::shapes::*;

/// The rule that the plugin wraps.
pub mod rule {
    pub use super::bindings::boson::bpm::conversion::*;
}

wrapper! { Bpm { convert_deployment(DeploymentRequest) -> Converted; convert_group(GroupRequest) -> Converted; } }
