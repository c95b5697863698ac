//! The conditions and events of a QuarksStatefulSet.

use super::live::states::States;
use super::resize::Resizes;
use super::rollout::Waiver;
use super::versions::Versions;
use super::{Done, INVALID, NAME_CONFLICT, Problem, REFUSED, WAITING};
use crate::pod_problems;
use boson_api::conditions::{self, Finding};
use boson_api::stateful_set::{PAUSED, PODS_NOT_READY, PODS_READY, PROGRESSING, ROLLED_OUT, UPDATING};
use boson_api::{Condition, ConditionStatus, PodProblem, QuarksStatefulSet, QuarksStatefulSetStatus};
use boson_cluster::client::Notice;
use boson_manifest::labels;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::Resource;

/// Most problems in the condition; the status has more.
const MAX_SHOWN_PROBLEMS: usize = 3;
/// Reason of the event about a rule that does not apply to a generation.
const RULE_WAIVED: &str = "RuleWaived";
/// Condition: whether claims have the requested size and class.
const DISKS: &str = "DisksAsAsked";

/// The status, and the events to emit, if it changes.
pub(super) fn report(
    set: &QuarksStatefulSet,
    done: &Result<Done, Problem>,
    now: &Time,
) -> (QuarksStatefulSetStatus, Vec<Notice>) {
    let status = status(set, done, now);
    let has_changed = set.status.as_ref() != Some(&status);
    let notices = has_changed.then(|| notices(set, &status, done));
    (status, notices.unwrap_or_default())
}

/// Whether a user has to resolve a problem with this reason.
pub(crate) fn is_worth_an_event(reason: &str) -> bool {
    reason != pod_problems::NOT_READY
}

/// Whether this reason means that the API server, or this controller, refuses the StatefulSets.
pub(crate) fn is_refusal(reason: &str) -> bool {
    [REFUSED, NAME_CONFLICT, INVALID, WAITING].contains(&reason)
}

fn notices(set: &QuarksStatefulSet, status: &QuarksStatefulSetStatus, done: &Result<Done, Problem>) -> Vec<Notice> {
    let warning = |reason: &str, note: &str| Notice::warning(reason.to_string(), note);
    let before = set.status.as_ref().and_then(|status| status.waived_rule.as_ref());
    let waived = status.waived_rule.as_ref().filter(|rule| before != Some(*rule));
    let waived = waived.map(|rule| {
        let note = format!(
            "a rule of rollouts does not apply, by '{}': '{rule}'",
            labels::WAIVED_RULE
        );
        warning(RULE_WAIVED, &note)
    });
    let others = match done {
        Err(problem) => vec![warning(problem.reason, &problem.message)],
        Ok(done) => {
            let reported = status
                .problem()
                .filter(|(reason, _)| !done.problems.is_empty() && is_worth_an_event(reason));
            let problem = reported.map(|(reason, message)| warning(reason, message));
            let old = set
                .status
                .as_ref()
                .and_then(|status| disks_condition(&status.conditions));
            let new = disks_condition(&status.conditions).filter(|new| new.status == ConditionStatus::False);
            let changed = new.filter(|new| old.is_none_or(|old| old.message != new.message));
            let disks = changed.map(|new| warning(&new.reason, &new.message));
            problem.into_iter().chain(disks).collect()
        }
    };
    others.into_iter().chain(waived).collect()
}

/// Whether claims were as asked when the rollout of this generation began.
pub(super) fn has_disks_as_asked(set: &QuarksStatefulSet) -> bool {
    let status = set.status.as_ref().filter(|status| status.rollout().is_some());
    let disks = status.and_then(|status| disks_condition(&status.conditions));
    disks.is_some_and(|disks| {
        disks.status == ConditionStatus::True && disks.observed_generation == set.metadata.generation
    })
}

fn disks_condition(conditions: &[Condition]) -> Option<&Condition> {
    conditions.iter().find(|condition| condition.kind == DISKS)
}

