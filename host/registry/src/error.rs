//! Why an image cannot be read, and its diagnostic. It never quotes the registry or the library: their texts contain
//! addresses, which may be signed.

use crate::codes;
use boson_pipeline::Diagnostic;
use reqwest::StatusCode;
use std::io;

#[derive(Debug)]
pub(crate) enum Error {
    /// The registry reports that there is no such image.
    Missing,
    /// The registry denies access.
    Refused,
    /// It answers with another status.
    Status(StatusCode),
    /// Another error, as the rest of a sentence about the registry.
    Odd(&'static str),
    /// An unsupported image: the rest of a sentence about the image, and the help text.
    Format(&'static str, &'static str),
    /// It names a token server without TLS that is not listed as such.
    Realm,
    /// The token has expired.
    Expired,
    /// A file of the cache cannot be read or written.
    Disk(io::Error),
}

// === impl Error ===

impl Error {
    pub(crate) fn of(status: StatusCode) -> Self {
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Self::Refused,
            StatusCode::NOT_FOUND => Self::Missing,
            status => Self::Status(status),
        }
    }

    /// Whether a retry may succeed.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Odd(_) => true,
            Self::Status(status) => {
                status.is_server_error()
                    || matches!(
                        *status,
                        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS | StatusCode::RANGE_NOT_SATISFIABLE
                    )
            }
            // The registry has discarded the upload.
            Self::Missing => true,
            Self::Refused | Self::Format(..) | Self::Realm | Self::Expired | Self::Disk(_) => false,
        }
    }

    pub(crate) fn explain_push(&self, image: &str) -> Diagnostic {
        match self {
            Self::Refused | Self::Expired => Diagnostic::error(
                codes::IMAGE_PUSH_REFUSED,
                format!("the registry rejects image '{image}'"),
            )
            .help("sign in with `docker login`, as a user who may push there"),
            Self::Missing => {
                let message = format!("the registry has no repository for image '{image}'");
                Diagnostic::error(codes::IMAGE_PUSH_REFUSED, message)
                    .help("create it first, as some registries require")
            }
            other => other.explain(image),
        }
    }

    /// The diagnostic for the pull of a plugin.
    pub(crate) fn explain_component(&self, image: &str) -> Diagnostic {
        let registry = |what: &str| {
            let message = format!("the registry of image '{image}' {what}");
            Diagnostic::error(codes::PLUGIN_IMAGE_REGISTRY, message)
        };
        match self {
            Self::Missing => Diagnostic::error(codes::PLUGIN_IMAGE_MISSING, format!("there is no image '{image}'"))
                .help("push it with `host plugin push`, or correct the reference"),
            Self::Refused | Self::Expired => Diagnostic::error(
                codes::PLUGIN_IMAGE_ACCESS,
                format!("the registry denies access to image '{image}'"),
            )
            .help("check the credentials: imagePullSecrets in plugin.yaml, or `docker login`"),
            Self::Status(status) => registry(&format!("responds with status {}", status.as_u16())),
            Self::Odd(what) => registry(what).help("check the host name and the network connection"),
            Self::Format(what, help) => {
                Diagnostic::error(codes::PLUGIN_IMAGE_FORMAT, format!("image '{image}' {what}")).help(*help)
            }
            Self::Realm => registry("names a token server without TLS")
                .help("list the token server in --registry-without-tls, too, or give it a certificate"),
            Self::Disk(_) => self.explain(image),
        }
    }

    pub(crate) fn explain(&self, image: &str) -> Diagnostic {
        match self {
            Self::Missing => Diagnostic::error(codes::IMAGE_MISSING, format!("there is no image '{image}'")).help(
                "push the release's image, or correct `url`, `version` or the stemcell: together they are its name",
            ),
            Self::Refused | Self::Expired => Diagnostic::error(
                codes::IMAGE_ACCESS,
                format!("the registry denies access to image '{image}'"),
            )
            .help("check releases[].credentials and the pull secrets"),
            Self::Disk(_) => {
                let message = "a file of the cache cannot be read";
                Diagnostic::error(boson_releases::codes::IMAGE_CACHE, message).help("try again")
            }
            Self::Status(status) => registry_error(image, &format!("responds with status {}", status.as_u16())),
            Self::Odd(what) => registry_error(image, what),
            Self::Format(what, help) => {
                Diagnostic::error(codes::IMAGE_FORMAT, format!("image '{image}' {what}")).help(*help)
            }
            Self::Realm => registry_error(image, "names a token server without TLS")
                .help("list the token server in --registry-without-tls, too, or give it a certificate"),
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Disk(error)
    }
}

impl From<reqwest::Error> for Error {
    fn from(error: reqwest::Error) -> Self {
        Self::Odd(if error.is_timeout() {
            "does not answer"
        } else if error.is_connect() {
            "is unreachable"
        } else if error.is_redirect() {
            "redirects too often, or to an address without TLS"
        } else {
            "breaks off"
        })
    }
}

/// What the registry has; `None` if it has nothing there.
pub(crate) fn unless_missing<T>(answer: Result<T, Error>) -> Result<Option<T>, Error> {
    match answer {
        Err(Error::Missing) => Ok(None),
        answer => answer.map(Some),
    }
}

/// A diagnostic for errors that may be temporary.
pub(crate) fn registry_error(image: &str, what: &str) -> Diagnostic {
    Diagnostic::error(codes::IMAGE_REGISTRY, format!("the registry of image '{image}' {what}"))
        .help("check the host name and the network connection")
}
