//! The operator: custom resources, and the controllers that make what they ask for. kube, and never wasmtime.
//!
//! Each controller has a folder: `observe` reads, `plan` decides and is pure, `act` writes. [`run()`] runs them all.

pub mod api;
mod backoff;
pub mod client;
mod codes;
mod conditions;
pub mod conversion;
mod deployment;
pub mod lease;
pub mod metrics;
mod objects;
pub mod prune;
mod quarks_secret;
mod run;
mod running;
mod scope;
pub mod serving;
mod stateful_set;
mod taken;

pub use codes::CODES;
pub use deployment::Conversion;
pub use run::{Config, RunError, run};
pub use scope::Namespaces;
