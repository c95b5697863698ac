//! Why an image cannot be read, and what to tell about it: never what the registry or the library says, which holds addresses, and those may
//! be signed.

use boson_pipeline::Diagnostic;
use reqwest::StatusCode;

/// What a registry did.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It says that there is no such image.
    Missing,
    /// It says that we may not have it.
    Refused,
    /// It answers with a status that says neither.
    Status(StatusCode),
    /// It did something else, which is the rest of a sentence about it.
    Odd(&'static str),
    /// It gives something that is no image of ours: the rest of a sentence about the image, and what to do.
    Format(&'static str, &'static str),
    /// It names a token server without TLS that is not listed as such.
    Realm,
}

// === impl Failure ===

impl Failure {
    /// What to tell about it.
    pub(crate) fn explain(&self, image: &str) -> Diagnostic {
        match self {
            Self::Missing => Diagnostic::error("image-missing", format!("there is no image '{image}'"))
                .help("push the release's image, or mend `url`, `version` or the stemcell: together they are its name"),
            Self::Refused => Diagnostic::error("image-access", format!("the registry refuses to give image '{image}'"))
                .help("check releases[].credentials and the pull secrets"),
            Self::Status(status) => unreachable(image, &format!("answers with status {}", status.as_u16())),
            Self::Odd(what) => unreachable(image, what),
            Self::Format(what, help) => {
                Diagnostic::error("image-format", format!("image '{image}' {what}")).help(*help)
            }
            Self::Realm => unreachable(image, "names a token server that is asked without TLS")
                .help("list the token server in --registry-without-tls, too, or give it a certificate"),
        }
    }
}

impl From<reqwest::Error> for Failure {
    fn from(error: reqwest::Error) -> Self {
        Self::Odd(if error.is_timeout() {
            "does not answer"
        } else if error.is_connect() {
            "cannot be connected to"
        } else if error.is_redirect() {
            "redirects too often, or to an address without TLS"
        } else {
            "breaks off"
        })
    }
}

/// The registry does something that another try may change.
pub(crate) fn unreachable(image: &str, what: &str) -> Diagnostic {
    Diagnostic::error("image-registry", format!("the registry of image '{image}' {what}"))
        .help("is its host right, and can it be reached from here?")
}
