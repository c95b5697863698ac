//! The state of the pods of a conversion job: diagnostics of their containers, images that cannot be pulled, what they
//! wait for. Pure.

use super::plan::is_of_run;
use crate::codes;
use boson_cluster::pods::{condition, statuses};
use boson_in_pod::{Report, TRY_AGAIN_EXIT_CODE};
use boson_pipeline::Diagnostic;
use k8s_openapi::api::core::v1::{ContainerStateTerminated, ContainerStatus, Pod};
use kube::ResourceExt;

/// Reasons of a waiting container that starts only after a user fixes something, although the kubelet keeps retrying.
const STUCK_REASONS: [&str; 7] = [
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImageNeverPull",
    "ErrImagePull",
    "ImageInspectError",
    "ImagePullBackOff",
    "InvalidImageName",
];

/// The newest pod of a run.
pub fn newest<'p>(pods: &'p [Pod], digest: &str) -> Option<&'p Pod> {
    let of_run = pods.iter().filter(|pod| is_of_run(&pod.metadata, digest));
    of_run.max_by_key(|pod| (pod.creation_timestamp(), pod.name_any()))
}

/// The errors of a pod that has not succeeded; none while it may still succeed without a change.
///
/// `has_failed`: whether the job has given up.
pub fn errors(pod: &Pod, has_failed: bool) -> Vec<Diagnostic> {
    let stuck = waiting_errors(pod);
    if !stuck.is_empty() {
        return stuck;
    }
    let ended: Vec<(&ContainerStatus, &ContainerStateTerminated)> =
        terminated(pod).filter(|(_, state)| state.exit_code != 0).collect();
    // A container that was killed by a signal, or that asks for a retry, may succeed the next time.
    let is_final = |state: &ContainerStateTerminated| {
        has_failed || (state.exit_code < 128 && state.exit_code != i32::from(TRY_AGAIN_EXIT_CODE))
    };
    let is_over = has_failed || phase(pod) == "Failed";
    if !is_over || !ended.iter().any(|(_, state)| is_final(state)) {
        return Vec::new();
    }
    let (mut errors, mut more) = (Vec::new(), Vec::new());
    for (status, report) in reports(ended.iter().copied()) {
        errors.extend(report.diagnostics.into_iter().filter(Diagnostic::is_error));
        more.extend((report.more > 0).then(|| truncated_error(pod, status, report.more)));
    }
    let mut errors = unique(errors);
    errors.extend(more);
    if errors.is_empty() {
        errors.extend(ended.iter().map(|(status, state)| no_report_error(pod, status, state)));
    }
    errors
}

/// The warnings of the containers of a successful run.
pub fn warnings(pod: &Pod) -> Vec<Diagnostic> {
    let reports = reports(terminated(pod));
    let all = reports.flat_map(|(_, report)| report.diagnostics);
    unique(all.filter(|one| !one.is_error()))
}

/// Why a pod cannot be scheduled; none if it is scheduled.
pub fn unschedulable(pod: &Pod) -> Option<&str> {
    let unplaced = condition(pod, "PodScheduled").filter(|one| one.status == "False")?;
    unplaced.message.as_deref()
}

fn waiting_errors(pod: &Pod) -> Vec<Diagnostic> {
    let mut errors = Vec::new();
    for status in statuses(pod) {
        let Some(waiting) = status.state.as_ref().and_then(|state| state.waiting.as_ref()) else {
            continue;
        };
        let reason = waiting.reason.as_deref().unwrap_or_default();
        if !STUCK_REASONS.contains(&reason) {
            continue;
        }
        let (pod, container) = (pod.name_any(), &status.name);
        // The kubelet alternates between two reasons, for a failure and for the back-off after it. Use one text, so
        // that the condition does not flap.
        let why = waiting.message.as_deref().unwrap_or_default();
        let why = why.split_once("ErrImagePull: ").map_or(why, |(_, why)| why);
        let reason = reason.replace("ErrImagePull", "ImagePullBackOff");
        errors.push(if reason.contains("Image") { Diagnostic::error(
            codes::DEPLOYMENT_IMAGE_PULL,
            format!("image '{}' cannot be pulled ({reason}): {why}", status.image),
        )
        .help(format!(
            "container '{container}' of pod '{pod}' needs it; push it, or fix the url, version, stemcell or credentials of the release"
        )) } else { Diagnostic::error(
            codes::DEPLOYMENT_POD,
            format!("container '{container}' of pod '{pod}' cannot start ({reason}): {why}"),
        ) });
    }
    errors
}

fn truncated_error(pod: &Pod, status: &ContainerStatus, more: usize) -> Diagnostic {
    let what = format!("{more} more errors, which did not fit into the report");
    Diagnostic::error(codes::DEPLOYMENT_JOB_MORE, what).help(format!(
        "run kubectl logs {} -c {} to see them",
        pod.name_any(),
        status.name
    ))
}

/// A container that ended without a report.
fn no_report_error(pod: &Pod, status: &ContainerStatus, state: &ContainerStateTerminated) -> Diagnostic {
    let (name, container, code) = (pod.name_any(), &status.name, state.exit_code);
    let reason = state.reason.as_deref().unwrap_or("Error");
    let detail = state.message.as_deref().unwrap_or_default().trim();
    let detail = if detail.is_empty() {
        String::new()
    } else {
        format!(": {detail}")
    };
    let message = format!(
        "container '{container}' of pod '{name}' (image '{}') ended with code {code} ({reason}){detail}",
        status.image
    );
    let again = i32::from(TRY_AGAIN_EXIT_CODE) == code;
    Diagnostic::error(codes::DEPLOYMENT_JOB_FAILED, message).help(if again {
        "its Secrets change faster than pods start; delete the QuarksJob to try again".to_string()
    } else {
        format!("run kubectl logs {name} -c {container}; delete the QuarksJob to try again")
    })
}

