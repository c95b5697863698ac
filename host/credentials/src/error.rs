//! Why a value could not be made, in BOSH's words.

use crate::codes;
use boson_document::Code;

/// A variable that got no value. Its text is BOSH's and holds no value of any variable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Generating variable '{variable}': {kind}")]
pub struct Error {
    pub variable: String,
    pub kind: ErrorKind,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ErrorKind {
    /// A type that cannot be generated.
    #[error("Unsupported value type: {0}")]
    UnsupportedType(String),
    /// Options that the type does not know, or of another type.
    #[error("Failed to generate {kind}, parameters are invalid: {reason}")]
    InvalidOptions { kind: &'static str, reason: String },
    /// `length` below zero.
    #[error("Failed to generate password, 'length' param cannot be negative")]
    NegativeLength,
    /// `length` beyond what a Secret holds.
    #[error("Failed to generate password, 'length' param cannot be greater than {0}")]
    ExcessiveLength(usize),
    /// An RSA key of a size that BOSH does not support.
    #[error("Invalid key_length: {0}.  Must be one of: [2048 3072 4096]")]
    InvalidKeyLength(i64),
    /// `duration` of less than a day, in CredHub's words.
    #[error("Invalid duration specified. The supported duration values are whole numbers between 1-3650.")]
    InvalidDuration,
    /// `duration` beyond the range of BOSH's clock (where it overflows, and the certificate would be expired).
    #[error("Invalid duration: {0}.  Must be at most {1} days")]
    ExcessiveDuration(i64, i64),
    /// A leaf without a signer.
    #[error("Missing required CA name")]
    MissingCa,
    /// Two signers, in CredHub's words.
    #[error("The parameters 'ca' and 'self-sign' cannot be used in combination. Please update and retry your request.")]
    CaAndSelfSign,
    /// A part of the subject that is too long, in CredHub's words.
    #[error(
        "The request could not be completed because the {0} is too long. The max length for {0} is {1} characters."
    )]
    TooLong(&'static str, usize),
    /// An unknown usage of the key, in CredHub's words.
    #[error(
        "The provided key usage '{0}' is not supported. Valid values include 'digital_signature', 'non_repudiation', 'key_encipherment', \
         'data_encipherment', 'key_agreement', 'key_cert_sign', 'crl_sign', 'encipher_only' and 'decipher_only'."
    )]
    UnsupportedKeyUsage(String),
    /// A usage that BOSH does not know.
    #[error("Unsupported extended key usage value: {0}")]
    UnsupportedUsage(String),
    /// The signer is unusable.
    #[error("Loading certificates: {0}")]
    Signer(SignerError),
    /// The certificate could not be written or signed.
    #[error("{}: {reason}", if *.is_ca { "Generating CA certificate" } else { "Generating certificate" })]
    Signing {
        /// Whether it is for a CA.
        is_ca: bool,
        reason: String,
    },
    #[error("Generating Key: {0}")]
    Key(&'static str),
    #[error("Reading random bytes: the system has none to give")]
    Entropy,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignerError {
    #[error("Expected to find variable '{0}' with a certificate")]
    Missing(String),
    /// A value of another shape.
    #[error("Expected variable '{0}' to be deserializable: {1}")]
    Shape(String, String),
    #[error("Certificate did not contain PEM formatted block")]
    NoCertificate,
    #[error("Parsing certificate: x509: malformed certificate")]
    BadCertificate,
    #[error("Private key did not contain PEM formatted block")]
    NoKey,
    /// A broken one, or one in another format.
    #[error("Parsing private key: {0}")]
    BadKey(&'static str),
}

// === impl Error ===

impl ErrorKind {
    /// Adds the variable's name.
    pub fn of(self, variable: &str) -> Error {
        Error {
            variable: variable.to_string(),
            kind: self,
        }
    }

    pub fn code(&self) -> &'static Code {
        match self {
            Self::UnsupportedType(_) => codes::CREDENTIALS_UNSUPPORTED_TYPE,
            Self::InvalidOptions { .. }
            | Self::NegativeLength
            | Self::ExcessiveLength(_)
            | Self::InvalidKeyLength(_)
            | Self::InvalidDuration
            | Self::ExcessiveDuration(..)
            | Self::CaAndSelfSign
            | Self::TooLong(..)
            | Self::UnsupportedKeyUsage(_)
            | Self::UnsupportedUsage(_) => codes::CREDENTIALS_INVALID_OPTIONS,
            Self::MissingCa => codes::CREDENTIALS_MISSING_CA,
            Self::Signer(_) => codes::CREDENTIALS_UNUSABLE_CA,
            Self::Signing { .. } => codes::CREDENTIALS_SIGNING_FAILED,
            Self::Key(_) | Self::Entropy => codes::CREDENTIALS_NO_RANDOMNESS,
        }
    }

    /// What to do next.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::UnsupportedType(_) => {
                Some("use password, certificate, rsa or ssh, or set the value yourself; `user` is for deployments only")
            }
            Self::MissingCa => Some(
                "set `ca` to the name of the signing certificate, or `is_ca: true`; in a deployment `self_sign: true`, too",
            ),
            Self::CaAndSelfSign => Some("remove `ca` or `self_sign`"),
            Self::Signer(SignerError::Missing(_)) => {
                Some("define the CA before the certificates that it signs, or set its value")
            }
            Self::Signer(SignerError::BadKey(_)) => Some(
                "the key of a CA must be RSA, without passphrase: `RSA PRIVATE KEY` or, in deployments, `PRIVATE KEY`",
            ),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_explained() {
        let causes = [
            ErrorKind::UnsupportedType(String::new()),
            ErrorKind::NegativeLength,
            ErrorKind::MissingCa,
            ErrorKind::Signer(SignerError::NoKey),
            ErrorKind::Signing {
                is_ca: true,
                reason: String::new(),
            },
            ErrorKind::Entropy,
        ];
        for cause in &causes {
            assert!(crate::CODES.iter().any(|&code| code == cause.code()), "{cause:?}");
        }
        assert_eq!(causes.len(), crate::CODES.len());
    }
}
