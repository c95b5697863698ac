//! The operator: the controllers of the custom resources. It uses kube, and never wasmtime.
//!
//! Each controller has a folder: `observe` reads, `plan` decides and is pure, `act` writes. [`run()`] runs them all.

mod account;
pub mod admission;
mod backoff;
mod cache;
pub mod client;
mod codes;
pub mod conversion;
mod deployment;
mod drift;
mod interest;
mod job;
pub mod lease;
pub mod metrics;
mod objects;
pub mod output;
pub mod plugins;
mod pod_problems;
pub mod prune;
mod quarks_secret;
mod requeue;
mod run;
mod running;
mod scope;
pub mod serving;
mod spawned;
mod stateful_set;
mod taken;
mod turns;
mod used;
mod versioned;
pub mod waiting;

pub use codes::CODES;
pub use deployment::Conversion;
pub use quarks_secret::OWN_SIGNER;
pub use run::{Config, RunError, run};
pub use scope::Namespaces;
