//! Why a reconcile did not come to its end.

use crate::client;
use boson_pipeline::Diagnostic;
use boson_pipeline::report::{self, Sources};

/// What stopped it.
#[derive(Debug)]
pub(super) enum Stop {
    /// Something of the user's is wrong; nothing goes on before it is mended.
    Wrong(Wrong),
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
        let errors: Vec<Diagnostic> = diagnostics.into_iter().filter(Diagnostic::is_error).collect();
        let first = errors.first().map_or("failed", |error| error.code.as_str());
        Self::Wrong(Wrong {
            reason: camel(first),
            message: report::text(&errors, sources, false).trim_end().to_string(),
        })
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
