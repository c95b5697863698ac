//! Tests against a real Kubernetes control plane (see `boson_tests::cluster`). Its programs come from `$KUBEBUILDER_ASSETS` or
//! `.ci/kubernetes`; where they are missing these tests fail, they are never skipped.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod accepted;
mod at_hand;
mod deaths;
mod definitions;
mod example;
mod faults;
mod leading;
mod line;
mod operator;
mod secrets;
mod silence;
mod stage;
