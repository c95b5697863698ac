//! Pods that ask for links: each gets the links of a deployment of its own namespace as files and as environment
//! variables, all of them or none. The pod refers to the Secrets of the links; no value passes through an answer.

mod mutate;

use super::Reviewers;
use super::answer::Answer;
use super::configuration::REVIEW_TIMEOUT_SECONDS;
use crate::links::{Consumed, FindError, find};
use kube::core::DynamicObject;
use kube::core::admission::AdmissionRequest;
use serde_json::Value;
use std::time::Duration;

/// Our own limit, shorter than that of the API server, so that the answer can say what to do.
const REVIEW_TIMEOUT: Duration = Duration::from_millis(REVIEW_TIMEOUT_SECONDS as u64 * 1000 - 700);
/// How many pods are reviewed at a time; each holds one Secret of a link, which may have a megabyte.
pub(super) const MAX_CONCURRENT_REVIEWS: usize = 16;
/// The end of a message about something that may change.
const RETRY_HELP: &str = "the pod can be created again as it is";

/// The answer to a request.
pub(super) async fn review(reviewers: &Reviewers, request: &AdmissionRequest<DynamicObject>) -> Answer {
    let namespace = request.namespace.as_deref().unwrap_or_default();
    if !reviewers.serves(namespace) {
        let why = format!("this operator does not serve namespace '{namespace}'");
        return Answer::deny("elsewhere", why, false);
    }
    let Some(object) = &request.object else {
        return Answer::deny("unreadable", "the review has no pod".into(), false);
    };
    let consumed = match Consumed::of(object.metadata.annotations.as_ref()) {
        Ok(Some(consumed)) => consumed,
        // The condition of the webhook excludes such pods.
        Ok(None) => return Answer::reviewed(Vec::new()),
        Err(why) => return Answer::deny("denied", why, false),
    };
    let Ok(pod) = serde_json::to_value(object) else {
        return Answer::deny("unreadable", "the pod is not JSON".into(), false);
    };
    let late = |_| Answer::deny("late", format!("its links were not read in time; {RETRY_HELP}"), true);
    let answer = tokio::time::timeout(REVIEW_TIMEOUT, with_links(reviewers, namespace, &consumed, &pod)).await;
    answer.unwrap_or_else(late)
}

/// Gives a pod its links.
async fn with_links(reviewers: &Reviewers, namespace: &str, consumed: &Consumed, pod: &Value) -> Answer {
    // No namespace gets more than half of the slots, or it could delay the pods of all others.
    let _slot = reviewers.pods.next(namespace).await;
    let links = match find(&reviewers.context.cluster, namespace, consumed).await {
        Ok(links) => links,
        Err(FindError::Missing(missing)) if missing.may_come => {
            let why = format!("{}; once it does, {RETRY_HELP}", missing.why);
            return Answer::deny("missing", why, true);
        }
        Err(FindError::Missing(missing)) => return Answer::deny("denied", missing.why, false),
        Err(FindError::Api(error)) => {
            let why = format!("its links cannot be read: {error}; {RETRY_HELP}");
            return Answer::deny("failed", why, true);
        }
    };
    let Some(digest) = reviewers.key.digest(links.iter().map(|link| link.content)) else {
        return Answer::deny("failed", format!("the operator is starting; {RETRY_HELP}"), true);
    };
    match mutate::mutate(pod, consumed, &links, &digest) {
        Ok(changed) => Answer {
            patch: changed.patch,
            ..Answer::reviewed(changed.warnings)
        },
        Err(error) => Answer::deny("denied", error.to_string(), false),
    }
}
