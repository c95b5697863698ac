//! Wrappers of the stage `links`: links and properties.

/// Generated.
#[doc(hidden)]
#[allow(missing_docs, reason = "documented in `wit/`, where a name does not say all")]
pub mod bindings {
    wit_bindgen::generate!({
        path: ["../../wit/types/1.0.0", "../../wit/links/1.0.0"],
        world: "boson:links/links-wrapper@1.0.0",
        with: { "boson:types/types@1.0.0": crate::types::bindings::boson::types::types },
        pub_export_macro: true,
        default_bindings_module: "boson_plugin::links::bindings",
        generate_all,
        additional_derives: [PartialEq],
    });
}

pub use bindings::boson::links::shapes::*;

/// The rule that the plugin wraps.
pub mod rule {
    pub use super::bindings::boson::links::resolution::*;
}

wrapper! { Links { resolve(LinksRequest) -> Resolved; addresses(LinksRequest) -> ResolvedAddresses; } }
