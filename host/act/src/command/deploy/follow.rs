//! Follows a deploy: what its rollout does, one line for each change, until it is ready or has failed.

use crate::display::{Display, Line};
use anyhow::Context;
use boson_api::stateful_set::{PROGRESSING, ROLLED_OUT};
use boson_api::{BoshDeployment, Condition, ConditionStatus, QuarksStatefulSet};
use boson_cluster::client::{Error, ErrorKind};
use boson_commands::output;
use boson_look::access::{Access, forbidden};
use boson_manifest::labels;
use boson_manifest::names::Names;
use kube::ResourceExt;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// Between two reads.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Reasons of the condition Ready that no time resolves.
const LASTING: [&str; 2] = ["GroupsRefused", "ErrandsFailed"];

/// How a deploy ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Ready,
    /// It cannot become ready without another change: why.
    Failed(String),
    /// The timeout is over: the last state.
    TimedOut(String),
    /// The user does not want to follow it any longer.
    Interrupted,
}

/// What a deploy does at a time.
#[derive(Debug, PartialEq, Eq)]
struct State {
    /// None while it goes on.
    end: Option<End>,
    /// What the deployment waits for.
    summary: String,
    /// By instance group.
    groups: BTreeMap<String, Line>,
}

/// Follows the deployment until it ends. `generation`: the one that the deploy has made.
///
/// # Errors
/// The deployment cannot be read, or was deleted.
pub async fn follow(
    access: &Access,
    names: &Names,
    name: &str,
    generation: i64,
    timeout: Option<Duration>,
) -> anyhow::Result<End> {
    let mut display = Display::start();
    let mut may_list = true;
    // Once for all: a signal between two waits must not be lost.
    let mut interrupts = signal(SignalKind::interrupt())?;
    loop {
        let read = tokio::select! {
            read = read(access, names, name, generation, &mut may_list) => read,
            _ = interrupts.recv() => return Ok(End::Interrupted),
        };
        let state = match read {
            Ok(state) => Some(state),
            Err(Read::Unavailable(why)) => {
                display.note("", &why);
                None
            }
            Err(Read::Failed(error)) => return Err(error),
        };
        let mut last = String::new();
        if let Some(state) = state {
            display.show(&state.groups);
            if state.end.is_none() && state.groups.is_empty() {
                display.note("", &state.summary);
            }
            if let Some(end) = state.end {
                return Ok(end);
            }
            last = state.summary;
        }
        if timeout.is_some_and(|timeout| display.elapsed() >= timeout) {
            return Ok(End::TimedOut(last));
        }
        tokio::select! {
            () = tokio::time::sleep(POLL_INTERVAL) => {}
            _ = interrupts.recv() => return Ok(End::Interrupted),
        }
    }
}

/// Why a state could not be read.
enum Read {
    /// The API server does not answer, or only now.
    Unavailable(String),
    Failed(anyhow::Error),
}

async fn read(access: &Access, names: &Names, name: &str, generation: i64, may_list: &mut bool) -> Result<State, Read> {
    let wrong = |error: Error| {
        if error.is_lasting() {
            Read::Failed(access.explained(error))
        } else {
            Read::Unavailable(error.to_string())
        }
    };
    let found = access.cluster.get::<BoshDeployment>(&access.namespace, name).await;
    let found = found.map_err(wrong)?;
    let deployment = found.context("the BOSHDeployment was deleted").map_err(Read::Failed)?;
    let selector = format!("{}={}", labels::DEPLOYMENT_NAME, names.deployment());
    let mut groups = Vec::new();
    if *may_list {
        match access.cluster.list(&access.namespace, &selector).await {
            Ok(found) => groups = found,
            Err(error) if error.kind == ErrorKind::Forbidden => {
                *may_list = false;
                let why = forbidden(&error, &access.namespace);
                output::complain(&format!("instance groups are not shown: {why}\n"));
            }
            Err(error) => return Err(wrong(error)),
        }
    }
    Ok(state(&deployment, &groups, generation))
}

/// `generation`: conditions about an earlier one do not count. A later one is of another deploy, which this one is part
/// of.
fn state(deployment: &BoshDeployment, groups: &[QuarksStatefulSet], generation: i64) -> State {
    let waiting = |summary: &str| State {
        end: None,
        summary: summary.into(),
        groups: BTreeMap::new(),
    };
    let Some(status) = &deployment.status else {
        return waiting("waiting for the operator");
    };
    let observed = status.observed_generation.unwrap_or_default();
    if observed < generation || Some(observed) != deployment.metadata.generation {
        return waiting("waiting for the operator to read the change");
    }
    let is_current = |one: &&Condition| one.observed_generation == Some(observed);
    let of = |kind: &str| status.conditions.iter().filter(is_current).find(|one| one.kind == kind);
    let by_name: BTreeMap<String, Line> = groups.iter().map(|one| (name(one), group(one))).collect();
    let text = |one: &Condition| format!("{}: {}", one.reason, one.message);
    let is_false = |one: &&Condition| one.status == ConditionStatus::False;
    let refused = ["Converted", "Applied"].into_iter().filter_map(of).find(is_false);
    let ready = of("Ready");
    let lasting = ready
        .filter(is_false)
        .filter(|one| LASTING.contains(&one.reason.as_str()));
    // The condition may be about the rollout before, until the operator has read the status of the groups.
    let is_stale = groups.iter().any(|one| {
        let observed = one.status.as_ref().and_then(|status| status.observed_generation);
        observed != one.metadata.generation
    });
    let stopped = of(PROGRESSING).filter(is_false).filter(|_| !is_stale);
    let end = match (refused.or(lasting).or(stopped), ready) {
        (Some(failed), _) => Some(End::Failed(text(failed))),
        (None, Some(ready)) if ready.status == ConditionStatus::True => Some(End::Ready),
        _ => None,
    };
    State {
        end,
        summary: ready.map(text).unwrap_or_default(),
        groups: by_name,
    }
}

