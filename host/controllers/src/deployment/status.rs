//! What a deployment's status says. Pure.

use super::errands::Errands;
use super::stop::Wrong;
use crate::api::deployment::{DeploymentState, PluginUse};
use crate::api::{BoshDeploymentStatus, ConditionStatus};
use crate::conditions::{self, Finding};
use crate::plugins::Fault;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// Reason of what is told about instance groups whose StatefulSets cannot be.
pub(super) const TROUBLE: &str = "GroupsRefused";
/// Reason of what is told about errands that have failed.
const FAILED: &str = "ErrandsFailed";

/// Steps of a conversion.
pub(super) const STEPS: i32 = 3;

/// What a reconcile found.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub generation: Option<i64>,
    /// How it ended.
    pub outcome: Outcome,
    /// Whether it changed something.
    pub wrote: bool,
    /// Steps of the conversion that are completed, of [`STEPS`].
    pub steps: i32,
    /// Errands that were started, and those of them that are completed.
    pub errands: Errands,
    /// Instance groups that run for ever; none: not known yet.
    pub groups: Option<i32>,
    /// Those that are ready.
    pub ready: i32,
    /// What keeps others from ever being so, each with its name.
    pub troubles: Vec<String>,
    /// Variables that the manifest no longer has; none: not known.
    pub removed: Option<Vec<String>>,
    /// Digest of the warnings that were told.
    pub warned: Option<String>,
    pub plugins: Vec<PluginUse>,
    /// Plugins that would serve it, and are refused.
    pub faults: Vec<Fault>,
}

/// How a reconcile ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// All objects are as they should be.
    Applied,
    /// Something comes by itself.
    Waiting(String),
    /// Something of the user's is wrong.
    Wrong(Wrong),
    /// The cluster does not take what the conversion gave.
    Refused(Wrong),
}

/// The status of a deployment that was seen for the first time.
pub(super) fn created(now: &Time) -> BoshDeploymentStatus {
    BoshDeploymentStatus {
        state: Some(DeploymentState::Created),
        state_timestamp: Some(now.clone()),
        ..BoshDeploymentStatus::default()
    }
}

/// The status after a reconcile. Equal to the old one where nothing has changed.
pub(super) fn after(old: &BoshDeploymentStatus, seen: &Seen, now: &Time) -> BoshDeploymentStatus {
    let mut status = old.clone();
    let total = seen.groups.or(old.total_instance_groups);
    let (jobs, completed) = (STEPS + seen.errands.started, seen.steps + seen.errands.completed);
    status.total_job_count = Some(jobs);
    status.completed_job_count = Some(completed);
    status.total_instance_groups = total;
    status.deployed_instance_groups = Some(seen.ready);
    status.state = Some(state(completed == jobs, total == Some(seen.ready)));
    let message = conditions::cut(&message(seen, total));
    status.message = Some(message).filter(|message| !message.is_empty());
    status.observed_generation = seen.generation;
    status.warned.clone_from(&seen.warned);
    if seen.outcome == Outcome::Applied {
        status.plugins.clone_from(&seen.plugins);
    }
    if let Some(removed) = &seen.removed {
        status.removed_variables.clone_from(removed);
    }
    if seen.wrote {
        status.last_reconcile = Some(now.clone());
    }
    let counts = |status: &BoshDeploymentStatus| {
        (
            status.state,
            status.total_job_count,
            status.completed_job_count,
            status.total_instance_groups,
            status.deployed_instance_groups,
        )
    };
    if counts(old) != counts(&status) {
        status.state_timestamp = Some(now.clone());
    }
    for finding in findings(seen, &status).into_iter().chain([healthy(&seen.faults)]) {
        conditions::set(&mut status.conditions, finding, seen.generation, now);
    }
    status
}

fn total_ready(status: &BoshDeploymentStatus) -> bool {
    status.total_instance_groups == status.deployed_instance_groups
}

fn state(converted: bool, ready: bool) -> DeploymentState {
    match (converted, ready) {
        (true, true) => DeploymentState::Deployed,
        (false, false) => DeploymentState::ResolvingManifest,
        _ => DeploymentState::Converting,
    }
}

fn message(seen: &Seen, total: Option<i32>) -> String {
    match &seen.outcome {
        Outcome::Wrong(wrong) | Outcome::Refused(wrong) => wrong.message.clone(),
        Outcome::Waiting(what) => format!("waiting for {what}"),
        Outcome::Applied => unfinished(seen, total),
    }
}

/// What is waited for, or has failed, where all objects are as they should be.
fn unfinished(seen: &Seen, total: Option<i32>) -> String {
    let Errands {
        started,
        completed,
        failed,
    } = &seen.errands;
    let mut parts = Vec::new();
    match total {
        Some(total) if total > seen.ready => {
            parts.push(format!("waiting for {} of {total} instance groups", total - seen.ready));
            parts.extend(seen.troubles.iter().cloned());
        }
        _ => {
            let waits = started - completed - i32::try_from(failed.len()).unwrap_or(i32::MAX);
            parts.extend((waits > 0).then(|| format!("waiting for {waits} of {started} errands")));
        }
    }
    if !failed.is_empty() {
        parts.push(format!("{} of {started} errands failed", failed.len()));
        parts.extend(failed.iter().cloned());
    }
    parts.join("; ")
}

