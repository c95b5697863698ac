//! Plugins at a desk and in the operator: which ones a conversion uses, with their settings, and the commands for their
//! authors and administrators.
//!
//! | module | content |
//! |---|---|
//! | [`plugins`] | the plugins of a conversion: built-in ones, and those of `--plugin` |
//! | [`loaded`] | the plugins that the operator has loaded |
//! | [`cases`] | recorded calls, tests, conformance, changed inputs |
//! | [`scaffold`] | new plugins |
//! | [`signatures`], [`evidence`] | which signatures and attestations are enough, and what an image has |
//! | [`command`] | the commands |

pub mod artifacts;
pub mod cases;
pub mod codes;
pub mod command;
pub mod components;
pub mod confined;
pub mod core_module;
pub mod evidence;
pub mod loaded;
pub mod metering;
pub mod plugin_arguments;
pub mod plugin_groups;
pub mod plugin_settings;
pub mod plugins;
pub mod printed;
pub mod scaffold;
pub mod signatures;
pub mod unpack;

pub use codes::ALL as CODES;
