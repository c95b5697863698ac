//! The conversion without I/O.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod bundle;
mod native;
mod objects;
mod patch;
mod permissions;
mod plain;
mod privileges;
mod releases;
mod rendering;
mod report;
mod variables;
mod yaml_read;
mod yaml_write;