/// The instance group, as the manifest names it.
pub fn name(group: &QuarksStatefulSet) -> String {
    let label = group.labels().get(labels::INSTANCE_GROUP_NAME);
    label.cloned().unwrap_or_else(|| group.name_any())
}

/// How far the rollout of an instance group is.
pub fn group(group: &QuarksStatefulSet) -> Line {
    let status = group.status.clone().unwrap_or_default();
    let is_observed = status.observed_generation == group.metadata.generation;
    let number = |count: Option<i32>| count.unwrap_or_default();
    let (desired, updated, ready) = (
        number(status.replicas),
        number(status.updated_replicas),
        number(status.ready_replicas),
    );
    let rollout = status.conditions.iter().find(|one| one.kind == PROGRESSING);
    let is_rolled_out = rollout.is_none_or(|one| one.reason == ROLLED_OUT);
    let mut text = format!("{updated} of {desired} updated, {ready} ready");
    if let Some(rollout) = rollout.filter(|_| !is_rolled_out) {
        let rule = status.held_by.as_ref().map(|rule| format!("{rule}, "));
        text.push_str(&format!(": {}{}", rule.unwrap_or_default(), rollout.message));
    }
    for problem in &status.problems {
        text.push_str(&format!("; {}: {}", problem.pod, problem.reason));
    }
    Line {
        text,
        is_done: is_observed && is_rolled_out && ready >= desired,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn condition(kind: &str, status: &str, reason: &str) -> Value {
        json!({"type": kind, "status": status, "reason": reason, "message": "words", "observedGeneration": 2,
            "lastTransitionTime": "2026-01-01T00:00:00Z"})
    }

    fn deployment(observed: i64, conditions: &Value) -> BoshDeployment {
        serde_json::from_value(json!({
            "apiVersion": labels::API_VERSION, "kind": "BOSHDeployment", "metadata": {"name": "d", "generation": 2},
            "spec": {"manifest": {"type": "configmap", "name": "m"}},
            "status": {"observedGeneration": observed, "conditions": conditions},
        }))
        .unwrap()
    }

    fn web(status: &Value) -> QuarksStatefulSet {
        serde_json::from_value(json!({
            "apiVersion": labels::API_VERSION, "kind": "QuarksStatefulSet",
            "metadata": {"name": "d-web", "generation": 3, "labels": {labels::INSTANCE_GROUP_NAME: "web"}},
            "spec": {"template": {}}, "status": status,
        }))
        .unwrap()
    }

    fn updating(reason: &str, observed: i64) -> QuarksStatefulSet {
        web(&json!({
            "observedGeneration": observed, "replicas": 3, "updatedReplicas": 1, "readyReplicas": 2, "heldBy": "Canaries",
            "conditions": [condition(PROGRESSING, "True", reason)],
            "problems": [{"pod": "d-web-v2-0", "reason": "OOMKilled", "message": "code 137"}],
        }))
    }

    #[test]
    fn only_conditions_about_the_change_end_a_deploy() {
        let end = |observed, conditions: &Value| state(&deployment(observed, conditions), &[], 2).end;
        let ready = json!([condition("Ready", "True", "Deployed")]);
        assert_eq!(end(1, &ready), None);
        assert_eq!(end(2, &ready), Some(End::Ready));
        let unready = json!([condition("Ready", "False", "GroupsNotReady")]);
        assert_eq!(end(2, &unready), None);
        for failed in [
            json!([
                condition("Converted", "False", "OpsFailed"),
                condition("Ready", "False", "OpsFailed")
            ]),
            json!([condition("Ready", "False", "ErrandsFailed")]),
            json!([condition(PROGRESSING, "False", "CanaryFailed")]),
        ] {
            let reason = failed[0]["reason"].as_str().unwrap();
            assert_eq!(end(2, &failed), Some(End::Failed(format!("{reason}: words"))));
        }
    }

    #[test]
    fn a_rollout_that_stopped_before_the_change_is_no_failure() {
        let stopped = deployment(2, &json!([condition(PROGRESSING, "False", "CanaryFailed")]));
        assert_eq!(state(&stopped, &[updating("CanaryFailed", 2)], 2).end, None);
        let failed = Some(End::Failed("CanaryFailed: words".into()));
        assert_eq!(state(&stopped, &[updating("CanaryFailed", 3)], 2).end, failed);
    }

    #[test]
    fn a_group_has_a_line() {
        let found = group(&updating("Updating", 3));
        let wanted = "1 of 3 updated, 2 ready: Canaries, words; d-web-v2-0: OOMKilled";
        assert_eq!((found.text.as_str(), found.is_done), (wanted, false));
        let done = web(&json!({
            "observedGeneration": 3, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3,
            "conditions": [condition(PROGRESSING, "True", ROLLED_OUT)],
        }));
        let found = group(&done);
        assert_eq!((found.text.as_str(), found.is_done), ("3 of 3 updated, 3 ready", true));
    }
}