fn status(set: &QuarksStatefulSet, done: &Result<Done, Problem>, now: &Time) -> QuarksStatefulSetStatus {
    let mut status = set.status.clone().unwrap_or_default();
    let generation = set.meta().generation;
    status.observed_generation = generation;
    status.ready = false;
    status.problems = Vec::new();
    // Refused, it waits for no rule.
    status.held_by = None;
    if let Ok(done) = done {
        status.ready = done.ready;
        if done.written {
            status.last_reconcile = Some(now.clone());
        }
        status.problems.clone_from(&done.problems);
        status.held_by = done.rollout.held_by.map(boson_api::word);
        let Versions {
            newest, digest, ready, ..
        } = &done.versions;
        status.version = Some((*newest).into());
        status.template_digest = Some(digest.clone());
        status.ready_version = ready.map(i64::from);
        status.replicas = Some(done.counts.desired);
        status.updated_replicas = Some(done.counts.updated);
        status.ready_replicas = Some(done.counts.ready);
    }
    let waiver = Waiver::of(set);
    let waived = waiver.as_ref().ok().copied().flatten();
    status.waived_rule = waived.map(|waiver| waiver.text.to_string());
    let was_rolled_out = set.status.as_ref().is_some_and(|status| status.rollout().is_none());
    // None of these holds instances back.
    let deferred = done.as_ref().ok().and_then(|done| Resizes::text(&done.deferred));
    let asides = [waiver.err(), deferred, States::for_status(set).text()];
    let asides: Vec<String> = asides.into_iter().flatten().collect();
    for mut finding in findings(done, was_rolled_out) {
        if finding.kind == PROGRESSING {
            for aside in &asides {
                finding.message = format!("{}; {aside}", finding.message);
            }
        }
        conditions::set(&mut status.conditions, finding, generation, now);
    }
    if matches!(done, Ok(Done { disks: None, .. })) {
        status.conditions.retain(|condition| condition.kind != DISKS);
    }
    status
}

/// `was_rolled_out`: whether the last change was, when the status was last written.
fn findings(done: &Result<Done, Problem>, was_rolled_out: bool) -> Vec<Finding> {
    let done = match done {
        Err(Problem { reason, message }) => {
            return vec![
                Finding::new("Ready", false, *reason, message),
                Finding::new(PROGRESSING, false, *reason, message),
            ];
        }
        Ok(done) => done,
    };
    let ready = if done.ready {
        Finding::new("Ready", true, PODS_READY, "all pods of the newest version are ready")
    } else {
        let (reason, cause) = match done.problems.first() {
            Some(first) => (valid_reason(&first.reason), describe(&done.problems)),
            None => (PODS_NOT_READY, "not all pods of the newest version are ready".into()),
        };
        // The instances that wait are a consequence, so they stand behind the cause.
        let waiting = done.rollout.text().filter(|_| done.rollout.holds());
        let why: Vec<String> = [cause].into_iter().chain(waiting).collect();
        let reason = done.rollout.failure().unwrap_or(reason).to_string();
        Finding::new("Ready", false, reason, why.join("; "))
    };
    let mut all = vec![ready, progressing(done, was_rolled_out)];
    all.extend(done.disks.as_ref().map(|mismatches| {
        if mismatches.is_empty() {
            Finding::new(DISKS, true, "AsAsked", "claims have the requested size and class")
        } else {
            let message = format!("claims that differ from the request: {}", mismatches.join("; "));
            Finding::new(DISKS, false, "Kept", message)
        }
    }));
    all
}

/// How far the newest change is rolled out. A pod that fails afterwards begins no other rollout.
fn progressing(done: &Done, was_rolled_out: bool) -> Finding {
    let rollout = &done.rollout;
    let is_done = done.ready || was_rolled_out && done.versions.ready == Some(done.versions.wanted);
    let (status, reason, message) = match (rollout.text(), rollout.failure()) {
        (Some(waits), Some(failure)) => (ConditionStatus::False, failure, waits),
        (Some(waits), None) if rollout.is_paused() => (ConditionStatus::Unknown, PAUSED, waits),
        (Some(waits), None) => (ConditionStatus::True, UPDATING, waits),
        (None, _) if is_done => (
            ConditionStatus::True,
            ROLLED_OUT,
            "all instances run the newest version".into(),
        ),
        (None, _) => {
            let text = "not all pods of the newest version are ready";
            (ConditionStatus::True, UPDATING, text.into())
        }
    };
    Finding::new(PROGRESSING, status, reason, message)
}

