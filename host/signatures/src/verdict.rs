//! Who has signed something, or why a signature does not count.

use crate::identity::Identity;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Author {
    /// A key, by its fingerprint.
    Key(String),
    /// An identity, for which an authority of the trusted root has issued a certificate.
    Identity(Identity),
}

/// Why a signature does not count. The later reasons are those of signatures that passed more checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// There is none, or none of a trusted key.
    #[default]
    Unsigned,
    /// A bundle is malformed or was changed, or is of something else.
    Invalid,
    /// No authority of the trusted root has issued the certificate, or it was not valid at the time of the signature.
    Certificate,
    /// No log of the trusted root has recorded the signature, and no authority its time.
    Log,
    /// The certificate is of another issuer.
    Issuer,
    /// The certificate is of another identity.
    Identity,
}

/// A signature that does not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignatureError {
    pub reason: Reason,
    /// What was found, for a message.
    pub detail: String,
}

// === impl SignatureError ===

impl SignatureError {
    pub(crate) fn new(reason: Reason, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self { reason, detail }
    }
}

/// The first that counts. If there is none: why the one does not that passed most checks.
pub(crate) fn first<T>(all: impl IntoIterator<Item = Result<T, SignatureError>>) -> Result<T, SignatureError> {
    let mut closest = SignatureError::default();
    for one in all {
        match one {
            Ok(found) => return Ok(found),
            Err(error) if error.reason > closest.reason => closest = error,
            Err(_) => {}
        }
    }
    Err(closest)
}
