//! Why pods are not ready: the reports of scheduler and kubelet, one text for each cause. Pure.
//!
//! A container that crashes alternates between waiting, running and terminated. All three give the same problem here,
//! because each change of the text would be a write and an event. The output of a container is quoted only where it
//! runs the operator's own image, whose messages hold no secret values.

use boson_api::PodProblem;
use boson_cluster::pods::{USUAL_REASONS, condition, containers, init_statuses, is_ready, statuses};
use k8s_openapi::api::core::v1::{ContainerState, ContainerStateTerminated, ContainerStatus, Pod};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;

/// Reason of a container that runs and is not ready: often it only needs more time.
pub(crate) const NOT_READY: &str = "ContainersNotReady";
/// Reasons of the container runtime for a process that it could not start, mostly because the file does not exist.
const START_ERROR_REASONS: [&str; 3] = ["StartError", "ContainerCannotRun", "RunContainerError"];
/// A container that has run this long is not in a crash loop any more: the kubelet resets its back-off then, too.
const CRASH_LOOP_RESET_DELAY: SignedDuration = SignedDuration::from_mins(10);
/// Longest text of kubelet or runtime.
const MAX_TEXT_CHARS: usize = 300;

/// Why a pod or a container is not ready.
struct Cause {
    reason: String,
    message: String,
}

// === impl Cause ===

impl Cause {
    fn new(reason: &str, message: String) -> Self {
        Self {
            reason: reason.into(),
            message,
        }
    }
}

/// The problems of all pods that are not ready, sorted by pod. `operator_image`: messages of its containers can be
/// shown.
pub(crate) fn of_pods(pods: &[Pod], operator_image: &str, now: Timestamp) -> Vec<PodProblem> {
    let mut pods: Vec<&Pod> = pods.iter().filter(|pod| !is_ready(pod)).collect();
    pods.retain(|pod| pod.metadata.deletion_timestamp.is_none());
    pods.sort_by_key(|pod| pod.name_any());
    pods.into_iter()
        .flat_map(|pod| of_pod(pod, operator_image, now))
        .collect()
}

fn of_pod(pod: &Pod, operator_image: &str, now: Timestamp) -> Vec<PodProblem> {
    let problem = |container: Option<&str>, cause: Cause| PodProblem {
        pod: pod.name_any(),
        container: container.map(str::to_string),
        reason: cause.reason,
        message: first_line(&cause.message),
    };
    if let Some(why) = unschedulable(pod) {
        return vec![problem(None, Cause::new("Unschedulable", why))];
    }
    let status = pod.status.as_ref();
    let lost = status.filter(|status| status.phase.as_deref() == Some("Failed"));
    if let Some((reason, status)) = lost.and_then(|status| Some((status.reason.as_deref()?, status))) {
        let message = status.message.clone().unwrap_or_default();
        return vec![problem(None, Cause::new(reason, message))];
    }
    let found = statuses(pod).filter_map(|status| {
        let found = container_cause(status, pod, operator_image, now)?;
        Some(problem(Some(&status.name), found))
    });
    found.collect()
}

/// Why a container is not ready.
fn container_cause(status: &ContainerStatus, pod: &Pod, operator_image: &str, now: Timestamp) -> Option<Cause> {
    let state = status.state.as_ref()?;
    if let Some(end) = &state.terminated {
        return crash_cause(status, end, pod, operator_image).filter(|_| end.exit_code != 0 || !is_init(status, pod));
    }
    let last = status.last_state.as_ref().and_then(|last| last.terminated.as_ref());
    if let Some(running) = &state.running {
        let since = running.started_at.as_ref().map_or(now, |time| time.0);
        let crashed = last.filter(|_| now.duration_since(since) < CRASH_LOOP_RESET_DELAY);
        return match crashed {
            _ if status.ready || is_init(status, pod) => None,
            Some(end) => crash_cause(status, end, pod, operator_image),
            None => Some(Cause::new(NOT_READY, "it runs and is not ready yet".into())),
        };
    }
    let waiting = state.waiting.as_ref()?;
    let reason = waiting
        .reason
        .as_deref()
        .filter(|reason| !USUAL_REASONS.contains(reason))?;
    let message = waiting.message.as_deref().unwrap_or_default();
    Some(match (reason, last) {
        ("CrashLoopBackOff", Some(end)) => return crash_cause(status, end, pod, operator_image),
        (reason, _) if START_ERROR_REASONS.contains(&reason) => Cause::new("StartError", start_error(message)),
        (reason, _) if is_pull(reason) => Cause::new("ImagePullBackOff", format!("image '{}'", status.image)),
        (reason, _) => Cause::new(reason, message.into()),
    })
}

