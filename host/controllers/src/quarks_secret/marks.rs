//! Annotations by which this controller knows what it made, and from what. None of them tells anything about a value.

/// On the Secret: digest of type and options that its value was made from. Another one means that the user asked for something else.
pub const REQUEST: &str = "quarks.cloudfoundry.org/request-digest";
/// On the Secret: digest of what signed a certificate, and of the names that Services gave it. Another one means: sign again.
pub const SIGNED: &str = "quarks.cloudfoundry.org/signature-digest";
/// On the Secret: labels and annotations that came from the QuarksSecret, so that those it no longer has can go.
pub const SET: &str = "quarks.cloudfoundry.org/set-by-operator";
/// On the Secret: it was generated in place of one that somebody deleted.
pub const AGAIN: &str = "quarks.cloudfoundry.org/generated-again";
/// On the QuarksSecret: which rotation was asked for last. On the Secret: for which one its value was made.
pub const ROTATION: &str = "quarks.cloudfoundry.org/rotation";
/// On a ConfigMap that asks for a rotation: digest of the list that was worked off.
pub const ROTATED: &str = "quarks.cloudfoundry.org/rotated";
/// On a CertificateSigningRequest: the QuarksSecret that it is for.
pub const REQUEST_NAMESPACE: &str = "quarks.cloudfoundry.org/quarks-secret-namespace";
/// The same.
pub const REQUEST_NAME: &str = "quarks.cloudfoundry.org/quarks-secret-name";
