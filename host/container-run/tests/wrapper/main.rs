//! The process wrapper with real processes. What needs root is skipped without it, and says so.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says why it is skipped"
)]

mod commands;
mod copy_jobs;
mod logs;
mod mistakes;
mod monit;
mod monit_http;
mod namespaces;
mod output;
mod pod;
mod pre_render;
mod processes;
mod scripts;
mod stopping;
mod stops_of_pods;
