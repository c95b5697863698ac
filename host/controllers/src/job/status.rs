//! The status, and the events for its changes. Pure.

use boson_api::conditions::{self, Finding};
use boson_api::job::{QuarksJobStatus, Strategy};
use boson_api::{Condition, QuarksJob};
use boson_cluster::client::Notice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use std::borrow::Cow;

/// Kinds of conditions.
const COMPLETE: &str = "Complete";
const FAILED: &str = "Failed";
/// Reasons of temporary states; the others outlive a run.
const TEMPORARY_REASONS: [&str; 4] = ["Running", "Waiting", "Refused", "Superseded"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing runs, and no run is requested.
    Idle,
    /// A run is requested and cannot start yet: why.
    Waiting(String),
    /// A run is in progress; why it is stuck, if it is.
    Running(Option<String>),
    /// Its run was cancelled for one with the present configuration.
    Superseded,
    /// Its last run succeeded.
    Succeeded,
    /// Its last run failed: reason and message.
    Failed(Cow<'static, str>, String),
    /// It cannot run: what a user has to fix.
    Refused(String),
}

/// The new status and its events; the time of the last reconcile changes only with something else. `next`: what else is
/// new in it.
pub(super) fn status(
    object: &QuarksJob,
    state: &State,
    mut next: QuarksJobStatus,
    now: &Time,
) -> Option<(QuarksJobStatus, Vec<Notice>)> {
    let before = object.status.clone().unwrap_or_default();
    let mut notices = Vec::new();
    match state {
        State::Running(_) | State::Superseded | State::Failed(..) => next.completed = false,
        State::Succeeded => next.completed = true,
        State::Idle | State::Waiting(_) | State::Refused(_) => {}
    }
    let generation = object.metadata.generation;
    for finding in findings(object, &next, state) {
        let reported = before.conditions.iter().any(|condition| {
            condition.kind == finding.kind && condition.reason == finding.reason && condition.message == finding.message
        });
        if !reported {
            notices.extend(notice(state, &finding));
        }
        conditions::set(&mut next.conditions, finding, generation, now);
    }
    for condition in &mut next.conditions {
        condition.observed_generation = generation;
    }
    next.observed_generation = generation;
    if next == before {
        return None;
    }
    next.last_reconcile = Some(now.clone());
    Some((next, notices))
}

/// The event about a change of one of the conditions.
fn notice(state: &State, finding: &Finding) -> Option<Notice> {
    let (told, warning) = match state {
        State::Idle => return None,
        State::Running(wait) => (COMPLETE, wait.is_some()),
        State::Failed(..) | State::Refused(_) => (FAILED, true),
        State::Waiting(_) | State::Superseded | State::Succeeded => (COMPLETE, false),
    };
    (finding.kind == told).then(|| Notice {
        warning,
        reason: finding.reason.clone(),
        note: finding.message.clone(),
    })
}

fn findings(object: &QuarksJob, status: &QuarksJobStatus, state: &State) -> Vec<Finding> {
    match state {
        State::Waiting(what) => both_findings(status.completed, false, "Waiting", what),
        State::Running(wait) => {
            let number = status.runs;
            let message = match wait {
                None => format!("run {number} is in progress"),
                Some(why) => format!("run {number} is in progress: {why}"),
            };
            both_findings(false, false, "Running", &with_rerun_note(object, message))
        }
        State::Superseded => {
            let message = "its configuration changed during the run; it reruns";
            both_findings(false, false, "Superseded", message)
        }
        State::Succeeded => both_findings(true, false, "Succeeded", &format!("run {} succeeded", status.runs)),
        State::Failed(reason, message) => both_findings(false, true, reason, message),
        State::Refused(why) => both_findings(status.completed, true, "Refused", why),
        State::Idle => idle_findings(status),
    }
}

fn with_rerun_note(object: &QuarksJob, message: String) -> String {
    match object.spec.trigger.strategy {
        Strategy::Now | Strategy::Once => format!("{message}; it reruns after that"),
        Strategy::Manual | Strategy::Changed | Strategy::Done => message,
    }
}

/// Conditions about the last run stay; those about a future run do not.
fn idle_findings(status: &QuarksJobStatus) -> Vec<Finding> {
    let passing = |condition: &Condition| TEMPORARY_REASONS.contains(&condition.reason.as_str());
    if !status.conditions.is_empty() && !status.conditions.iter().any(passing) {
        return Vec::new();
    }
    match (status.completed, status.ended_runs) {
        (true, runs) => both_findings(true, false, "Succeeded", &format!("run {runs} succeeded")),
        (false, 0) => both_findings(false, false, "Idle", "no run was requested"),
        (false, runs) => both_findings(false, true, "JobFailed", &format!("run {runs} failed")),
    }
}

fn both_findings(complete: bool, failed: bool, reason: &str, message: &str) -> Vec<Finding> {
    let one = |kind, holds: bool| Finding::new(kind, holds, reason.to_string(), message);
    vec![one(COMPLETE, complete), one(FAILED, failed)]
}
