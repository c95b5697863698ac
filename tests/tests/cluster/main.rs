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
mod bad_input;
mod definitions;
mod desk;
mod documented;
mod faults;
mod hook;
mod kept;
mod leading;
mod operator;
mod secrets;
mod stage;
