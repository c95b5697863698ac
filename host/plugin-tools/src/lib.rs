//! Which plugins a conversion uses, with their settings, in commands and in the operator. And the commands for authors
//! and administrators of plugins.
//!
//! | module | content |
//! |---|---|
//! | [`plugins`] | the plugins of a conversion: built-in ones, and those of `--plugin` |
//! | [`loaded`] | the plugins that the operator has loaded |
//! | [`cases`] | recorded calls, tests, conformance, changed inputs |
//! | [`scaffold`] | new plugins |
//! | [`signatures`], [`evidence`] | which signatures and attestations are enough, and what an image has |
//! | [`command`] | the commands |

mod artifacts;
pub mod cases;
mod codes;
pub mod command;
pub mod components;
mod confined;
mod core_module;
mod evidence;
pub mod loaded;
mod metadata;
mod metering;
pub mod plugin_arguments;
pub mod plugin_groups;
mod plugin_settings;
pub mod plugins;
pub mod printed;
mod scaffold;
mod signature_error;
pub mod signatures;
mod unpack;
mod wasm_image;
mod wit_packages;

pub use codes::ALL as CODES;
