//! container-run with real processes. Tests that need root are skipped without it, and print why.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says why it is skipped"
)]

mod commands;
mod copy_jobs;
mod copy_packages;
mod logs;
mod mistakes;
mod monit;
mod monit_http;
mod namespaces;
mod output;
mod pod;
mod pre_render;
mod pre_start;
mod probes;
mod processes;
mod scripts;
mod stopping;
mod stops_of_pods;
