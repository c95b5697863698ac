//! Signatures of plugins, by keys of the administrator and by identities, without a network.
//!
//! | signed | by | format |
//! |---|---|---|
//! | a component | `cosign sign-blob`, `openssl dgst -sha256 -sign` | a signature of its bytes, alone or in a bundle |
//! | an image | `cosign sign` | the signature of a payload that names the digest of the image, or an envelope |
//! | a statement about either | `cosign attest`, `cosign attest-blob` | an envelope (DSSE), alone or in a bundle |

mod blob;
mod envelope;
mod identity;
mod key;
mod keyless;
mod payload;
mod signed;
mod trust;
mod verdict;

pub use envelope::{Envelope, Statement};
pub use identity::{Identity, IdentityRule};
pub use key::{KeyError, Keys};
pub use keyless::Identities;
pub use payload::ImageSignature;
pub use signed::{Attached, Provenance, Signed, Signer, Subject};
pub use trust::Trust;
pub use verdict::{Author, Reason, SignatureError};
