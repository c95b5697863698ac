//! Tests against a real Kubernetes control plane (see `boson_tests::cluster`). Its programs come from
//! `$KUBEBUILDER_ASSETS` or `.ci/kubernetes`; if they are missing these tests fail, they are never skipped.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod accepted;
mod admission;
mod bad_input;
mod chart;
mod claims;
mod cloud_config;
mod deaths;
mod definitions;
mod deploy;
mod documented;
mod drift;
mod drivers;
mod environment;
mod everything;
mod example;
mod extras;
mod faults;
mod feedback;
mod guests;
mod headless;
mod held_back;
mod hook;
mod installed;
mod job_sources;
mod jobs;
mod kept;
mod kubectl_plugin;
mod leading;
mod line;
mod marked;
mod memory;
mod modes;
mod mutating;
mod neighbors;
mod node;
mod operator;
mod operator_process;
mod plugins;
mod rbac;
mod retained;
mod rollout;
mod secrets;
mod shared_cluster;
mod signing;
mod silence;
mod small;
mod trail;
mod unready;
mod upgrades;
mod web;
