//! Release images in a registry. An image is fetched layer by layer, as a stream; of each layer only what a conversion needs of
//! `/var/vcap/jobs-src` is kept, by repository and digest, in a cache. The result is an OCI image layout for `boson_releases::read`.
//! [`Transfer`] moves whole images for `host image`: a stemcell's to files, a release's to its registry.
//!
//! # Guarantees
//! What is kept is what the digests say. Access is asked for at each fetch: the cache gives nobody an image that the registry would not.
//! Nothing secret is in errors. Of a manifest 4 MiB are read, of a token's answer 64 KiB, of an error nothing but its status.
//! An image has 256 MiB of jobs and five minutes at most, the cache 1 GiB: the layers that were not used for the longest time go first. Images
//! that are read at once have 768 MiB beside it.

#![allow(
    clippy::result_large_err,
    reason = "an error ends the reading of one image; a box for it would be noise in every signature"
)]

mod cache;
mod client;
mod codes;
mod credentials;
mod failure;
mod keychain;
mod layer;
mod layout;
mod manifest;
mod pipe;
mod registry;
mod room;
mod token;
mod transfer;
mod upload;

#[cfg(test)]
mod tests;

pub use codes::CODES;
pub use credentials::{Credentials, Malformed, docker_config};
pub use keychain::docker_credentials;
pub use layout::Layout;
pub use registry::{Registry, Settings};
pub use transfer::{Pulled, Transfer};