/// `pod 'p-0', container 'c': CrashLoopBackOff: it ended with code 1`.
fn describe(problems: &[PodProblem]) -> String {
    let text = |problem: &PodProblem| {
        let container = problem.container.as_ref().map(|name| format!(", container '{name}'"));
        let PodProblem {
            pod, reason, message, ..
        } = problem;
        let text = format!("pod '{pod}'{}: {reason}: {message}", container.unwrap_or_default());
        text.trim_end_matches(": ").to_string()
    };
    let mut texts: Vec<String> = problems.iter().take(MAX_SHOWN_PROBLEMS).map(text).collect();
    let more = problems.len().saturating_sub(MAX_SHOWN_PROBLEMS);
    texts.extend((more > 0).then(|| format!("and {more} more")));
    texts.join("; ")
}

/// Replaces a reason that would make the status invalid. Reasons of Kubernetes are valid.
fn valid_reason(reason: &str) -> &str {
    let is_word = reason.starts_with(|first: char| first.is_ascii_alphabetic())
        && reason.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && reason.len() <= 128;
    if is_word { reason } else { PODS_NOT_READY }
}

#[cfg(test)]
mod tests {
    use super::super::Counts;
    use super::super::rollout::{Rollout, Rule};
    use super::*;
    use k8s_openapi::jiff::Timestamp;

    fn done(disks: Option<&[&str]>) -> Result<Done, Problem> {
        Ok(Done {
            written: false,
            ready: true,
            versions: Versions::default(),
            again: false,
            disks: disks.map(|all| all.iter().map(ToString::to_string).collect()),
            problems: Vec::new(),
            missing: false,
            rollout: Rollout::default(),
            deferred: Vec::new(),
            counts: Counts::default(),
        })
    }

    #[test]
    fn problems_of_pods_are_reported_with_pod_and_container_and_as_an_event_and_do_not_outlive_them() {
        let spec = serde_json::json!({"template": {}});
        let mut set = QuarksStatefulSet::new("d-g", serde_json::from_value(spec).unwrap());
        let now = Time(Timestamp::UNIX_EPOCH);
        let with = |reason: &str, count: usize| -> Result<Done, Problem> {
            let problem = |nth: usize| PodProblem {
                pod: format!("d-g-z0-v1-{nth}"),
                container: Some("g".into()),
                reason: reason.into(),
                message: "it ended with code 1".into(),
            };
            Ok(Done {
                ready: false,
                problems: (0..count).map(problem).collect(),
                ..done(None).ok().unwrap()
            })
        };
        let crashing = with("CrashLoopBackOff", 5);
        let new = status(&set, &crashing, &now);
        let (reason, message) = new.problem().unwrap();
        assert_eq!(reason, "CrashLoopBackOff");
        let first = "pod 'd-g-z0-v1-0', container 'g': CrashLoopBackOff: it ended with code 1; pod 'd-g-z0-v1-1'";
        assert!(
            message.starts_with(first) && message.ends_with("; and 2 more"),
            "{message}"
        );
        assert_eq!(new.problems.len(), 5);
        let waiting = crashing.map(|done| Done {
            rollout: Rollout {
                failed: vec!["d-g-z0-v1-0".into()],
                canary_failed: true,
                left: 2,
                ..Rollout::default()
            },
            ..done
        });
        let (reason, message) = status(&set, &waiting, &now)
            .problem()
            .map(|(a, b)| (a.to_string(), b.to_string()))
            .unwrap();
        assert_eq!(reason, "CanaryFailed");
        assert!(
            message.starts_with(first) && message.contains("; the canary of 'd-g-z0-v1-0' was not ready within"),
            "{message}"
        );
        let crashing = with("CrashLoopBackOff", 5);
        assert_eq!(notices(&set, &new, &crashing)[0].reason, "CrashLoopBackOff");
        set.status = Some(new);
        let slow = with(pod_problems::NOT_READY, 1);
        let new = status(&set, &slow, &now);
        assert!(notices(&set, &new, &slow).is_empty(), "it needs more time");
        assert_eq!(
            status(&set, &with("no word", 1), &now)
                .problem()
                .map(|(reason, _)| reason),
            None
        );
        let new = status(&set, &done(None), &now);
        assert!(new.ready && new.problems.is_empty() && new.problem().is_none());
    }