/// Why a container ended that should run for ever, or succeed.
fn crash_cause(
    status: &ContainerStatus,
    end: &ContainerStateTerminated,
    pod: &Pod,
    operator_image: &str,
) -> Option<Cause> {
    let reason = end.reason.as_deref().unwrap_or_default();
    if START_ERROR_REASONS.contains(&reason) {
        let message = end.message.as_deref().unwrap_or_default();
        return Some(Cause::new("StartError", start_error(message)));
    }
    let word = if reason == "OOMKilled" {
        reason
    } else {
        "CrashLoopBackOff"
    };
    let message = end
        .message
        .as_deref()
        .filter(|_| is_ours(pod, &status.name, operator_image));
    let text = match message.map(str::trim).filter(|message| !message.is_empty()) {
        Some(message) => format!("it ended with code {}: {message}", end.exit_code),
        None => {
            let (pod, container) = (pod.name_any(), &status.name);
            format!(
                "it ended with code {} (kubectl logs {pod} -c {container})",
                end.exit_code
            )
        }
    };
    Some(Cause::new(word, text))
}

/// `exec: "/x": stat /x: no such file or directory`: the end of a nested error message.
fn start_error(message: &str) -> String {
    let text = message
        .find("exec: ")
        .and_then(|at| message.get(at..))
        .unwrap_or(message);
    text.trim().trim_end_matches(": unknown").to_string()
}

fn first_line(text: &str) -> String {
    text.lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(MAX_TEXT_CHARS)
        .collect()
}

fn is_init(status: &ContainerStatus, pod: &Pod) -> bool {
    init_statuses(pod).any(|one| one.name == status.name)
}

/// The kubelet alternates between these two.
pub(crate) fn is_pull(reason: &str) -> bool {
    ["ErrImagePull", "ImagePullBackOff"].contains(&reason)
}

/// How a container failed.
pub(crate) fn exit(status: &ContainerStatus, pod: &Pod, operator_image: &str) -> Option<String> {
    let ended = |state: Option<&ContainerState>| state.and_then(|state| state.terminated.clone());
    let end = ended(status.state.as_ref()).or_else(|| ended(status.last_state.as_ref()))?;
    if end.exit_code == 0 {
        return None;
    }
    let name = &status.name;
    let how = match end.reason.as_deref() {
        None | Some("" | "Error") => format!("container '{name}' ended with code {}", end.exit_code),
        Some(reason) => format!("container '{name}' ended with code {} ({reason})", end.exit_code),
    };
    let message = end.message.filter(|_| is_ours(pod, name, operator_image));
    Some(
        match message.as_deref().map(str::trim).filter(|message| !message.is_empty()) {
            Some(message) => format!("{how}: {message}"),
            None => how,
        },
    )
}

/// By the image in the spec: the status has the name of the image on the node.
fn is_ours(pod: &Pod, container: &str, operator_image: &str) -> bool {
    containers(pod).any(|one| one.name == container && one.image.as_deref() == Some(operator_image))
}

