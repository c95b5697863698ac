//! Makes passwords, keys and certificates as the bosh command line does: same options, defaults, encodings and error
//! texts.
//!
//! Clock, randomness and new RSA keys come from [`Source`], so that all other code is pure. Certificates are written
//! with x509-cert and not with rcgen, because rcgen keeps one value per attribute of the issuer's name: leaves of a CA
//! with two organizational units would not verify.
//!
//! # Caveats
//! Type errors of options and CA variables do not quote the value, as BOSH's do: it may be a secret.

mod certificate;
pub mod codes;
mod error;
mod generate;
mod inspect;
mod options;
mod password;
mod pem_text;
mod rsa;
mod rsa_key;
mod signer;
mod signing;
mod signing_request;
mod source;
mod ssh;
mod trust;
mod user;

pub use codes::ALL as CODES;
pub use error::{Error, ErrorKind, SignerError};
pub use generate::{
    Request, check, generate, ignored_options, key_demand, refused_by_bosh, refused_by_credhub, signer_name,
};
pub use inspect::{Issued, KeptKey};
pub use rsa_key::{KeySize, RsaKey};
pub use signing_request::{is_for_key, names_as_issuer, signing_request};
pub use source::{Source, System, prepare_keys};
pub use trust::{concatenated, contains, verifies};
