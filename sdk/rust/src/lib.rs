//! Plugins of Boson in Rust.
//!
//! A plugin is a type that implements [`Plugin`] and the trait of its stage, and an `export!` of that stage. Select the
//! stage with a feature of this crate:
//!
//! ```ignore
//! use boson_plugin::{NoSettings, Plugin};
//! use boson_plugin::resources::{Edits, Resources, View};
//! use boson_plugin::types::{Context, Diagnostic};
//!
//! struct MyLabels;
//!
//! impl Plugin for MyLabels {
//!     const NAME: &str = "my-labels";
//!     type Settings = NoSettings;
//! }
//!
//! impl Resources for MyLabels {
//!     fn transform(view: View, _: NoSettings, _: Context) -> Result<Edits, Vec<Diagnostic>> {
//!         Ok(Edits::from(Vec::new()))
//!     }
//! }
//!
//! boson_plugin::export!(resources: MyLabels);
//! ```
//!
//! Rules (`ops`, `variables`, `links`, `render`, `bpm`) are wrapped: the module of the stage has the functions of the
//! rule below, and its trait calls them unless the plugin overrides a method.
//!
//! All functions can be called in native tests, without WebAssembly, except those of the rule below.

#![warn(missing_docs)]

#[macro_use]
mod wrapper;

pub mod console;
mod export;
mod plugin;
pub mod types;

#[cfg(feature = "bpm")]
pub mod bpm;
#[cfg(feature = "checks")]
pub mod checks;
#[cfg(feature = "links")]
pub mod links;
#[cfg(feature = "ops")]
pub mod ops;
#[cfg(feature = "render")]
pub mod render;
#[cfg(feature = "resources")]
pub mod resources;
#[cfg(feature = "variables")]
pub mod variables;

pub use plugin::{Code, NoSettings, Plugin};

/// For the macros of this crate.
#[doc(hidden)]
pub mod private {
    pub use crate::plugin::{schema, settings};
}
