//! The QuarksSecrets of a deployment: which variables have a value, which wait for one, and which the manifest no
//! longer has. Pure.

pub mod retention;

use boson_api::{ConditionStatus, QuarksSecret};
use boson_cluster::client::AnyObject;
use boson_cluster::objects::{annotation, label};
use boson_manifest::labels;
use kube::Resource;
use serde_json::Value;

/// Reason of a QuarksSecret that waits for another object.
const WAITING_REASON: &str = "Waiting";

/// The state of a generated value.
#[derive(Debug, PartialEq, Eq)]
pub enum State {
    Generated,
    /// It arrives without a change, for a reason that the QuarksSecret reports.
    Waiting(Option<String>),
    /// It cannot be generated: why.
    Failed(String),
}

/// The state of a value. `has_secret`: whether its Secret exists.
pub fn state(asked: Option<&QuarksSecret>, has_secret: bool) -> State {
    if has_secret && asked.is_some_and(is_current) {
        return State::Generated;
    }
    match asked.and_then(problem) {
        Some((WAITING_REASON, why)) => State::Waiting(Some(why.into())),
        Some((_, why)) => State::Failed(why.into()),
        None => State::Waiting(None),
    }
}

/// Whether the value is the one that this QuarksSecret asks for.
fn is_current(asked: &QuarksSecret) -> bool {
    let status = asked.status.as_ref();
    status.and_then(|status| status.generated) == Some(true)
        && status.and_then(|status| status.observed_generation) == asked.meta().generation
}

/// Reason and message of its condition Ready, if that is False.
fn problem(asked: &QuarksSecret) -> Option<(&str, &str)> {
    let conditions = asked.status.iter().flat_map(|status| &status.conditions);
    let mut problems = conditions.filter(|one| one.kind == "Ready" && one.status == ConditionStatus::False);
    problems.next().map(|one| (one.reason.as_str(), one.message.as_str()))
}

/// The variables whose QuarksSecrets exist but are not wanted, sorted.
pub fn removed(wanted: &[Value], live: &[Value]) -> Vec<String> {
    let wanted: Vec<_> = wanted.iter().map(AnyObject::name).collect();
    let unwanted = live
        .iter()
        .filter(|one| !wanted.contains(&one.name()) && !one.is_going());
    let mut variables: Vec<String> = unwanted
        .filter_map(|one| serde_json::from_value(one.clone()).ok())
        .map(|one: QuarksSecret| variable_of(&one))
        .collect();
    variables.sort();
    variables.dedup();
    variables
}

/// The variable of a QuarksSecret, as the manifest names it; without one: the name of the QuarksSecret.
pub(crate) fn variable_of(secret: &QuarksSecret) -> String {
    let meta = &secret.metadata;
    let variable = annotation(meta, labels::VARIABLE).or(label(meta, labels::VARIABLE_NAME));
    variable.or(meta.name.as_deref()).unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn asked(reason: &str, generated: bool, observed: i64) -> QuarksSecret {
        let ready = json!({"type": "Ready", "status": "False", "reason": reason, "message": "why",
            "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let conditions = if generated { json!([]) } else { json!([ready]) };
        serde_json::from_value(json!({
            "apiVersion": labels::API_VERSION, "kind": "QuarksSecret", "metadata": {"name": "d.var-a", "generation": 2},
            "spec": {"type": "password", "secretName": "d.var-a"},
            "status": {"generated": generated, "observedGeneration": observed, "conditions": conditions},
        }))
        .unwrap()
    }

    #[test]
    fn only_a_value_of_the_present_generation_counts() {
        assert_eq!(state(Some(&asked("", true, 2)), true), State::Generated);
        assert_eq!(
            state(Some(&asked("", true, 1)), true),
            State::Waiting(None),
            "it changes"
        );
        assert_eq!(
            state(Some(&asked("", true, 2)), false),
            State::Waiting(None),
            "it was deleted"
        );
        assert_eq!(state(None, true), State::Waiting(None), "it is not ours yet");
        let waits = state(Some(&asked("Waiting", false, 2)), false);
        assert_eq!(waits, State::Waiting(Some("why".into())));
        assert_eq!(
            state(Some(&asked("NameConflict", false, 2)), false),
            State::Failed("why".into())
        );
    }

    #[test]
    fn removed_variables_are_named_as_in_the_manifest() {
        let secret = |name: &str, variable: Option<&str>| {
            let annotations = variable.map(|variable| json!({ labels::VARIABLE: variable }));
            json!({"apiVersion": labels::API_VERSION, "kind": "QuarksSecret", "metadata":
                {"name": name, "annotations": annotations}, "spec": {"type": "password", "secretName": name}})
        };
        let live = [
            secret("d.var-b", Some("B_b")),
            secret("d.var-a", None),
            secret("d.var-c", None),
        ];
        assert_eq!(removed(&live[2..], &live), ["B_b", "d.var-a"]);
    }
}
