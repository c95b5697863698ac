//! Reviews of BOSHDeployments: a request of the API server becomes a check, and its result the answer. A deployment
//! that cannot be checked in time is allowed, with a warning.

use super::Reviewers;
use super::answer::Answer;
use super::configuration::REVIEW_TIMEOUT_SECONDS;
use crate::deployment::Checked;
use boson_api::BoshDeployment;
use kube::core::DynamicObject;
use kube::core::admission::AdmissionRequest;
use std::time::Duration;

/// Our own limit, shorter than that of the API server, so that the answer can say that nothing was checked.
const CHECK_TIMEOUT: Duration = Duration::from_millis(REVIEW_TIMEOUT_SECONDS as u64 * 1000 - 700);
/// How many checks run at a time; each may use the memory of several copies of a manifest.
pub(super) const MAX_CONCURRENT_CHECKS: usize = 4;

/// The answer to a request.
pub(super) async fn review(reviewers: &Reviewers, request: &AdmissionRequest<DynamicObject>) -> Answer {
    let Some(namespace) = request.namespace.clone() else {
        return unchecked_answer("unreadable", "the review has no namespace");
    };
    if !reviewers.serves(&namespace) {
        return unchecked_answer("elsewhere", "this operator does not serve the namespace");
    }
    let object = request.object.clone().map(DynamicObject::try_parse::<BoshDeployment>);
    let Some(Ok(object)) = object else {
        return unchecked_answer("unreadable", "its version does not match the operator");
    };
    let answer = tokio::time::timeout(CHECK_TIMEOUT, check(reviewers, object, namespace)).await;
    answer.unwrap_or_else(|_| unchecked_answer("late", "that would have taken too long"))
}

async fn check(reviewers: &Reviewers, object: BoshDeployment, namespace: String) -> Answer {
    // No namespace gets more than half of the slots, or it could delay the reviews of all others.
    let slot = reviewers.deployments.next(&namespace).await;
    let context = reviewers.context.clone();
    // In its own task: after a timeout it keeps its slot until it has ended.
    let checked = tokio::spawn(async move {
        let checked = context.check(object, &namespace).await;
        drop(slot);
        checked
    });
    match checked.await {
        Ok(Ok(checked)) => answer(checked),
        Ok(Err(error)) => unchecked_answer("failed", &error.to_string()),
        Err(_) => unchecked_answer("failed", "the check crashed"),
    }
}

fn unchecked_answer(outcome: &'static str, why: &str) -> Answer {
    let warning = format!("the deployment was not checked: {why}; see its conditions");
    Answer::allow(outcome, vec![warning])
}

fn answer(checked: Checked) -> Answer {
    match checked {
        // Without the leading line break, kubectl appends the first error to its own message.
        Checked::Invalid(message) => Answer::deny("denied", format!("\n{message}"), false),
        Checked::Valid(warnings) => Answer::reviewed(warnings),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_of_a_check_is_counted_by_one_word() {
        for (checked, word) in [
            (Checked::Invalid("x".into()), "denied"),
            (Checked::Valid(Vec::new()), "allowed"),
            (Checked::Valid(vec!["y".into()]), "warned"),
        ] {
            assert_eq!(answer(checked).outcome, word);
        }
    }
}
