//! Runs plugins: the only crate that uses wasmtime. Contains the engine, its limits, the cache of machine code, and the
//! calls of the contract as calls of components. It does not depend on Kubernetes.
//!
//! ```text bytes -> Sandbox::load (checked, compiled or from the cache) -> Plugin Plugins (one for each stage) :
//! pipeline::Stages -- every call: fresh instance, own store, limits, then nothing is left of it
//! ```

mod account;
mod bindings;
mod cache;
mod call;
mod call_state;
mod checked_call;
pub mod codes;
mod component;
mod console;
mod conversions;
mod describe;
mod description;
mod digest;
mod engine;
mod error;
mod exception;
mod fit;
mod frames;
mod imports;
mod interfaces;
pub mod json_call;
mod limits;
mod loading;
mod measures;
mod meter;
mod plugin;
mod plugins;
mod profile;
mod profiler;
mod recorder;
mod recording;
mod reply;
mod sealed;
pub mod settings;
mod stages;
mod unchanged;
mod wrapping;

pub use account::Account;
pub use cache::{Cache, MAX_MACHINE_CODE_BYTES, Task, note_answered};
pub use checked_call::deployment;
pub use codes::ALL as CODES;
pub use console::Console;
pub use description::{Code, Description, MAX_NAME_CHARS, is_name};
pub use digest::ComponentDigest;
pub use engine::Sandbox;
pub use error::{ASYNC_MARK, Error, ErrorKind};
pub use interfaces::{Interfaces, Requirements};
pub use limits::Limits;
pub use measures::Measures;
pub use meter::Meter;
pub use plugin::{Plugin, Source};
pub use plugins::Plugins;
pub use profiler::{Function, Profile};
pub use recorder::{RecordedCall, Recorder};
