//! Releases that are special.

pub use boson_deployment::dns::is_release as is_dns;
