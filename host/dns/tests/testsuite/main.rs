//! BOSH DNS: names, packets, and the server.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod aliases_of_cf;
mod demo;
mod packets;
mod serving;
mod vectors;
