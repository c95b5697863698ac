//! Registries that mean no good, or are broken: each is a thread that answers as a test tells it.

mod server;
mod signing_in;
