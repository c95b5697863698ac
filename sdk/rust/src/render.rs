//! Wrappers of the stage `render`: templates.

/// Generated.
#[doc(hidden)]
#[allow(missing_docs, reason = "documented in `wit/`, where a name does not say all")]
pub mod bindings {
    wit_bindgen::generate!({
        path: ["../../wit/types/1.0.0", "../../wit/render/1.0.0"],
        world: "boson:render/render-wrapper@1.0.0",
        with: { "boson:types/types@1.0.0": crate::types::bindings::boson::types::types },
        pub_export_macro: true,
        default_bindings_module: "boson_plugin::render::bindings",
        generate_all,
        additional_derives: [PartialEq],
    });
}

pub use bindings::boson::render::shapes::*;

/// The rule that the plugin wraps.
pub mod rule {
    pub use super::bindings::boson::render::templates::*;
}

wrapper! { Render { render(RenderRequest) -> Files; } }
