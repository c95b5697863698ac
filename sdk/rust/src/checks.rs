//! Plugins of the stage `checks`: they report on the objects of a conversion.

use crate::Plugin;
use crate::types::{Context, Diagnostic};

/// Generated.
#[doc(hidden)]
#[allow(missing_docs, reason = "documented in `wit/`, where a name does not say all")]
pub mod bindings {
    wit_bindgen::generate!({
        path: ["../../wit/types/1.0.0", "../../wit/checks/1.0.0"],
        world: "boson:checks/checks@1.0.0",
        with: {
            "boson:types/types@1.0.0": crate::types::bindings::boson::types::types,
            "boson:types/objects@1.0.0": crate::types::bindings::boson::types::objects,
        },
        pub_export_macro: true,
        default_bindings_module: "boson_plugin::checks::bindings",
        generate_all,
    });
}

pub use crate::types::View;

/// A plugin of this stage.
pub trait Checks: Plugin {
    /// Reports what it finds.
    fn check(view: View, settings: Self::Settings, context: Context) -> Vec<Diagnostic>;
}