fn findings(seen: &Seen, status: &BoshDeploymentStatus) -> Vec<Finding> {
    use ConditionStatus::{False, True, Unknown};
    let finding = |kind, status, reason: &str, message: &str| Finding {
        kind,
        status,
        reason: reason.to_string().into(),
        message: message.into(),
    };
    let message = status.message.as_deref().unwrap_or_default();
    match &seen.outcome {
        Outcome::Applied => {
            let ready = match status.state == Some(DeploymentState::Deployed) {
                true => finding("Ready", True, "Deployed", "all instance groups are ready"),
                false if !seen.troubles.is_empty() => finding("Ready", False, TROUBLE, message),
                false if !seen.errands.failed.is_empty() => finding("Ready", False, FAILED, message),
                false if total_ready(status) => finding("Ready", False, "ErrandsNotCompleted", message),
                false => finding("Ready", False, "GroupsNotReady", message),
            };
            vec![
                finding("Converted", True, "Converted", "the manifest was converted"),
                finding("Applied", True, "Applied", "all objects are as the manifest says"),
                ready,
            ]
        }
        Outcome::Waiting(_) => vec![
            finding("Converted", Unknown, "Waiting", message),
            finding("Applied", Unknown, "Waiting", "the manifest is not converted yet"),
            finding("Ready", False, "Waiting", message),
        ],
        Outcome::Wrong(wrong) => vec![
            finding("Converted", False, &wrong.reason, message),
            finding(
                "Applied",
                Unknown,
                "NotConverted",
                "the objects are those of an earlier manifest, if any",
            ),
            finding("Ready", False, &wrong.reason, message),
        ],
        Outcome::Refused(wrong) => vec![
            finding("Applied", False, &wrong.reason, message),
            finding("Ready", False, &wrong.reason, message),
        ],
    }
}

