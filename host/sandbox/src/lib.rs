//! Runs plugins: the only crate that uses wasmtime. Contains the engine, its limits, the cache of machine code, and the
//! calls of the contract as calls of components. It does not depend on Kubernetes.
//!
//! ```text bytes -> Sandbox::load (checked, compiled or from the cache) -> Plugin Plugins (one for each stage) :
//! pipeline::Stages -- every call: fresh instance, own store, limits, then nothing is left of it
//! ```

mod bindings;
mod cache;
mod call;
mod component;
mod engine;
mod error;
mod limits;
mod loading;
mod plugin;
mod stages;
mod telemetry;

pub use cache::{Cache, MAX_MACHINE_CODE_BYTES, Task, note_answered};
pub use call::json_call;
pub use engine::Sandbox;
pub use error::codes::{self, ALL as CODES};
pub use error::{ASYNC_MARK, Error, ErrorKind};
pub use limits::Limits;
pub use limits::account::Account;
pub use limits::measures::Measures;
pub use loading::interfaces::{Interfaces, Requirements};
pub use loading::settings;
pub use plugin::description::{Code, Description, MAX_NAME_CHARS, is_name};
pub use plugin::{Plugin, Source};
pub use stages::checked_call::deployment;
pub use stages::plugins::Plugins;
pub use stages::recorder::{RecordedCall, Recorder};
pub use telemetry::console::Console;
pub use telemetry::meter::Meter;
pub use telemetry::profiler::{Function, Profile};
