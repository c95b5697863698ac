//! Signatures of plugins, by keys of the administrator: no network, no certificates, no transparency log.
//!
//! | signed | by | format | |---|---|---| | a component | `cosign sign-blob --key`, `openssl dgst -sha256 -sign` | the
//! signature of its bytes, in base64 or in a bundle |
//! | an image | `cosign sign --key` | the signature of a payload that names the digest of the image, or an envelope |
//! | a statement about either | `cosign attest --key`, `cosign attest-blob --key` | an envelope (DSSE) |

mod blob;
mod envelope;
mod key;
mod payload;
mod signed;

pub use envelope::{Envelope, Statement};
pub use key::{Keys, Malformed};
pub use payload::ImageSignature;
pub use signed::{Attached, Provenance, Signed, Signer, Subject};
