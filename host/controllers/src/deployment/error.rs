//! Why a conversion stopped.

use crate::codes;
use boson_api::conditions;
use boson_cluster::client;
use boson_pipeline::Diagnostic;
use boson_pipeline::report::{self, Sources};
use boson_pipeline::stage::CALL_FAILURES;
use boson_plugins::PluginProblem;

/// Code of a call with a reply that violates the contract.
const MALFORMED_REPLY_CODE: &str = "plugin-malformed-reply";

/// Why a deployment was not applied.
#[derive(Debug, thiserror::Error)]
pub enum DeployError {
    /// The user's input is wrong; retrying does not help before it is fixed.
    #[error("{}", .0.message)]
    Invalid(DeployProblem),
    /// The cluster refuses the result. It is retried, because a watch event may not announce that the cause is
    /// resolved.
    #[error("{}", .0.message)]
    Refused(DeployProblem),
    /// Something is missing that arrives without a change by the user.
    #[error("waiting for {0}")]
    Waiting(String),
    /// A call to the API server failed.
    #[error(transparent)]
    Api(#[from] client::Error),
}

/// What is wrong with a deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeployProblem {
    /// Code of the first error, as a condition's reason: `OpsMissingKey`.
    pub reason: String,
    /// All errors, each with its position.
    pub message: String,
    /// Which of them are failures of plugins.
    pub failed_plugins: Vec<PluginProblem>,
}

// === impl DeployError ===

impl DeployError {
    /// These errors, with their positions in `sources`.
    pub fn invalid(diagnostics: Vec<Diagnostic>, sources: &Sources) -> Self {
        Self::Invalid(DeployProblem::of(diagnostics, sources))
    }

    /// A state that only a defect of the operator explains. It is reported, because an empty name or owner would be
    /// written otherwise.
    pub fn defect(what: &str) -> Self {
        let error = Diagnostic::error(codes::DEPLOYMENT_DEFECT, format!("the operator has a defect: {what}"));
        Self::invalid(
            vec![error.help("please report it, with the log of the operator")],
            &Sources::default(),
        )
    }

    /// Something in the cluster is in the way.
    pub fn conflict(errors: Vec<Diagnostic>) -> Self {
        Self::Refused(DeployProblem::of(errors, &Sources::default()))
    }
}

// === impl DeployProblem ===

impl DeployProblem {
    /// An error of the API server that a user or administrator has to resolve.
    pub fn refused(error: &client::Error) -> Self {
        Self::of(vec![refusal(error)], &Sources::default())
    }

    /// These errors, with their positions in `sources`.
    pub fn of(diagnostics: Vec<Diagnostic>, sources: &Sources) -> Self {
        let errors: Vec<Diagnostic> = diagnostics.into_iter().filter(Diagnostic::is_error).collect();
        let first = errors.first().map_or("failed", |error| error.code.as_str());
        Self {
            reason: conditions::reason(first),
            message: report::text(&errors, sources, false).trim_end().to_string(),
            failed_plugins: errors
                .iter()
                .filter(|one| is_failed_plugin(one))
                .map(PluginProblem::of_failed)
                .collect(),
        }
    }
}

/// Whether a plugin has failed that does not ship with the host: the message then has its digest.
fn is_failed_plugin(error: &Diagnostic) -> bool {
    let code = error.code.as_str();
    (code == MALFORMED_REPLY_CODE || CALL_FAILURES.contains(&code)) && error.message.contains("(sha256:")
}

/// A refusal by the API server, and what to do about it.
pub fn refusal(error: &client::Error) -> Diagnostic {
    match error.kind {
        client::ErrorKind::Forbidden => Diagnostic::error(codes::DEPLOYMENT_FORBIDDEN, error.to_string())
            .help("grant the permission in the role of the operator's account; the operator retries every 30 s"),
        _ => Diagnostic::error(codes::DEPLOYMENT_REFUSED, error.to_string())
            .help("fix the manifest, or the policy that forbids it; the operator retries every 30 s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_code_is_the_reason() {
        let errors = vec![
            Diagnostic::reported_warning("a-b", "not this"),
            Diagnostic::reported_error("ops-missing-key", "first").help("do"),
            Diagnostic::reported_error("x", "second"),
        ];
        let DeployError::Invalid(problem) = DeployError::invalid(errors, &Sources::default()) else {
            unreachable!("it is invalid")
        };
        assert_eq!(problem.reason, "OpsMissingKey");
        assert!(
            problem.message.contains("first") && problem.message.contains("second"),
            "{}",
            problem.message
        );
        assert!(!problem.message.contains("not this"));
    }

    #[test]
    fn plugins_that_failed_are_named_and_rules_of_the_installation_are_not() {
        let foreign = "plugin 'hook' stopped with a trap (sha256:0123456789ab)";
        let errors = vec![
            Diagnostic::reported_error("plugin-trapped", foreign),
            Diagnostic::reported_error(
                "plugin-exception",
                "plugin 'h' raised an exception: x (sha256:0123456789ab)",
            ),
            Diagnostic::reported_error("plugin-out-of-fuel", "plugin 'render' used up its fuel"),
            Diagnostic::reported_error("hook-no-team", "no team (sha256:0123456789ab)"),
        ];
        let failed = DeployProblem::of(errors, &Sources::default()).failed_plugins;
        let problem = |reason: &str, message: &str| PluginProblem {
            reason: reason.into(),
            message: message.into(),
        };
        let wanted = [
            problem("PluginTrapped", foreign),
            problem(
                "PluginException",
                "plugin 'h' raised an exception: x (sha256:0123456789ab)",
            ),
        ];
        assert_eq!(failed, wanted);
    }
}
