//! Why a Job failed or is stuck: what Kubernetes reports about its containers. Pure.
//!
//! Messages are shown only for containers of our own image, whose messages hold no values. Logs are never shown.

use crate::pod_problems::{exit, is_pull, unschedulable};
use boson_cluster::pods::{USUAL_REASONS, statuses};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use std::borrow::Cow;

/// Most containers in a message.
const MAX_NAMED_CONTAINERS: usize = 5;
/// Label that the Job controller sets on pods.
const JOB_NAME: &str = "batch.kubernetes.io/job-name";

/// Reason and message of a Job that failed. `operator_image`: messages of its containers are shown.
pub(super) fn of_job(job: &Job, pods: &[Pod], operator_image: &str) -> (Cow<'static, str>, String) {
    let conditions = job.status.iter().flat_map(|status| &status.conditions).flatten();
    let failed = conditions.into_iter().find(|condition| condition.type_ == "Failed");
    let reason = failed
        .and_then(|failed| failed.reason.clone())
        .filter(|reason| !reason.is_empty());
    let detail = failed.and_then(|failed| failed.message.clone()).unwrap_or_default();
    let mut texts: Vec<String> = Vec::new();
    for pod in newest_first(pods, job) {
        for status in statuses(pod) {
            push_new(&mut texts, exit(status, pod, operator_image));
        }
    }
    texts.truncate(MAX_NAMED_CONTAINERS);
    let why = if texts.is_empty() { detail } else { texts.join("; ") };
    let message = format!("the Job '{}' failed: {why}", job.name_any());
    (reason.map_or("JobFailed".into(), Cow::Owned), message)
}

/// Why the pods of a Job do not run, if so.
pub(super) fn waiting_reasons(pods: &[Pod], job: &Job) -> Option<String> {
    let mut texts: Vec<String> = Vec::new();
    for pod in newest_first(pods, job) {
        for status in statuses(pod) {
            let waiting = status.state.as_ref().and_then(|state| state.waiting.as_ref());
            let reason = waiting.and_then(|waiting| waiting.reason.as_deref());
            // The kubelet alternates between the two, and each change would be a write.
            let reason = reason.map(|reason| if is_pull(reason) { "ImagePullBackOff" } else { reason });
            let reason = reason.filter(|reason| !USUAL_REASONS.contains(reason));
            let text = |reason: &str| format!("container '{}' waits: {reason} (image '{}')", status.name, status.image);
            push_new(&mut texts, reason.map(text));
        }
        let unschedulable = unschedulable(pod).map(|why| format!("no node takes the pod: {why}"));
        push_new(&mut texts, unschedulable);
    }
    texts.truncate(MAX_NAMED_CONTAINERS);
    (!texts.is_empty()).then(|| texts.join("; "))
}

/// Pods of a Job often have the same problem.
fn push_new(texts: &mut Vec<String>, text: Option<String>) {
    texts.extend(text.filter(|text| !texts.contains(text)));
}

/// Whether its containers may still do something.
pub(crate) fn is_alive(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    !matches!(phase, Some("Succeeded" | "Failed"))
}

fn newest_first<'p>(pods: &'p [Pod], job: &Job) -> Vec<&'p Pod> {
    let name = job.name_any();
    let mut found: Vec<&Pod> = pods
        .iter()
        .filter(|pod| pod.labels().get(JOB_NAME) == Some(&name))
        .collect();
    found.sort_by_key(|pod| std::cmp::Reverse(pod.metadata.creation_timestamp.clone()));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn job() -> Job {
        let conditions =
            json!([{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "limit"}]);
        serde_json::from_value(json!({"metadata": {"name": "j"}, "status": {"conditions": conditions}})).unwrap()
    }

    fn pod(container: &str, image: &str, state: Value) -> Pod {
        let status = json!({"name": container, "image": image, "imageID": "", "ready": false, "restartCount": 0, "state": state});
        serde_json::from_value(json!({
            "metadata": {"name": "p", "labels": {JOB_NAME: "j"}},
            "spec": {"containers": [{"name": container, "image": image}]},
            "status": {"phase": "Failed", "containerStatuses": [status]}
        }))
        .unwrap()
    }

    #[test]
    fn code_and_reason_are_reported_and_messages_only_of_our_own_program() {
        let ended =
            |code: i32, reason: &str| json!({"terminated": {"exitCode": code, "reason": reason, "message": "CANARY"}});
        let (reason, message) = of_job(&job(), &[pod("c", "theirs", ended(3, "Error"))], "ours");
        assert_eq!(
            (&*reason, &*message),
            (
                "BackoffLimitExceeded",
                "the Job 'j' failed: container 'c' ended with code 3"
            )
        );
        let (_, message) = of_job(&job(), &[pod("c", "theirs", ended(137, "OOMKilled"))], "ours");
        assert!(message.ends_with("code 137 (OOMKilled)"), "{message}");
        let (_, message) = of_job(&job(), &[pod("c", "ours", ended(1, "Error"))], "ours");
        assert!(message.ends_with("code 1: CANARY"), "{message}");
        let (_, message) = of_job(&job(), &[pod("c", "i", ended(0, "Completed"))], "ours");
        assert_eq!(message, "the Job 'j' failed: limit");
    }

    #[test]
    fn what_a_pod_waits_for_is_reported_unless_it_is_usual() {
        let waiting = |reason: &str| json!({"waiting": {"reason": reason, "message": "x"}});
        assert_eq!(
            waiting_reasons(&[pod("c", "i:1", waiting("ContainerCreating"))], &job()),
            None
        );
        let text = waiting_reasons(&[pod("c", "i:1", waiting("ImagePullBackOff"))], &job()).unwrap();
        assert_eq!(text, "container 'c' waits: ImagePullBackOff (image 'i:1')");
    }

    #[test]
    fn what_several_pods_wait_for_is_reported_once() {
        let pulling = pod("c", "i:1", json!({"waiting": {"reason": "ErrImagePull"}}));
        let mut pending = pod("c", "i:1", json!({}));
        let message = "0/3 nodes are available";
        let condition =
            json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message});
        pending.status = serde_json::from_value(json!({"conditions": [condition]})).unwrap();
        let text = waiting_reasons(&[pulling.clone(), pending.clone(), pulling, pending], &job()).unwrap();
        let container = "container 'c' waits: ImagePullBackOff (image 'i:1')";
        assert_eq!(text, format!("{container}; no node takes the pod: {message}"));
    }
}
