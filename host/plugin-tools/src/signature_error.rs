//! Why a signature or an attestation does not count, in words.

use boson_document::Code;
use boson_plugins::codes;
use boson_signatures::{Reason, SignatureError};

/// Why a plugin does not count as signed or attested.
pub struct Explanation {
    pub code: &'static Code,
    /// The words after the name of what is signed.
    pub what: String,
    pub help: &'static str,
}

/// What is wrong with a keyless signature; `None` if there is none, and no other of a trusted key.
pub fn explain(SignatureError { reason, detail }: &SignatureError) -> Option<Explanation> {
    let (code, what, help) = match reason {
        Reason::Unsigned => return None,
        Reason::Invalid => (
            codes::PLUGIN_SIGNATURE_INVALID,
            format!("has a signature that cannot be verified: {detail}"),
            "sign it again; the bundle may have been changed, or be of another component",
        ),
        Reason::Certificate => (
            codes::PLUGIN_SIGNATURE_CERTIFICATE,
            format!("is signed with a certificate that the trusted root does not accept: {detail}"),
            "use the trusted root of the instance of Sigstore that issued the certificate; update it if its authority is new",
        ),
        Reason::Log => (
            codes::PLUGIN_SIGNATURE_LOG,
            format!("has a signature that no log or timestamp of the trusted root proves: {detail}"),
            "sign it with a log or a timestamp authority of the trusted root; update the trusted root if the log is new",
        ),
        Reason::Issuer => (
            codes::PLUGIN_SIGNATURE_ISSUER,
            format!("is signed by an identity of '{detail}', which is no trusted issuer"),
            "if this issuer is to be trusted, add a rule with it and the identity",
        ),
        Reason::Identity => (
            codes::PLUGIN_SIGNATURE_IDENTITY,
            format!("is signed by '{detail}', which is no trusted identity"),
            "if this identity is to be trusted, add a rule with its issuer and it",
        ),
    };
    Some(Explanation { code, what, help })
}
