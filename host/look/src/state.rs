//! The state of an instance, and of a process, in BOSH's words.

use crate::table::Cell;
use boson_api::instances::STOPPED;
use boson_cluster::pods::{USUAL_REASONS, condition, is_ready, statuses};
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};

/// The state of an instance or process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Running,
    Starting,
    Failing,
    Stopped,
}

// === impl State ===

impl State {
    pub fn of_pod(pod: &Pod) -> Self {
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        let is_unscheduled = condition(pod, "PodScheduled").is_some_and(|one| one.status == "False");
        let mut gates = pod.spec.iter().flat_map(|spec| &spec.scheduling_gates).flatten();
        let is_gated = gates.any(|gate| gate.name == STOPPED);
        if is_gated || pod.metadata.deletion_timestamp.is_some() || phase == Some("Succeeded") {
            return Self::Stopped;
        }
        if is_ready(pod) {
            return Self::Running;
        }
        let is_failing = || statuses(pod).any(|one| Self::of_process(one) == Self::Failing);
        if phase == Some("Failed") || is_unscheduled || is_failing() {
            Self::Failing
        } else {
            Self::Starting
        }
    }

    pub fn of_process(status: &ContainerStatus) -> Self {
        let state = status.state.as_ref();
        if let Some(end) = state.and_then(|state| state.terminated.as_ref()) {
            return if end.exit_code == 0 {
                Self::Stopped
            } else {
                Self::Failing
            };
        }
        let waiting = state.and_then(|state| state.waiting.as_ref());
        let reason = waiting.and_then(|waiting| waiting.reason.as_deref());
        let is_running = state.is_some_and(|state| state.running.is_some());
        if is_running && status.ready {
            Self::Running
        } else if reason.is_some_and(|reason| !USUAL_REASONS.contains(&reason))
            || (is_running && status.restart_count > 0)
        {
            Self::Failing
        } else {
            Self::Starting
        }
    }

    pub fn cell(self) -> Cell {
        let word = match self {
            Self::Running => "running",
            Self::Starting => "starting",
            Self::Failing => "failing",
            Self::Stopped => "stopped",
        };
        Cell::state(word, self == Self::Running)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn pods_that_cannot_run_or_are_deleted_do_not_start() {
        let pod = |status: Value| -> Pod { serde_json::from_value(json!({"status": status})).unwrap() };
        let state = |status: Value| State::of_pod(&pod(status));
        let ready = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
        let unschedulable = json!({"conditions": [{"type": "PodScheduled", "status": "False"}]});
        let init = json!({"name": "i", "ready": false, "restartCount": 1, "image": "i", "imageID": "i",
            "state": {"terminated": {"exitCode": 1}}});
        assert_eq!(state(ready.clone()), State::Running);
        assert_eq!(state(unschedulable), State::Failing);
        assert_eq!(state(json!({"initContainerStatuses": [init]})), State::Failing);
        assert_eq!(state(json!({"phase": "Failed"})), State::Failing);
        assert_eq!(state(json!({"phase": "Pending"})), State::Starting);
        let mut gated = pod(json!({"conditions": [{"type": "PodScheduled", "status": "False"}]}));
        gated.spec = serde_json::from_value(json!({"containers": [], "schedulingGates": [{"name": STOPPED}]})).unwrap();
        assert_eq!(State::of_pod(&gated), State::Stopped);
        let mut deleted = pod(ready);
        deleted.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(
            k8s_openapi::jiff::Timestamp::UNIX_EPOCH,
        ));
        assert_eq!(State::of_pod(&deleted), State::Stopped);
    }
}
