//! Conditions in the standard Kubernetes form: `kubectl wait --for=condition=Ready` reads these. Setting a condition
//! without a change leaves the status as it is.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Longest message. The server accepts 32 KiB, too much to read.
const MAX_MESSAGE_CHARS: usize = 2000;

/// One aspect of an object's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// The aspect, such as Ready.
    #[serde(rename = "type")]
    #[schemars(length(max = 316))]
    pub kind: String,
    /// Whether it holds. Unknown: the operator cannot tell yet.
    pub status: ConditionStatus,
    /// Why, as one word that programs can compare.
    #[schemars(
        length(min = 1, max = 1024),
        regex(pattern = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")
    )]
    pub reason: String,
    /// Why, as a sentence for people. It never holds a secret value.
    #[schemars(length(max = 32768))]
    pub message: String,
    /// When the status last changed from one value to another.
    #[schemars(schema_with = "crate::schema::date_time")]
    pub last_transition_time: Time,
    /// The metadata.generation that the condition is about. If it is less than the present one, the condition is out of
    /// date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not.
    False,
    /// It is not known yet.
    Unknown,
}

/// A condition to set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its type.
    pub kind: &'static str,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Its reason.
    pub reason: Cow<'static, str>,
    /// A sentence, without secret values.
    pub message: String,
}

// === impl ConditionStatus ===

impl From<bool> for ConditionStatus {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

// === impl Finding ===

impl Finding {
    /// `status`: whether it holds.
    pub fn new(
        kind: &'static str,
        status: impl Into<ConditionStatus>,
        reason: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            status: status.into(),
            reason: reason.into(),
            message: message.into(),
        }
    }
}

/// Truncates a message to the maximum length, and appends a note about it.
pub fn cut(message: &str) -> String {
    let length = message.chars().count();
    if length <= MAX_MESSAGE_CHARS {
        return message.to_string();
    }
    let note = format!("\n[the message is cut: it has {length} characters]");
    let kept = message.chars().take(MAX_MESSAGE_CHARS.saturating_sub(note.len()));
    kept.chain(note.chars()).collect()
}

/// Sets a condition and keeps the others; the time of transition changes only with the status.
pub fn set(conditions: &mut Vec<Condition>, finding: Finding, generation: Option<i64>, now: &Time) {
    let old = conditions.iter_mut().find(|condition| condition.kind == finding.kind);
    let since = match &old {
        Some(old) if old.status == finding.status => &old.last_transition_time,
        _ => now,
    };
    let new = Condition {
        kind: finding.kind.into(),
        status: finding.status,
        reason: finding.reason.into_owned(),
        message: cut(&finding.message),
        last_transition_time: since.clone(),
        observed_generation: generation,
    };
    match old {
        Some(old) => *old = new,
        None => conditions.push(new),
    }
}

/// The code of a diagnostic as the reason of a condition, which must not contain `-`: `ops-missing-key` as
/// `OpsMissingKey`.
pub fn reason(code: &str) -> String {
    let mut reason = String::new();
    for word in code.split('-') {
        let mut letters = word.chars();
        reason.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        reason.push_str(letters.as_str());
    }
    reason
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::jiff::Timestamp;

    fn ready(status: ConditionStatus, message: &str) -> Finding {
        Finding {
            kind: "Ready",
            status,
            reason: "Because".into(),
            message: message.into(),
        }
    }

    fn at(second: i64) -> Time {
        Time(Timestamp::from_second(second).unwrap())
    }

    #[test]
    fn the_same_condition_again_changes_nothing() {
        let mut conditions = Vec::new();
        set(&mut conditions, ready(ConditionStatus::True, "a"), Some(1), &at(1));
        let before = conditions.clone();
        set(&mut conditions, ready(ConditionStatus::True, "a"), Some(1), &at(2));
        assert_eq!(conditions, before);
    }

    #[test]
    fn the_transition_is_when_the_status_changed_and_not_its_message() {
        let mut conditions = Vec::new();
        set(&mut conditions, ready(ConditionStatus::False, "a"), Some(1), &at(1));
        set(&mut conditions, ready(ConditionStatus::False, "b"), Some(2), &at(2));
        assert_eq!(conditions[0].last_transition_time, at(1));
        set(&mut conditions, ready(ConditionStatus::True, "b"), Some(2), &at(3));
        assert_eq!(conditions[0].last_transition_time, at(3));
        assert_eq!(conditions.len(), 1);
    }
}
