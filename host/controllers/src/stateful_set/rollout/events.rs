//! What is recorded of a rollout: when it begins and ends, and which instances it updates, and why. Pure.

use super::reasons::Begun;
use boson_api::stateful_set::{PAUSED, PROGRESSING, ROLLED_OUT, UPDATING};
use boson_api::{QuarksStatefulSet, QuarksStatefulSetStatus, instance_group};
use boson_cluster::client::recorded::{Place, RecordedEvent};
use k8s_openapi::jiff::Timestamp;

/// An event for each instance whose update begins. `version`: that of the group.
pub(in crate::stateful_set) fn instance_events(
    set: &QuarksStatefulSet,
    all: &[Begun],
    version: u32,
    now: Timestamp,
) -> Vec<RecordedEvent> {
    let replicas = set.spec.replicas_by_zone();
    let group = instance_group(set);
    let event = |one: &Begun| {
        let changes = match one.changes.as_slice() {
            [] => String::new(),
            changes => format!(", changes: {}", changes.join(", ")),
        };
        let event = RecordedEvent::about(set, one.action, now).with_context(&format!("version: {version}{changes}"));
        RecordedEvent {
            object_type: "instance".into(),
            object_name: String::new(),
            instance: Some(Place::of(&group, one.zone_index, one.ordinal, &replicas)),
            ..event
        }
    };
    all.iter().map(event).collect()
}

/// The event about a rollout that begins, is paused, stops or ends, if its state changes.
pub(in crate::stateful_set) fn rollout_event(
    set: &QuarksStatefulSet,
    status: &QuarksStatefulSetStatus,
    now: Timestamp,
) -> Option<RecordedEvent> {
    let before = set.status.as_ref().and_then(|status| status.condition(PROGRESSING));
    let before = before.map(|one| one.reason.as_str());
    let after = status.condition(PROGRESSING)?;
    let version = status.version.unwrap_or_default();
    let was_done = before.is_none_or(|reason| reason == ROLLED_OUT);
    let event = |action: &str, text: &str| {
        RecordedEvent::about(set, action, now).with_context(&format!("version: {version}, {text}"))
    };
    match after.reason.as_str() {
        reason if before == Some(reason) => None,
        UPDATING if was_done => Some(event("update", "the rollout begins")),
        UPDATING => Some(event("update", "the rollout continues")),
        ROLLED_OUT => Some(event("update", "the rollout has ended")),
        PAUSED => Some(event("pause", "the rollout is paused")),
        // A problem of a pod is recorded with the event of Kubernetes about it.
        _ if !status.problems.is_empty() => None,
        _ => Some(event("update", "the rollout has stopped").failed(&after.message)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_manifest::labels;
    use serde_json::{Value, from_value, json};

    fn status(reason: &str) -> Value {
        json!({"version": 2, "conditions": [{"type": PROGRESSING, "status": "True", "reason": reason, "message": "words",
            "lastTransitionTime": "2026-01-01T00:00:00Z"}]})
    }

    fn set(status: &Value) -> QuarksStatefulSet {
        from_value(json!({
            "apiVersion": labels::API_VERSION, "kind": "QuarksStatefulSet",
            "metadata": {"name": "d-web", "labels": {labels::DEPLOYMENT_NAME: "d", labels::INSTANCE_GROUP_NAME: "web"}},
            "spec": {"template": {}, "zones": ["a", "b"], "zoneReplicas": [2, 1]}, "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn a_rollout_is_recorded_when_its_state_changes() {
        let turn = |before: &Value, after: &str| {
            let after = from_value(status(after)).unwrap();
            let event = rollout_event(&set(before), &after, Timestamp::UNIX_EPOCH)?;
            Some(format!(
                "{} {} {} {}",
                event.action, event.object_name, event.context, event.error
            ))
        };
        let text = |found: Option<String>| found.unwrap_or_default();
        let none = Value::Null;
        assert_eq!(
            text(turn(&none, UPDATING)),
            "update web version: 2, the rollout begins "
        );
        assert_eq!(turn(&status(UPDATING), UPDATING), None);
        assert_eq!(
            text(turn(&status(PAUSED), UPDATING)),
            "update web version: 2, the rollout continues "
        );
        assert_eq!(
            text(turn(&status(UPDATING), ROLLED_OUT)),
            "update web version: 2, the rollout has ended "
        );
        let failed = text(turn(&status(UPDATING), "CanaryFailed"));
        assert_eq!(failed, "update web version: 2, the rollout has stopped words");
    }

    #[test]
    fn an_instance_is_recorded_with_what_has_changed() {
        let one = Begun {
            zone_index: 0,
            ordinal: 1,
            action: "update",
            changes: vec!["configuration", "pod template"],
        };
        let found = instance_events(&set(&Value::Null), &[one], 3, Timestamp::UNIX_EPOCH);
        let wanted = json!([{
            "time": "1970-01-01T00:00:00Z", "action": "update", "objectType": "instance", "deployment": "d",
            "instance": {"group": "web", "index": 2, "indexPerZone": 1},
            "context": "version: 3, changes: configuration, pod template",
        }]);
        assert_eq!(json!(found), wanted);
    }
}
