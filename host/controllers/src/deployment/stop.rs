//! Why a reconcile did not come to its end.

use super::manifest::Manifest;
use crate::client;
use boson_pipeline::Diagnostic;
use boson_pipeline::report::{self, Sources};

/// What stopped it.
#[derive(Debug)]
pub(super) enum Stop {
    /// Something of the user's is wrong; nothing goes on before it is mended.
    Wrong(Wrong),
    /// The cluster does not take what came out; when it does, nobody may tell us.
    Refused(Wrong),
    /// Something comes by itself: what, as the end of "waiting for ...".
    Waiting(String),
    /// A call to the API server failed.
    Api(client::Error),
}

/// What is wrong with a deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    /// Code of the first error, as a condition's reason: `OpsMissingKey`.
    pub reason: String,
    /// All errors, each with its place.
    pub message: String,
}

// === impl Stop ===

impl Stop {
    /// These errors, with the places that `sources` know.
    pub(super) fn wrong(diagnostics: Vec<Diagnostic>, sources: &Sources) -> Self {
        Self::Wrong(Wrong::of(diagnostics, sources))
    }

    /// These refusals, in the words of `manifest`, which knows what must not be told.
    pub(super) fn refused(refusals: Vec<Diagnostic>, manifest: &Manifest) -> Self {
        Self::Refused(Wrong::of(
            manifest.secrets.scrub(refusals, &manifest.sources),
            &manifest.sources,
        ))
    }

    /// The cluster has something in the way.
    pub(super) fn taken(errors: Vec<Diagnostic>, sources: &Sources) -> Self {
        Self::Refused(Wrong::of(errors, sources))
    }

    /// The same, where it is a refusal that an error of the API server tells.
    pub(super) fn or_refused(self, manifest: &Manifest) -> Self {
        match self {
            Self::Api(error) if error.is_lasting() => Self::refused(vec![refusal(&error)], manifest),
            other => other,
        }
    }
}

// === impl Wrong ===

impl Wrong {
    /// An error of the API server that somebody has to do something about.
    pub(super) fn refused(error: &client::Error) -> Self {
        Self::of(vec![refusal(error)], &Sources::default())
    }

    /// These errors, with the places that `sources` know.
    pub(super) fn of(diagnostics: Vec<Diagnostic>, sources: &Sources) -> Self {
        let errors: Vec<Diagnostic> = diagnostics.into_iter().filter(Diagnostic::is_error).collect();
        let first = errors.first().map_or("failed", |error| error.code.as_str());
        Self {
            reason: camel(first),
            message: report::text(&errors, sources, false).trim_end().to_string(),
        }
    }
}

/// What the API server refuses, and what to do about it.
pub(super) fn refusal(error: &client::Error) -> Diagnostic {
    match error.fault {
        client::Fault::Forbidden => Diagnostic::error("deployment-forbidden", error.to_string())
            .help("grant the right in the role of the operator's account; it is tried again every half minute"),
        _ => Diagnostic::error("deployment-refused", error.to_string())
            .help("mend what the manifest says about it, or what forbids it; it is tried again every half minute"),
    }
}

impl From<client::Error> for Stop {
    fn from(error: client::Error) -> Self {
        Self::Api(error)
    }
}

/// `ops-missing-key` as `OpsMissingKey`: conditions take no `-`.
pub(crate) fn camel(code: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters
            .next()
            .map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
            .unwrap_or_default()
    };
    code.split('-').map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_code_is_the_reason() {
        let errors = vec![
            Diagnostic::warning("a-b", "not this"),
            Diagnostic::error("ops-missing-key", "first").help("do"),
            Diagnostic::error("x", "second"),
        ];
        let Stop::Wrong(wrong) = Stop::wrong(errors, &Sources::default()) else {
            unreachable!("it is wrong")
        };
        assert_eq!(wrong.reason, "OpsMissingKey");
        assert!(
            wrong.message.contains("first") && wrong.message.contains("second"),
            "{}",
            wrong.message
        );
        assert!(!wrong.message.contains("not this"));
    }
}
