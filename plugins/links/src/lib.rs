//! The links stage: which jobs run where, with which properties and links.
//!
//! Reads the manifest and the jobs' specs, places addons, binds properties, finds a provider for every consumed link, lays out the
//! instances, and writes one resolved document for each instance group. Pure.

pub mod addons;
pub mod codes;
pub mod consume;
pub mod content;
pub mod data;
pub mod diagnostic;
pub mod group;
#[cfg(target_family = "wasm")]
#[allow(unsafe_code, missing_docs, reason = "generated bindings")]
mod guest;
pub mod job;
pub mod manifest;
pub mod properties;
pub mod provide;
pub mod quarks;
pub mod resolve;
pub mod resolved;
pub mod spec;
mod stage;
pub mod value;
pub mod variables;

pub use codes::Code;
pub use diagnostic::{Diagnostic, Severity};
pub use resolved::GroupDocument;
pub use spec::JobSpec;
pub use stage::{Deployment, Provided, Resolved, resolve, variable_addresses};
