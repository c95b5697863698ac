//! The stage through its public functions: manifest and specs in, resolved documents and diagnostics out.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod deployment;
mod external;
mod groups;
mod links;
mod sizes;
