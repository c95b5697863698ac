//! `host image`, through the program: the content of the image, the same digest for the same input, that a registry
//! gets only what it lacks, and refused input.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod downloads;
mod example;
mod files;
mod memory;
mod pushes;
mod refused;
mod sources;
mod workspace;
