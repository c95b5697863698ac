//! Hostile and broken registries: each is a thread whose answers a test defines.

use crate::cache::Sizes;
use crate::{Registry, Settings};
use std::net::SocketAddr;
use std::path::Path;

mod answers;
mod attachments;
mod components;
mod keeping;
mod server;
mod signing_in;
mod slow;
mod transfers;

/// What reads from this registry.
fn registry(address: SocketAddr, cache: &Path) -> Registry {
    sized(address, cache, Sizes::default())
}

/// The same with other bounds.
fn sized(address: SocketAddr, cache: &Path, sizes: Sizes) -> Registry {
    Registry::sized(cache.into(), &settings(&[address]), sizes).unwrap()
}

/// What reads from several.
fn many(addresses: &[SocketAddr], cache: &Path) -> Registry {
    Registry::new(cache.into(), &settings(addresses)).unwrap()
}

fn settings(addresses: &[SocketAddr]) -> Settings {
    Settings {
        without_tls: addresses.iter().map(ToString::to_string).collect(),
        ..Settings::default()
    }
}
