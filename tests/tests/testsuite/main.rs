//! Tests through the front doors that need neither Kubernetes nor compilers of plugins. They are one program, because
//! linking the sandbox into each of them takes longer than the tests. Those that measure memory are programs of their
//! own: a child process counts what its parent had when it was started.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod agreement;
mod architecture;
mod archives;
mod blame;
mod budget;
mod capacity;
mod cf_deployment;
mod circles;
mod codes;
mod conformance;
mod contract;
mod corpus;
mod credentials;
mod debugging;
mod dependencies;
mod determinism;
mod dialects;
mod differences;
mod effects;
mod every_instance;
mod examples;
mod explain;
mod hostile_input;
mod image;
mod kubectl_plugin;
mod native_links;
mod permissions;
mod places;
mod plugin_settings;
mod programs;
mod recording;
mod registry;
mod release;
mod replies;
mod requests;
mod schemas;
mod secrets;
mod signatures;
mod vars_store;
mod versions;
mod wasi;
mod wit_packages;
mod wrapping;
