//! What only a real API server can judge: whether definitions are structural, CEL rules, who of two writers was first, what an update of
//! something old meets.
//!
//! It is the one of $KUBECONFIG, so these tests are asked for by name: `cargo test -p boson-controllers --test cluster -- --ignored`.

mod at_hand;
mod definitions;
mod leading;
mod secrets;
