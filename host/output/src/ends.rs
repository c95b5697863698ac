//! Which containers of a pod have ended.

use boson_cluster::pods::main_statuses;
use k8s_openapi::api::core::v1::Pod;

/// The state of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It has not started, is running, or will be restarted.
    NotYet,
    /// It ended with this code.
    Exited(i32),
}

/// The state of this container. `restarts`: whether it is restarted after a failure.
pub fn ends(pod: &Pod, container: &str, restarts: bool) -> End {
    let found = main_statuses(pod).find(|status| status.name == container);
    let terminated = found.and_then(|status| status.state.as_ref()?.terminated.as_ref());
    match terminated {
        Some(end) if end.exit_code == 0 || !restarts => End::Exited(end.exit_code),
        _ => End::NotYet,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_has_ended_when_it_is_not_restarted() {
        let pod = |code: i32| -> Pod {
            let state = serde_json::json!({"terminated": {"exitCode": code}});
            let running = serde_json::json!({"running": {}});
            let status = |name: &str, state| serde_json::json!({"name": name, "state": state, "image": "", "imageID": "", "ready": false, "restartCount": 0});
            let statuses = [status("other", running), status("it", state)];
            serde_json::from_value(serde_json::json!({"status": {"containerStatuses": statuses}})).unwrap()
        };
        for (code, restarts, wanted) in [
            (0, false, End::Exited(0)),
            (0, true, End::Exited(0)),
            (1, false, End::Exited(1)),
            (1, true, End::NotYet),
        ] {
            assert_eq!(ends(&pod(code), "it", restarts), wanted, "{code} {restarts}");
        }
        assert_eq!(ends(&pod(0), "other", false), End::NotYet);
        assert_eq!(
            ends(&Pod::default(), "it", false),
            End::NotYet,
            "the kubelet has reported nothing yet"
        );
    }
}
