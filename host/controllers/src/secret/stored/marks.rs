//! Annotations that record what this controller generated, and from what. They reveal nothing about a value: what they
//! record of it is a digest.

/// The first is on the QuarksSecret: which rotation was asked for last; and on the Secret: for which one its value was
/// made.
pub use boson_manifest::labels::{ROTATION, TRUSTED_CA as TRUSTED};
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// On the Secret: digest of type and options that its value was made from. A different digest means that the user
/// changed the request.
pub const REQUEST: &str = "quarks.cloudfoundry.org/request-digest";
/// On the Secret: digest of the CA of a certificate, and of the names from Services. A different digest means: sign
/// again.
pub const SIGNED: &str = "quarks.cloudfoundry.org/signature-digest";
/// On the Secret: labels and annotations that came from the QuarksSecret, so that removed ones can be deleted.
pub const SET: &str = "quarks.cloudfoundry.org/set-by-operator";
/// On the Secret: it was generated to replace a deleted one.
pub const GENERATED_AGAIN: &str = "quarks.cloudfoundry.org/generated-again";
/// On a ConfigMap that requests a rotation: digest of the list that was processed.
pub const ROTATED: &str = "quarks.cloudfoundry.org/rotated";
/// On a CertificateSigningRequest: the QuarksSecret that it is for.
pub const REQUEST_NAMESPACE: &str = "quarks.cloudfoundry.org/quarks-secret-namespace";
/// On a CertificateSigningRequest: the name of that QuarksSecret.
pub const REQUEST_NAME: &str = "quarks.cloudfoundry.org/quarks-secret-name";

/// SHA-256 over texts, each with its end marked.
pub fn digest(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update(text);
        hash.update([0]);
    }
    HEXLOWER.encode(&hash.finalize())
}