/// Why no node takes a pod.
pub(crate) fn unschedulable(pod: &Pod) -> Option<String> {
    let scheduled = condition(pod, "PodScheduled")?;
    let waits = scheduled.status == "False" && scheduled.reason.as_deref() == Some("Unschedulable");
    waits.then(|| scheduled.message.clone().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const NOW: i64 = 1_000_000;

    fn now() -> Timestamp {
        Timestamp::from_second(NOW).unwrap()
    }

    fn ago(seconds: i64) -> String {
        Timestamp::from_second(NOW - seconds).unwrap().to_string()
    }

    fn container(name: &str, state: &Value, last: &Value) -> Value {
        json!({"name": name, "image": "i:1", "imageID": "", "ready": false, "restartCount": 1, "state": state, "lastState": last})
    }

    fn pod(status: Value) -> Pod {
        let one = |name: &str, image: &str| json!({"name": name, "image": image});
        let spec = json!({"initContainers": [one("render", "ours")], "containers": [one("c", "theirs")]});
        serde_json::from_value(json!({"metadata": {"name": "p-0"}, "spec": spec, "status": status})).unwrap()
    }

    fn reported(status: Value) -> Vec<String> {
        let problems = of_pods(&[pod(status)], "ours", now());
        let text = |one: PodProblem| format!("{}: {}: {}", one.container.unwrap_or_default(), one.reason, one.message);
        problems.into_iter().map(text).collect()
    }

    fn of_main(state: &Value, last: &Value) -> Vec<String> {
        reported(json!({"containerStatuses": [container("c", state, last)]}))
    }

    fn ended(code: i32, reason: &str, message: &str) -> Value {
        json!({"terminated": {"exitCode": code, "reason": reason, "message": message}})
    }

    #[test]
    fn a_crash_loop_is_one_problem_in_all_its_states() {
        let end = ended(3, "Error", "CANARY");
        let running = json!({"running": {"startedAt": ago(30)}});
        let waiting = json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 20s restarting"}});
        for (state, last) in [(&end, &json!({})), (&running, &end), (&waiting, &end)] {
            assert_eq!(
                of_main(state, last),
                ["c: CrashLoopBackOff: it ended with code 3 (kubectl logs p-0 -c c)"]
            );
        }
        let long = json!({"running": {"startedAt": ago(3600)}});
        assert_eq!(
            of_main(&long, &end),
            ["c: ContainersNotReady: it runs and is not ready yet"]
        );
        assert_eq!(
            of_main(&ended(0, "Completed", ""), &json!({})),
            ["c: CrashLoopBackOff: it ended with code 0 (kubectl logs p-0 -c c)"]
        );
        assert_eq!(
            of_main(&waiting, &ended(137, "OOMKilled", "")),
            ["c: OOMKilled: it ended with code 137 (kubectl logs p-0 -c c)"]
        );
    }

    #[test]
    fn an_executable_that_is_missing_is_named_however_the_runtime_reports_it() {
        let words = r#"failed to create shim task: OCI runtime create failed: exec: "/no": stat /no: no such file or directory: unknown"#;
        let expected = [r#"c: StartError: exec: "/no": stat /no: no such file or directory"#];
        let waiting = |reason: &str| json!({"waiting": {"reason": reason, "message": words}});
        assert_eq!(of_main(&ended(128, "StartError", words), &json!({})), expected);
        assert_eq!(of_main(&waiting("RunContainerError"), &json!({})), expected);
        assert_eq!(
            of_main(&waiting("CrashLoopBackOff"), &ended(128, "StartError", words)),
            expected
        );
    }

    #[test]
    fn what_keeps_a_pod_from_starting_is_named() {
        let waiting = |reason: &str| json!({"waiting": {"reason": reason, "message": "words\nmore words"}});
        for reason in ["ErrImagePull", "ImagePullBackOff"] {
            assert_eq!(
                of_main(&waiting(reason), &json!({})),
                ["c: ImagePullBackOff: image 'i:1'"]
            );
        }
        assert_eq!(
            of_main(&waiting("CreateContainerConfigError"), &json!({})),
            ["c: CreateContainerConfigError: words"]
        );
        assert_eq!(of_main(&waiting("ContainerCreating"), &json!({})), [""; 0]);
        let condition =
            json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"});
        assert_eq!(
            reported(json!({"conditions": [condition]})),
            [": Unschedulable: 0/1 nodes"]
        );
        let evicted = json!({"phase": "Failed", "reason": "Evicted", "message": "low on memory"});
        assert_eq!(reported(evicted), [": Evicted: low on memory"]);
    }

    #[test]
    fn init_containers_may_end_and_messages_of_our_own_program_are_shown() {
        let status = |state: &Value| json!({"initContainerStatuses": [container("render", state, &json!({}))]});
        assert_eq!(reported(status(&ended(0, "Completed", ""))), [""; 0]);
        assert_eq!(
            reported(status(&ended(1, "Error", "template-error: p is missing"))),
            ["render: CrashLoopBackOff: it ended with code 1: template-error: p is missing"]
        );
    }

    #[test]
    fn pods_that_are_ready_or_being_deleted_have_no_problem() {
        let mut deleted = pod(json!({"containerStatuses": [container("c", &ended(1, "Error", ""), &json!({}))]}));
        assert_eq!(of_pods(std::slice::from_ref(&deleted), "ours", now()).len(), 1);
        deleted.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(now()));
        assert!(of_pods(&[deleted], "ours", now()).is_empty());
        assert_eq!(
            reported(json!({"conditions": [{"type": "Ready", "status": "True"}]})),
            [""; 0]
        );
    }
}