    #[test]
    fn a_rollout_is_complete_when_all_pods_are_ready_and_stays_so_if_one_fails_later() {
        let group = |ready: bool, newest: u32, left: usize| {
            Ok(Done {
                ready,
                versions: Versions {
                    wanted: newest,
                    newest,
                    ready: ready.then_some(newest).or(Some(1)),
                    ..Versions::default()
                },
                rollout: Rollout {
                    left,
                    ..Rollout::default()
                },
                counts: Counts {
                    desired: 3,
                    updated: 3 - i32::try_from(left).unwrap(),
                    ready: 2,
                },
                ..done(None).ok().unwrap()
            })
        };
        let mut set = QuarksStatefulSet::new(
            "d-g",
            serde_json::from_value(serde_json::json!({"template": {}})).unwrap(),
        );
        let now = Time(Timestamp::UNIX_EPOCH);
        let mut reported = |done: Result<Done, Problem>| {
            let new = status(&set, &done, &now);
            set.status = Some(new.clone());
            let condition = new
                .conditions
                .iter()
                .find(|one| one.kind == PROGRESSING)
                .unwrap()
                .clone();
            (condition.status, condition.reason, new.updated_replicas)
        };
        use ConditionStatus::{False, True, Unknown};
        assert_eq!(
            reported(group(false, 1, 0)),
            (True, UPDATING.into(), Some(3)),
            "it starts"
        );
        assert_eq!(reported(group(true, 1, 0)), (True, ROLLED_OUT.into(), Some(3)));
        assert_eq!(
            reported(group(false, 1, 0)),
            (True, ROLLED_OUT.into(), Some(3)),
            "a pod fails"
        );
        let mut reverted = group(false, 1, 0).ok().unwrap();
        reverted.versions.newest = 2;
        assert_eq!(
            reported(Ok(reverted)),
            (True, ROLLED_OUT.into(), Some(3)),
            "the change before was reverted"
        );
        assert_eq!(
            reported(group(false, 2, 0)),
            (True, UPDATING.into(), Some(3)),
            "without limits"
        );
        assert_eq!(reported(group(false, 2, 1)), (True, UPDATING.into(), Some(2)));
        let with = |change: &dyn Fn(&mut Rollout)| {
            group(false, 2, 2).map(|mut done| {
                change(&mut done.rollout);
                done
            })
        };
        let paused = with(&|rollout| rollout.held_by = Some(Rule::Paused));
        assert_eq!(reported(paused), (Unknown, PAUSED.into(), Some(1)));
        let failed = with(&|rollout| rollout.failed = vec!["d-g-v2-0".into()]);
        assert_eq!(reported(failed), (False, "UpdateFailed".into(), Some(1)));
        let refused = Err(Problem::new(REFUSED, "no"));
        assert_eq!(reported(refused), (False, REFUSED.into(), Some(1)));
        assert_eq!(reported(group(true, 3, 0)), (True, ROLLED_OUT.into(), Some(3)));
    }

    #[test]
    fn a_pod_whose_node_has_no_room_for_its_resources_holds_nothing_back_and_is_named() {
        let spec = serde_json::json!({"template": {}});
        let set = QuarksStatefulSet::new("d-g", serde_json::from_value(spec).unwrap());
        let deferred = done(None).map(|done| Done {
            deferred: vec!["d-g-v1-0".into(), "d-g-v1-1".into()],
            ..done
        });
        let new = status(&set, &deferred, &Time(Timestamp::UNIX_EPOCH));
        assert!(new.ready && new.problem().is_none() && new.rollout().is_none());
        let message =
            "all instances run the newest version; the resize of 'd-g-v1-0' and 1 more waits for room on the node";
        assert!(
            new.conditions.iter().any(|one| one.message == message),
            "{:?}",
            new.conditions
        );
    }

    #[test]
    fn mismatches_of_disks_are_reported_once_and_do_not_prevent_ready() {
        let spec = serde_json::json!({"template": {}});
        let mut set = QuarksStatefulSet::new("d-g", serde_json::from_value(spec).unwrap());
        let now = Time(Timestamp::UNIX_EPOCH);
        let small = done(Some(&["'a' stays"]));
        let new = status(&set, &small, &now);
        assert!(new.ready && new.problem().is_none());
        assert_eq!(
            notices(&set, &new, &small)[0].note,
            "claims that differ from the request: 'a' stays"
        );
        set.status = Some(new.clone());
        assert!(notices(&set, &new, &small).is_empty());
        let fixed = status(&set, &done(Some(&[])), &now);
        assert_eq!(
            disks_condition(&fixed.conditions).unwrap().status,
            ConditionStatus::True
        );
        assert!(disks_condition(&status(&set, &done(None), &now).conditions).is_none());
        let refused = status(&set, &Err(Problem::new("Refused", "no")), &now);
        assert_eq!(refused.problem(), Some(("Refused", "no")));
    }
}
