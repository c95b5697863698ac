//! Signatures of plugins, by keys of the administrator: no network, no certificates, no transparency log.
//!
//! | signed | by | format |
//! |---|---|---|
//! | a component | `cosign sign-blob --key`, `openssl dgst -sha256 -sign` | the signature of its bytes, in base64 |
//! | an image | `cosign sign --key` | the signature of a payload that names the digest of the image |

mod key;
mod payload;

pub use key::{Keys, Malformed};
pub use payload::ImageSignature;
