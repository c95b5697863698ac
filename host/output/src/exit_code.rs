//! Which containers of a pod have ended.

use boson_cluster::pods::main_statuses;
use k8s_openapi::api::core::v1::Pod;

/// The code with which this container ended. None: it has not started, is running, or will be restarted. `restarts`:
/// whether it is restarted after a failure.
pub fn exit_code(pod: &Pod, container: &str, restarts: bool) -> Option<i32> {
    let found = main_statuses(pod).find(|status| status.name == container);
    let code = found?.state.as_ref()?.terminated.as_ref()?.exit_code;
    (code == 0 || !restarts).then_some(code)
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
            (0, false, Some(0)),
            (0, true, Some(0)),
            (1, false, Some(1)),
            (1, true, None),
        ] {
            assert_eq!(exit_code(&pod(code), "it", restarts), wanted, "{code} {restarts}");
        }
        assert_eq!(exit_code(&pod(0), "other", false), None);
        assert_eq!(
            exit_code(&Pod::default(), "it", false),
            None,
            "the kubelet has reported nothing yet"
        );
    }
}
