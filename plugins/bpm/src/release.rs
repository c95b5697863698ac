//! Releases that are special.

pub use boson_manifest::dns::is_release as is_dns;