fn reports<'p>(
    ended: impl Iterator<Item = (&'p ContainerStatus, &'p ContainerStateTerminated)>,
) -> impl Iterator<Item = (&'p ContainerStatus, Report)> {
    ended.filter_map(|(status, state)| Some((status, boson_in_pod::from_message(state.message.as_deref()?)?)))
}

fn terminated(pod: &Pod) -> impl Iterator<Item = (&ContainerStatus, &ContainerStateTerminated)> {
    statuses(pod).filter_map(|status| Some((status, status.state.as_ref()?.terminated.as_ref()?)))
}

fn phase(pod: &Pod) -> &str {
    let status = pod.status.as_ref();
    status.and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

/// Each once: the containers of several groups may report the same error in a manifest.
fn unique(all: impl IntoIterator<Item = Diagnostic>) -> Vec<Diagnostic> {
    let mut unique = Vec::new();
    for one in all {
        if !unique.contains(&one) {
            unique.push(one);
        }
    }
    unique
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn pod(phase: &str, states: &[(&str, Value)]) -> Pod {
        let statuses: Vec<Value> = states
            .iter()
            .map(|(name, state)| {
                json!({"name": name, "image": "r/i:1", "imageID": "", "ready": false, "restartCount": 0, "state": state})
            })
            .collect();
        serde_json::from_value(
            json!({"metadata": {"name": "p"}, "status": {"phase": phase, "containerStatuses": statuses}}),
        )
        .unwrap()
    }

    fn terminated(code: i32, reported: &[Diagnostic]) -> Value {
        json!({"terminated": {"exitCode": code, "reason": "Error", "message": boson_in_pod::to_message(reported, 4096)}})
    }

    fn codes(reported: &[Diagnostic]) -> Vec<&str> {
        reported.iter().map(|one| one.code.as_str()).collect()
    }

    #[test]
    fn errors_of_all_containers_come_once_when_the_pod_is_over() {
        let wrong = Diagnostic::reported_error("render-x", "no")
            .in_document("t")
            .on_line(3, None);
        let other = Diagnostic::reported_error("render-y", "no");
        let odd = Diagnostic::reported_warning("w-z", "odd");
        let states = [
            ("a", terminated(65, &[wrong.clone(), odd.clone()])),
            ("b", terminated(65, &[wrong.clone(), other.clone()])),
            ("c", terminated(0, std::slice::from_ref(&odd))),
        ];
        assert_eq!(errors(&pod("Failed", &states), false), [wrong, other]);
        assert!(errors(&pod("Running", &states), false).is_empty());
        assert_eq!(warnings(&pod("Succeeded", &states)), [odd]);
    }

    #[test]
    fn an_end_without_a_report_is_an_error_only_when_no_retry_is_left() {
        let states = [("a", json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}}))];
        assert!(errors(&pod("Failed", &states), false).is_empty());
        let found = errors(&pod("Failed", &states), true);
        assert_eq!(codes(&found), ["deployment-job-failed"]);
        assert!(
            found[0].message.contains("OOMKilled") && found[0].message.contains("'a'"),
            "{found:?}"
        );
        let copier = [(
            "spec-copier-x",
            json!({"terminated": {"exitCode": 1, "message": "container-run: copying to /x: no space\n"}}),
        )];
        let found = errors(&pod("Failed", &copier), false);
        assert!(
            found[0].message.ends_with(": container-run: copying to /x: no space"),
            "{found:?}"
        );
    }

    #[test]
    fn an_image_that_cannot_be_pulled_is_named() {
        let states = [(
            "spec-copier-x",
            json!({"waiting": {"reason": "ImagePullBackOff", "message": "not found"}}),
        )];
        let found = errors(&pod("Pending", &states), false);
        assert_eq!(codes(&found), ["deployment-image-pull"]);
        assert!(
            found[0].message.contains("r/i:1") && found[0].message.contains("not found"),
            "{found:?}"
        );
        let turn = |reason: &str, message: &str| {
            let states = [("x", json!({"waiting": {"reason": reason, "message": message}}))];
            errors(&pod("Pending", &states), false)
        };
        let waits = turn(
            "ImagePullBackOff",
            "Back-off pulling image \"r/i:1\": ErrImagePull: not found",
        );
        assert_eq!(turn("ErrImagePull", "not found"), waits, "the text does not alternate");
        let states = [("x", json!({"waiting": {"reason": "PodInitializing"}}))];
        assert!(errors(&pod("Pending", &states), false).is_empty());
    }

    #[test]
    fn errors_that_were_cut_are_counted() {
        let many: Vec<Diagnostic> = (0..50)
            .map(|nth| Diagnostic::reported_error("e-x", format!("{nth} {}", "x".repeat(200))))
            .collect();
        let found = errors(&pod("Failed", &[("a", terminated(65, &many))]), false);
        let last = found.last().unwrap();
        assert_eq!(last.code, "deployment-job-more");
        assert!(last.help.as_ref().unwrap().contains("kubectl logs p -c a"), "{last:?}");
    }
}
