//! Release images in a registry. An image is fetched layer by layer, as a stream; of each layer only what a conversion
//! needs of `/var/vcap/jobs-src` is stored, by repository and digest, in a cache. The result is an OCI image layout for
//! `boson_releases::read`. [`Transfer`] moves whole images for `host image`: a stemcell's to files, a release's to its
//! registry. Components of plugins are pulled whole, for one namespace each.
//!
//! # Guarantees
//! Cached content matches its digests. Access is checked with the registry at each fetch: the cache gives no access
//! that the registry would deny. Errors contain no secrets. At most 4 MiB of a manifest and 64 KiB of a token's answer
//! are read, and only the status of an error. An image has 256 MiB of jobs and five minutes at most, the cache 1 GiB:
//! the least recently used layers are evicted first. Images that are read at once have another 768 MiB.

mod archive;
mod artifact;
mod attached;
mod attachments;
mod cache;
mod client;
pub mod codes;
mod component;
mod credentials;
mod error;
mod layer;
mod layout;
mod manifest;
mod pipe;
mod registry;
mod token;
mod transfer;

#[cfg(test)]
mod tests;

pub use archive::{is_layout, read as read_archive};
pub use attachments::{Attachment, Attachments};
pub use client::Settings;
pub use codes::ALL as CODES;
pub use component::Owned;
pub use credentials::{Credentials, CredentialsError, docker_config, docker_credentials};
pub use layout::Layout;
pub use registry::Registry;
pub use transfer::Transfer;
