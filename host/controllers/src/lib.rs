//! The operator: custom resources, and the controllers that make what they ask for. kube, and never wasmtime.

pub mod api;
mod backoff;
pub mod client;
mod conditions;
pub mod lease;
pub mod metrics;
pub mod serving;
