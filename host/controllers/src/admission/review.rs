//! One review: a question of the API server becomes a check, and what came of it an answer. What cannot be checked in time is allowed, with a
//! warning that says so.

use super::configuration::PATIENCE;
use crate::api::BoshDeployment;
use crate::deployment::{Checked, Context};
use crate::metrics::{Metrics, Outcome, Review};
use crate::scope::Namespaces;
use crate::turns::Turns;
use kube::core::DynamicObject;
use kube::core::admission::{AdmissionRequest, AdmissionResponse, AdmissionReview};
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Our own limit: before the API server gives up, so that it can be said that nothing was checked.
const DEADLINE: Duration = Duration::from_millis(PATIENCE * 1000 - 700);
/// Checks at a time; each may hold the memory of a manifest several times.
pub(crate) const PLACES: usize = 4;
/// Between two looks whether the namespace has a place.
const POLL: Duration = Duration::from_millis(50);
/// Characters of a warning: the API server cuts those that have more than 256.
const WARNING: usize = 250;
/// Warnings of an answer; it passes on 4 KiB of them.
const WARNINGS: usize = 15;
/// Characters of a refusal.
const MESSAGE: usize = 16_000;

/// Checks what is asked about.
pub(crate) struct Reviewer {
    context: Arc<Context>,
    served: Namespaces,
    places: Arc<Semaphore>,
    turns: Turns,
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
    /// Checks by this context.
    pub(crate) fn new(context: Arc<Context>, served: Namespaces, metrics: Arc<Metrics>) -> Self {
        Self {
            context,
            served,
            places: Arc::new(Semaphore::new(PLACES)),
            turns: Turns::of(PLACES),
            metrics,
        }
    }

    /// The answer; none to what is no question.
    pub(super) async fn answer(&self, body: &[u8]) -> Option<Value> {
        let began = Instant::now();
        let review: AdmissionReview<DynamicObject> = serde_json::from_slice(body).ok()?;
        let request: AdmissionRequest<DynamicObject> = review.try_into().ok()?;
        let verdict = self.verdict(&request).await;
        let mut response = AdmissionResponse::from(&request);
        if let Some(wrong) = &verdict.wrong {
            let message: String = wrong.chars().take(MESSAGE).collect();
            // Without a line break in front, kubectl puts the first error behind its own words.
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
        let namespace = request.namespace.clone().unwrap_or_default();
        if matches!(&self.served, Namespaces::Fixed(names) if !names.contains(&namespace)) {
            return Verdict::unchecked("elsewhere", "this operator does not serve the namespace");
        }
        let object = request
            .object
            .as_ref()
            .and_then(|object| serde_json::to_value(object).ok());
        let Some(object) = object.and_then(|object| serde_json::from_value::<BoshDeployment>(object).ok()) else {
            return Verdict::unchecked("unreadable", "it is of another version than the operator");
        };
        match tokio::time::timeout(DEADLINE, self.check(object, namespace)).await {
            Ok(verdict) => verdict,
            Err(_) => Verdict::unchecked("late", "that would have taken too long"),
        }
    }

    async fn check(&self, object: BoshDeployment, namespace: String) -> Verdict {
        // No namespace has more than half of the places, or it could keep the reviews of all others from being made in time.
        let turn = loop {
            match self.turns.take(&namespace) {
                Some(turn) => break turn,
                None => tokio::time::sleep(POLL).await,
            }
        };
        let Ok(place) = self.places.clone().acquire_owned().await else {
            return Verdict::unchecked("failed", "the operator is about to end");
        };
        let context = self.context.clone();
        // In a task of its own: one that is not waited for any more keeps its place until it has ended.
        let checked = tokio::spawn(async move {
            let checked = context.check(object, &namespace).await;
            drop((place, turn));
            checked
        });
        match checked.await {
            Ok(Ok(checked)) => checked.into(),
            Ok(Err(error)) => Verdict::unchecked("failed", &error.to_string()),
            Err(_) => Verdict::unchecked("failed", "the check broke off"),
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

/// As the API server takes warnings: each on one line and short, and not too many.
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
        out.push(format!("{more} more warnings; the events of the deployment have all"));
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
    fn what_came_of_a_check_is_counted_by_one_word() {
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