/// Whether all plugins that would serve the deployment can be used.
fn healthy(faults: &[Fault]) -> Finding {
    let (status, reason, message) = match faults {
        [] => (
            ConditionStatus::True,
            "Healthy",
            "all plugins are used as they are".to_string(),
        ),
        [first, ..] => {
            let messages: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
            (ConditionStatus::False, first.reason.as_str(), messages.join("\n"))
        }
    };
    Finding {
        kind: "PluginsHealthy",
        status,
        reason: reason.to_string().into(),
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::QuarksJob;
    use k8s_openapi::jiff::Timestamp;

    fn at(second: i64) -> Time {
        Time(Timestamp::from_second(second).unwrap())
    }

    fn seen(outcome: Outcome, steps: i32, ready: i32) -> Seen {
        Seen {
            generation: Some(1),
            outcome,
            wrote: false,
            steps,
            errands: Errands::default(),
            groups: Some(2),
            ready,
            troubles: Vec::new(),
            removed: None,
            warned: None,
            plugins: Vec::new(),
            faults: Vec::new(),
        }
    }

    #[test]
    fn every_state_has_its_exact_text() {
        let text = |steps, ready| {
            let status = after(&created(&at(1)), &seen(Outcome::Applied, steps, ready), &at(2));
            serde_json::to_value(status.state).unwrap()
        };
        assert_eq!(serde_json::to_value(created(&at(1)).state).unwrap(), "Created");
        assert_eq!(text(1, 0), "Resolving Manifest");
        assert_eq!(text(3, 1), "Converting to Kubernetes Resources");
        assert_eq!(text(2, 2), "Converting to Kubernetes Resources");
        assert_eq!(text(3, 2), "Deployed");
    }

    #[test]
    fn errands_count_as_jobs() {
        let mut seen = seen(Outcome::Applied, 3, 2);
        seen.errands = Errands {
            started: 3,
            completed: 2,
            failed: Vec::new(),
        };
        let status = after(&created(&at(1)), &seen, &at(2));
        assert_eq!((status.total_job_count, status.completed_job_count), (Some(6), Some(5)));
        assert_eq!(status.state, Some(DeploymentState::Converting));
        assert_eq!(status.message.as_deref(), Some("waiting for 1 of 3 errands"));
    }

    #[test]
    fn errands_that_failed_are_told_with_why() {
        let job = |name: &str, failed: &str| -> QuarksJob {
            serde_json::from_value(serde_json::json!({
                "apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "QuarksJob", "metadata": {"name": name},
                "spec": {"trigger": {"strategy": "done"}, "template": {}},
                "status": {"runs": 1, "conditions": [{"type": "Failed", "status": failed, "reason": "JobFailed",
                    "message": "'smoke' ended with 1", "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
            }))
            .unwrap()
        };
        let mut seen = seen(Outcome::Applied, 3, 2);
        seen.errands = Errands::of([job("d-smoke", "True"), job("d-load", "False")].iter());
        let told = |seen: &Seen| {
            let status = after(&created(&at(1)), seen, &at(2));
            let ready = status.conditions.iter().find(|one| one.kind == "Ready").unwrap();
            assert_eq!(Some(&ready.message), status.message.as_ref());
            (ready.reason.clone(), ready.message.clone())
        };
        let all = "waiting for 1 of 2 errands; 1 of 2 errands failed; d-smoke: 'smoke' ended with 1";
        assert_eq!(told(&seen), ("ErrandsFailed".into(), all.into()));
        seen.ready = 1;
        let all = "waiting for 1 of 2 instance groups; 1 of 2 errands failed; d-smoke: 'smoke' ended with 1";
        assert_eq!(told(&seen), ("ErrandsFailed".into(), all.into()));
        // It has ended well since, and runs again.
        seen.errands = Errands::of([job("d-smoke", "False")].iter());
        assert_eq!(told(&seen).0, "GroupsNotReady");
    }

    #[test]
    fn nothing_changes_when_nothing_has_changed() {
        let first = after(&created(&at(1)), &seen(Outcome::Applied, 3, 2), &at(2));
        assert_eq!(after(&first, &seen(Outcome::Applied, 3, 2), &at(9)), first);
    }

    #[test]
    fn a_deployment_goes_back_from_deployed() {
        let deployed = after(&created(&at(1)), &seen(Outcome::Applied, 3, 2), &at(2));
        let wrong = Wrong {
            reason: "OpsMissingKey".into(),
            message: "no such key".into(),
        };
        let status = after(&deployed, &seen(Outcome::Wrong(wrong), 0, 2), &at(3));
        assert_ne!(status.state, Some(DeploymentState::Deployed));
        assert_eq!(status.message.as_deref(), Some("no such key"));
        let ready = status.conditions.iter().find(|one| one.kind == "Ready").unwrap();
        assert_eq!(
            (ready.status, ready.reason.as_str()),
            (ConditionStatus::False, "OpsMissingKey")
        );
        assert_eq!(status.state_timestamp, Some(at(3)));
    }

    #[test]
    fn a_broken_change_leaves_no_claim_that_the_objects_are_as_the_manifest_says() {
        let deployed = after(&created(&at(1)), &seen(Outcome::Applied, 3, 2), &at(2));
        let wrong = || Wrong {
            reason: "X".into(),
            message: "é".repeat(5000),
        };
        let condition = |status: &BoshDeploymentStatus, kind: &str| {
            let found = status.conditions.iter().find(|one| one.kind == kind).unwrap();
            (found.status, found.message.chars().count())
        };
        let status = after(&deployed, &seen(Outcome::Wrong(wrong()), 0, 2), &at(3));
        assert_eq!(condition(&status, "Applied").0, ConditionStatus::Unknown);
        assert_eq!(condition(&status, "Converted"), (ConditionStatus::False, 2000));
        assert_eq!(status.message.unwrap().chars().count(), 2000);
        let status = after(&deployed, &seen(Outcome::Refused(wrong()), 3, 2), &at(3));
        assert_eq!(condition(&status, "Applied").0, ConditionStatus::False);
        assert_eq!(condition(&status, "Converted").0, ConditionStatus::True);
        let mut stuck = seen(Outcome::Applied, 3, 1);
        stuck.troubles = vec!["d-g: no".into()];
        let status = after(&deployed, &stuck, &at(3));
        assert_eq!(
            status.message.as_deref(),
            Some("waiting for 1 of 2 instance groups; d-g: no")
        );
    }

    #[test]
    fn a_refused_plugin_is_told_and_changes_nothing_else() {
        let fine = seen(Outcome::Applied, 3, 2);
        let fault = Fault {
            reason: "PluginRefused".into(),
            message: "imports a function".into(),
        };
        let status = after(
            &created(&at(1)),
            &Seen {
                faults: vec![fault],
                ..fine.clone()
            },
            &at(2),
        );
        let told = |status: &BoshDeploymentStatus| {
            let one = status
                .conditions
                .iter()
                .find(|one| one.kind == "PluginsHealthy")
                .unwrap();
            (one.status, one.reason.clone())
        };
        assert_eq!(told(&status), (ConditionStatus::False, "PluginRefused".to_string()));
        assert_eq!(status.state, Some(DeploymentState::Deployed));
        assert_eq!(told(&after(&status, &fine, &at(3))).0, ConditionStatus::True);
    }

    #[test]
    fn the_message_says_what_is_waited_for() {
        let message = |outcome, steps, ready| after(&created(&at(1)), &seen(outcome, steps, ready), &at(2)).message;
        assert_eq!(
            message(Outcome::Applied, 3, 1).as_deref(),
            Some("waiting for 1 of 2 instance groups")
        );
        assert_eq!(
            message(Outcome::Waiting("the values of a".into()), 0, 0).as_deref(),
            Some("waiting for the values of a")
        );
        assert_eq!(message(Outcome::Applied, 3, 2), None);
    }
}
