//! Registries that mean no good, or are broken: each is a thread that answers as a test tells it.

use crate::{Registry, Settings};
use std::net::SocketAddr;
use std::path::Path;

mod keeping;
mod server;
mod signing_in;
mod slow;

/// What reads from this registry.
fn registry(address: SocketAddr, cache: &Path) -> Registry {
    let settings = Settings {
        without_tls: vec![address.to_string()],
        ..Settings::default()
    };
    Registry::new(cache.into(), settings)
}
