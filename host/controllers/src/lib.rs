//! The operator: the controllers of the custom resources. They use the API server through `boson_cluster`, and never
//! wasmtime.
//!
//! Each controller has a folder, and the parts of [`controller::Controller`]. [`run()`] runs them all.

pub mod admission;
pub mod codes;
mod controller;
pub mod conversion;
mod deployment;
mod instance_revisions;
mod job;
mod links;
mod orphans;
mod pod_problems;
mod problem;
pub mod prune;
mod resources;
mod run;
mod secret;
mod slots;
mod stateful_set;
pub mod waiting;

pub use codes::ALL as CODES;
pub use deployment::Conversion;
pub use run::{Config, RunError, run};
pub use secret::OWN_SIGNER;
pub use stateful_set::{Decision, decide};
