//! One review: a request of the API server becomes a check, and its result the answer. A deployment that cannot be
//! checked in time is allowed, with a warning.

use super::configuration::PATIENCE;
use crate::deployment::{Checked, Context};
use crate::slots::Slots;
use boson_api::BoshDeployment;
use boson_cluster::metrics::{Metrics, Outcome, Review};
use boson_cluster::namespaces::Namespaces;
use kube::core::DynamicObject;
use kube::core::admission::{AdmissionRequest, AdmissionResponse, AdmissionReview};
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Our own limit, shorter than that of the API server, so that the answer can say that nothing was checked.
const DEADLINE: Duration = Duration::from_millis(PATIENCE as u64 * 1000 - 700);
/// How many checks run at a time; each may use the memory of several copies of a manifest.
const SLOTS: usize = 4;
/// How often to check whether the namespace has a free slot.
const POLL: Duration = Duration::from_millis(50);
/// Characters of a warning: the API server cuts longer ones than 256.
const WARNING: usize = 250;
/// Warnings of an answer: the API server passes on 4 KiB.
const WARNINGS: usize = 15;
/// Characters of a refusal.
const MESSAGE: usize = 16_000;

/// Checks deployments under review.
pub(crate) struct Reviewer {
    context: Arc<Context>,
    served: Namespaces,
    slots: Slots,
    metrics: Arc<Metrics>,
}

/// What to answer.
struct Verdict {
    outcome: Outcome,
    wrong: Option<String>,
    warnings: Vec<String>,
}

// === impl Reviewer ===

impl Reviewer {
    /// Checks with this context.
    pub(crate) fn new(context: Arc<Context>, served: Namespaces, metrics: Arc<Metrics>) -> Self {
        Self {
            context,
            served,
            slots: Slots::shared(SLOTS),
            metrics,
        }
    }

    /// The answer; none if the body is no review.
    pub(super) async fn answer(&self, body: &[u8]) -> Option<Value> {
        let began = Instant::now();
        let review: AdmissionReview<DynamicObject> = serde_json::from_slice(body).ok()?;
        let request: AdmissionRequest<DynamicObject> = review.try_into().ok()?;
        let verdict = self.verdict(&request).await;
        let mut response = AdmissionResponse::from(&request);
        if let Some(wrong) = &verdict.wrong {
            let message: String = wrong.chars().take(MESSAGE).collect();
            // Without the leading line break, kubectl appends the first error to its own message.
            response = response.deny(format!("\n{message}"));
            response.result.code = 422;
            response.result.reason = "Invalid".into();
        }
        response.warnings = Some(bounded(verdict.warnings)).filter(|warnings| !warnings.is_empty());
        tracing::info!(
            deployment = request.name,
            namespace = request.namespace,
            outcome = verdict.outcome.0,
            "reviewed a deployment"
        );
        let label = Review {
            outcome: verdict.outcome,
        };
        self.metrics.reviews.get_or_create(&label).inc();
        self.metrics.review_seconds.observe(began.elapsed().as_secs_f64());
        serde_json::to_value(response.into_review()).ok()
    }

    async fn verdict(&self, request: &AdmissionRequest<DynamicObject>) -> Verdict {
        let Some(namespace) = request.namespace.clone() else {
            return Verdict::unchecked("unreadable", "the review has no namespace");
        };
        if matches!(&self.served, Namespaces::Fixed(names) if !names.contains(&namespace)) {
            return Verdict::unchecked("elsewhere", "this operator does not serve the namespace");
        }
        let object = request
            .object
            .as_ref()
            .and_then(|object| serde_json::to_value(object).ok());
        let Some(object) = object.and_then(|object| serde_json::from_value::<BoshDeployment>(object).ok()) else {
            return Verdict::unchecked("unreadable", "its version does not match the operator");
        };
        match tokio::time::timeout(DEADLINE, self.check(object, namespace)).await {
            Ok(verdict) => verdict,
            Err(_) => Verdict::unchecked("late", "that would have taken too long"),
        }
    }

    async fn check(&self, object: BoshDeployment, namespace: String) -> Verdict {
        // No namespace gets more than half of the slots, or it could delay the reviews of all others.
        let turn = loop {
            match self.slots.acquire(&namespace, Instant::now()) {
                Some(turn) => break turn,
                None => tokio::time::sleep(POLL).await,
            }
        };
        let context = self.context.clone();
        // In its own task: after a timeout it keeps its slot until it has ended.
        let checked = tokio::spawn(async move {
            let checked = context.check(object, &namespace).await;
            drop(turn);
            checked
        });
        match checked.await {
            Ok(Ok(checked)) => checked.into(),
            Ok(Err(error)) => Verdict::unchecked("failed", &error.to_string()),
            Err(_) => Verdict::unchecked("failed", "the check crashed"),
        }
    }
}

// === impl Verdict ===

impl Verdict {
    fn unchecked(outcome: &'static str, why: &str) -> Self {
        Self {
            outcome: Outcome(outcome),
            wrong: None,
            warnings: vec![format!("the deployment was not checked: {why}; see its conditions")],
        }
    }
}

impl From<Checked> for Verdict {
    fn from(checked: Checked) -> Self {
        let outcome = match (&checked.wrong, checked.warnings.as_slice()) {
            (Some(_), _) => "denied",
            (None, []) => "allowed",
            (None, _) => "warned",
        };
        Self {
            outcome: Outcome(outcome),
            wrong: checked.wrong,
            warnings: checked.warnings,
        }
    }
}

/// Warnings within the limits of the API server: one short line each, and not too many.
fn bounded(warnings: Vec<String>) -> Vec<String> {
    let more = warnings.len().saturating_sub(WARNINGS);
    let line = |text: String| {
        let clean = text.chars().map(|c| if c.is_control() { ' ' } else { c });
        match text.chars().count() > WARNING {
            true => clean.take(WARNING - 3).chain("...".chars()).collect(),
            false => clean.collect::<String>(),
        }
    };
    let mut out: Vec<String> = warnings.into_iter().take(WARNINGS).map(line).collect();
    if more > 0 {
        out.push(format!("{more} more warnings; see the events of the deployment"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_lines_that_the_api_server_passes_on() {
        let out = bounded(vec!["a\nb".into(), "ä".repeat(300)]);
        assert_eq!(out[0], "a b");
        assert_eq!(out[1].chars().count(), WARNING);
        let many = bounded(vec!["x".into(); 40]);
        assert_eq!(many.len(), WARNINGS + 1);
        assert!(many[WARNINGS].starts_with("25 more"), "{:?}", many[WARNINGS]);
    }

    #[test]
    fn the_result_of_a_check_is_counted_by_one_word() {
        let word = |wrong: Option<&str>, warnings: &[&str]| {
            Verdict::from(Checked {
                wrong: wrong.map(str::to_string),
                warnings: warnings.iter().map(|text| (*text).to_string()).collect(),
            })
            .outcome
            .0
        };
        assert_eq!(
            [word(Some("x"), &[]), word(None, &[]), word(None, &["y"])],
            ["denied", "allowed", "warned"]
        );
    }
}
