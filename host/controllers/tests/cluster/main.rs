//! What only a real API server can judge: whether definitions are structural, CEL rules, who of two writers was first, what an update of
//! something old meets.
//!
//! It is the one of $KUBECONFIG, so these tests are asked for by name: `cargo test -p boson-controllers --test cluster -- --ignored`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that fails says so"
)]

mod at_hand;
mod definitions;
mod faults;
mod leading;
mod secrets;
mod stage;
