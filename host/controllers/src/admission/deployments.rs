//! Reviews of BOSHDeployments: a request of the API server becomes a check, and its result the answer. A deployment
//! that cannot be checked in time is allowed, with a warning.

use super::answer::{Answer, Refusal};
use super::configuration::REVIEW_TIMEOUT_SECONDS;
use crate::deployment::{Checked, Context};
use crate::slots::Slots;
use boson_api::BoshDeployment;
use boson_cluster::metrics::Outcome;
use boson_cluster::namespaces::Namespaces;
use kube::core::DynamicObject;
use kube::core::admission::AdmissionRequest;
use std::sync::Arc;
use std::time::Duration;

/// Our own limit, shorter than that of the API server, so that the answer can say that nothing was checked.
const CHECK_TIMEOUT: Duration = Duration::from_millis(REVIEW_TIMEOUT_SECONDS as u64 * 1000 - 700);
/// How many checks run at a time; each may use the memory of several copies of a manifest.
const MAX_CONCURRENT_CHECKS: usize = 4;

/// Checks deployments under review.
pub(crate) struct DeploymentReviewer {
    context: Arc<Context>,
    served: Namespaces,
    slots: Slots,
}

// === impl DeploymentReviewer ===

impl DeploymentReviewer {
    /// Checks with this context.
    pub(crate) fn new(context: Arc<Context>, served: Namespaces) -> Self {
        Self {
            context,
            served,
            slots: Slots::shared(MAX_CONCURRENT_CHECKS),
        }
    }

    /// The answer to a request.
    pub(super) async fn answer(&self, request: &AdmissionRequest<DynamicObject>) -> Answer {
        let Some(namespace) = request.namespace.clone() else {
            return unchecked("unreadable", "the review has no namespace");
        };
        if !super::serves(&self.served, &namespace) {
            return unchecked("elsewhere", "this operator does not serve the namespace");
        }
        let object = request
            .object
            .as_ref()
            .and_then(|object| serde_json::to_value(object).ok());
        let Some(object) = object.and_then(|object| serde_json::from_value::<BoshDeployment>(object).ok()) else {
            return unchecked("unreadable", "its version does not match the operator");
        };
        match tokio::time::timeout(CHECK_TIMEOUT, self.check(object, namespace)).await {
            Ok(answer) => answer,
            Err(_) => unchecked("late", "that would have taken too long"),
        }
    }

    async fn check(&self, object: BoshDeployment, namespace: String) -> Answer {
        // No namespace gets more than half of the slots, or it could delay the reviews of all others.
        let turn = self.slots.next(&namespace).await;
        let context = self.context.clone();
        // In its own task: after a timeout it keeps its slot until it has ended.
        let checked = tokio::spawn(async move {
            let checked = context.check(object, &namespace).await;
            drop(turn);
            checked
        });
        match checked.await {
            Ok(Ok(checked)) => answer(checked),
            Ok(Err(error)) => unchecked("failed", &error.to_string()),
            Err(_) => unchecked("failed", "the check crashed"),
        }
    }
}

fn unchecked(outcome: &'static str, why: &str) -> Answer {
    let warning = format!("the deployment was not checked: {why}; see its conditions");
    Answer::allow(outcome, vec![warning])
}

fn answer(checked: Checked) -> Answer {
    let outcome = match (&checked.wrong, checked.warnings.as_slice()) {
        (Some(_), _) => "denied",
        (None, []) => "allowed",
        (None, _) => "warned",
    };
    let refusal = checked.wrong.map(|wrong| Refusal {
        // Without the leading line break, kubectl appends the first error to its own message.
        message: format!("\n{wrong}"),
        is_temporary: false,
    });
    Answer {
        outcome: Outcome(outcome),
        refusal,
        warnings: checked.warnings,
        patch: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_of_a_check_is_counted_by_one_word() {
        let word = |wrong: Option<&str>, warnings: &[&str]| {
            let checked = Checked {
                wrong: wrong.map(str::to_string),
                warnings: warnings.iter().map(|text| (*text).to_string()).collect(),
            };
            answer(checked).outcome.0
        };
        assert_eq!(
            [word(Some("x"), &[]), word(None, &[]), word(None, &["y"])],
            ["denied", "allowed", "warned"]
        );
    }
}
