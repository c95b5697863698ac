//! The operator: custom resources, and the controllers that make what they ask for. kube, and never wasmtime.

pub mod api;
