//! `host image`, through the program: what is in the image, that the same input gives the same digest, that a registry gets what it lacks and nothing
//! else, and what is refused.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod desk;
mod downloads;
mod files;
mod memory;
mod pushes;
mod refused;
