//! Wrappers of the stage `variables`: variables.

/// Generated.
#[doc(hidden)]
#[allow(missing_docs, reason = "documented in `wit/`, where a name does not say all")]
pub mod bindings {
    wit_bindgen::generate!({
        path: ["../../wit/types/1.0.0", "../../wit/variables/1.0.0"],
        world: "boson:variables/variables-wrapper@1.0.0",
        with: { "boson:types/types@1.0.0": crate::types::bindings::boson::types::types },
        pub_export_macro: true,
        default_bindings_module: "boson_plugin::variables::bindings",
        generate_all,
        additional_derives: [PartialEq],
    });
}

pub use bindings::boson::variables::shapes::*;

/// The rule that the plugin wraps.
pub mod rule {
    pub use super::bindings::boson::variables::interpolation::*;
}

wrapper! { Variables { plan(PlanRequest) -> VariablesPlan; interpolate(InterpolateRequest) -> Interpolated; } }
