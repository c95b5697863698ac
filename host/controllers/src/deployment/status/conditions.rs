//! The conditions of a deployment. Pure.
//!
//! They never contradict each other: Ready implies Applied, and Applied implies Converted.

use super::errands::Errands;
use super::outcome::{CONVERSION_STEPS, Observed, Outcome};
use super::shadows;
use crate::stateful_set;
use ConditionStatus::{False, True, Unknown};
use boson_api::conditions::Finding;
use boson_api::deployment::DeploymentState;
use boson_api::stateful_set::{PAUSED, PROGRESSING, ROLLED_OUT, UPDATING};
use boson_api::{BoshDeploymentStatus, ConditionStatus};
use boson_cluster::cache::GroupProblem;
use boson_plugins::PluginProblem;

/// Condition: the result of all errands that were started, automatic or manual. It exists only if there are any.
pub const ERRANDS: &str = "ErrandsSucceeded";
/// Reason: the StatefulSets of instance groups are refused.
pub const REFUSED: &str = "GroupsRefused";
/// Reason: errands have failed.
const ERRANDS_FAILED: &str = "ErrandsFailed";

/// All conditions. `status`: the new status, complete except for its conditions.
pub fn findings(observed: &Observed, status: &BoshDeploymentStatus) -> Vec<Finding> {
    let message = status.message.as_deref().unwrap_or_default();
    let is_converted = observed.steps == CONVERSION_STEPS;
    let converted = match &observed.outcome {
        Outcome::Partly(problem) | Outcome::Invalid(problem) => finding("Converted", False, &problem.reason, message),
        _ if is_converted => finding("Converted", True, "Converted", "the manifest was converted"),
        Outcome::Refused(problem) => finding("Converted", False, &problem.reason, message),
        _ => finding("Converted", Unknown, "Waiting", message),
    };
    let applied = match &observed.outcome {
        Outcome::Applied => finding("Applied", True, "Applied", "all objects match the manifest"),
        Outcome::Partly(_) => finding(
            "Applied",
            Unknown,
            "PartlyConverted",
            "the objects of all other instance groups match the manifest",
        ),
        Outcome::Refused(problem) => finding("Applied", False, &problem.reason, message),
        Outcome::Invalid(_) => finding(
            "Applied",
            Unknown,
            "NotConverted",
            "the objects, if any, are those of an earlier manifest",
        ),
        Outcome::Waiting(_) if is_converted => finding("Applied", Unknown, "Waiting", message),
        Outcome::Waiting(_) => finding("Applied", Unknown, "Waiting", "the manifest is not converted yet"),
    };
    let all = [
        converted,
        applied,
        ready_finding(observed, status),
        progressing_finding(observed, status),
        plugins_finding(&observed.plugin_problems, &observed.loading),
    ];
    let errands = observed.errands.as_ref().and_then(errands_finding);
    all.into_iter()
        .chain(errands)
        .chain(shadows::finding(observed.shadows.as_deref()))
        .collect()
}

fn finding(kind: &'static str, status: ConditionStatus, reason: &str, message: &str) -> Finding {
    Finding::new(kind, status, reason.to_string(), message)
}

fn ready_finding(observed: &Observed, status: &BoshDeploymentStatus) -> Finding {
    let message = status.message.as_deref().unwrap_or_default();
    let no = |reason: &str| finding("Ready", False, reason, message);
    match &observed.outcome {
        Outcome::Waiting(_) => return no("Waiting"),
        Outcome::Partly(problem) | Outcome::Invalid(problem) | Outcome::Refused(problem) => return no(&problem.reason),
        Outcome::Applied => {}
    }
    let has_failed = |errands: &Errands| !errands.auto.failed.is_empty();
    let mut group_problems = observed.group_problems.iter();
    if status.state == Some(DeploymentState::Deployed) {
        finding("Ready", True, "Deployed", "all instance groups are ready")
    } else if group_problems.any(|(_, problem)| stateful_set::is_refusal(&problem.reason)) {
        no(REFUSED)
    } else if observed.errands.as_ref().is_some_and(has_failed) {
        no(ERRANDS_FAILED)
    } else if status.total_instance_groups == status.deployed_instance_groups {
        no("ErrandsNotCompleted")
    } else {
        no("GroupsNotReady")
    }
}

/// How far the newest change is rolled out.
fn progressing_finding(observed: &Observed, status: &BoshDeploymentStatus) -> Finding {
    let message = status.message.as_deref().unwrap_or_default();
    match &observed.outcome {
        Outcome::Waiting(_) => return finding(PROGRESSING, True, "Waiting", message),
        Outcome::Partly(problem) | Outcome::Invalid(problem) | Outcome::Refused(problem) => {
            return finding(PROGRESSING, False, &problem.reason, message);
        }
        Outcome::Applied => {}
    }
    let named = |(group, rollout): &(String, GroupProblem)| format!("{group}: {}", rollout.message);
    let all: Vec<String> = observed.rollouts.iter().map(named).collect();
    let has = |reason: &str| observed.rollouts.iter().any(|(_, rollout)| rollout.reason == reason);
    let is_failure = |reason: &str| ![UPDATING, PAUSED].contains(&reason);
    let failed = observed
        .rollouts
        .iter()
        .find(|(_, rollout)| is_failure(&rollout.reason));
    match failed {
        Some((_, rollout)) => finding(PROGRESSING, False, &rollout.reason, &all.join("; ")),
        None if has(UPDATING) => finding(PROGRESSING, True, UPDATING, &all.join("; ")),
        None if has(PAUSED) => finding(PROGRESSING, Unknown, PAUSED, &all.join("; ")),
        None => finding(PROGRESSING, True, ROLLED_OUT, "all instances run the newest version"),
    }
}

fn errands_finding(errands: &Errands) -> Option<Finding> {
    let all = errands.all();
    if all.started == 0 {
        return None;
    }
    let (running, failed) = (all.running(), all.failed.len());
    Some(if failed > 0 {
        let mut parts = vec![format!("{failed} of {} errands failed", all.started)];
        parts.extend(all.failed);
        finding(ERRANDS, False, ERRANDS_FAILED, &parts.join("; "))
    } else if running > 0 {
        let message = format!("waiting for {running} of {} errands", all.started);
        finding(ERRANDS, Unknown, "Running", &message)
    } else {
        finding(
            ERRANDS,
            True,
            "Succeeded",
            "all errands that were started have succeeded",
        )
    })
}

/// Whether all plugins selected for the deployment can be used.
fn plugins_finding(plugin_problems: &[PluginProblem], loading: &[String]) -> Finding {
    let kind = "PluginsHealthy";
    match plugin_problems {
        [] if !loading.is_empty() => {
            let message = format!("being loaded: {}", loading.join(", "));
            finding(kind, Unknown, "PluginLoading", &message)
        }
        [] => finding(kind, True, "Healthy", "all plugins are in use"),
        [first, ..] => {
            let messages: Vec<&str> = plugin_problems.iter().map(|problem| problem.message.as_str()).collect();
            finding(kind, False, &first.reason, &messages.join("\n"))
        }
    }
}
