//! Releases from folders, tarballs and images.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod directories;
mod images;
mod make;
mod mutations;
mod source;
mod tarballs;
