//! The answer to a review: allowed, changed or denied.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::core::DynamicObject;
use kube::core::admission::{AdmissionRequest, AdmissionResponse, AdmissionReview};
use serde_json::{Value, json};

/// Characters of a warning: the API server cuts longer ones than 256.
const MAX_WARNING_CHARS: usize = 250;
/// Warnings of an answer: the API server passes on 4 KiB.
const MAX_WARNINGS: usize = 15;
/// Characters of a denial.
const MAX_DENIAL_CHARS: usize = 16_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Denial {
    pub message: String,
    /// Whether the same request may succeed later.
    pub is_temporary: bool,
}

#[derive(Debug)]
pub(super) struct Answer {
    pub outcome: &'static str,
    pub denial: Option<Denial>,
    pub warnings: Vec<String>,
    /// The operations of a JSON patch.
    pub patch: Vec<Value>,
}

// === impl Answer ===

impl Answer {
    /// Allows the request as it is.
    pub fn allow(outcome: &'static str, warnings: Vec<String>) -> Self {
        Self {
            outcome,
            denial: None,
            warnings,
            patch: Vec::new(),
        }
    }

    /// Allows what was checked.
    pub fn reviewed(warnings: Vec<String>) -> Self {
        let outcome = if warnings.is_empty() { "allowed" } else { "warned" };
        Self::allow(outcome, warnings)
    }

    pub fn deny(outcome: &'static str, message: String, is_temporary: bool) -> Self {
        Self {
            denial: Some(Denial { message, is_temporary }),
            ..Self::allow(outcome, Vec::new())
        }
    }

    /// As the API server gets it; none if it cannot be JSON.
    pub fn to_review(&self, request: &AdmissionRequest<DynamicObject>) -> Option<Value> {
        let mut response = AdmissionResponse::from(request);
        if let Some(denial) = &self.denial {
            let message: String = denial.message.chars().take(MAX_DENIAL_CHARS).collect();
            response = response.deny(message);
            let (code, reason) = if denial.is_temporary {
                (503, "ServiceUnavailable")
            } else {
                (422, "Invalid")
            };
            response.result.code = code;
            response.result.reason = reason.into();
        }
        response.warnings = Some(bound_warnings(&self.warnings)).filter(|warnings| !warnings.is_empty());
        let mut review = serde_json::to_value(response.into_review()).ok()?;
        if !self.patch.is_empty() && self.denial.is_none() {
            review["response"]["patchType"] = "JSONPatch".into();
            review["response"]["patch"] = STANDARD.encode(json!(self.patch).to_string()).into();
        }
        Some(review)
    }
}

/// The request in a body; none if it is no review.
pub(super) fn request(body: &[u8]) -> Option<AdmissionRequest<DynamicObject>> {
    let review: AdmissionReview<DynamicObject> = serde_json::from_slice(body).ok()?;
    review.try_into().ok()
}

/// Warnings within the limits of the API server: one short line each, and not too many.
fn bound_warnings(warnings: &[String]) -> Vec<String> {
    let more = warnings.len().saturating_sub(MAX_WARNINGS);
    let line = |text: &String| {
        let clean = text.chars().map(|c| if c.is_control() { ' ' } else { c });
        if text.chars().count() > MAX_WARNING_CHARS {
            clean.take(MAX_WARNING_CHARS - 3).chain("...".chars()).collect()
        } else {
            clean.collect::<String>()
        }
    };
    let mut out: Vec<String> = warnings.iter().take(MAX_WARNINGS).map(line).collect();
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
        let out = bound_warnings(&["a\nb".into(), "ä".repeat(300)]);
        assert_eq!(out[0], "a b");
        assert_eq!(out[1].chars().count(), MAX_WARNING_CHARS);
        let many = bound_warnings(&vec!["x".into(); 40]);
        assert_eq!(many.len(), MAX_WARNINGS + 1);
        assert!(many[MAX_WARNINGS].starts_with("25 more"), "{:?}", many[MAX_WARNINGS]);
    }
}
