//! Follows a change of a deployment: what its rollout does, one line for each change, until it is done or has failed.

use crate::display::{Display, Line};
use anyhow::Context;
use boson_api::stateful_set::PROGRESSING;
use boson_api::{BoshDeployment, Condition, ConditionStatus, QuarksStatefulSet, instance_group};
use boson_cluster::client::{Error, ErrorKind};
use boson_commands::exit::ExitError;
use boson_commands::output;
use boson_look::access::{Access, forbidden_message};
use boson_look::instances::{self, Instance};
use boson_look::state::State as InstanceState;
use boson_manifest::labels;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// Between two reads.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Reasons of the condition Ready that no time resolves.
const FINAL_REASONS: [&str; 2] = ["GroupsRefused", "ErrandsFailed"];

pub struct Following<'f> {
    pub access: &'f Access,
    /// Name of the BOSHDeployment.
    pub name: &'f str,
    /// The one that the change has made.
    pub generation: i64,
    pub scope: Scope,
    pub timeout: Option<Duration>,
}

/// What the end of a change depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    Deployment,
    /// The rollouts of these instance groups.
    Groups(BTreeSet<String>),
    /// One instance: others may fail.
    Instance {
        group: String,
        index: usize,
        wanted: Wanted,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    Stopped,
    /// With a pod that was not created before this time, if there is one.
    Running(Option<Time>),
}

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

/// What the cluster has of a deployment.
struct Snapshot {
    deployment: BoshDeployment,
    groups: Vec<QuarksStatefulSet>,
    /// Only those of an instance that is followed.
    pods: Vec<Pod>,
}

/// What a change does at a time.
#[derive(Debug, PartialEq, Eq)]
struct State {
    /// None while it goes on.
    end: Option<End>,
    /// What the deployment waits for.
    summary: String,
    /// By instance group.
    lines: BTreeMap<String, Line>,
}

/// An instance group that is a service.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    line: Line,
    /// Why its rollout has stopped.
    failure: Option<String>,
}

// === impl Following ===

impl Following<'_> {
    /// Follows it until it ends.
    ///
    /// # Errors
    /// The deployment cannot be read, or was deleted.
    pub async fn run(&self) -> anyhow::Result<End> {
        let names = self.access.names(self.name)?;
        let selector = format!("{}={}", labels::DEPLOYMENT_NAME, names.deployment());
        let mut display = Display::start();
        let mut may_list = true;
        // Once for all: a signal between two waits must not be lost.
        let mut interrupts = signal(SignalKind::interrupt())?;
        loop {
            let read = tokio::select! {
                read = self.read(&selector, &mut may_list) => read,
                _ = interrupts.recv() => return Ok(End::Interrupted),
            };
            let mut last = String::new();
            match read {
                Ok(seen) => {
                    let seen = seen.context("the BOSHDeployment was deleted")?;
                    let state = seen.state(self.generation, &self.scope);
                    display.show(&state.lines);
                    if let Some(end) = state.end {
                        return Ok(end);
                    }
                    if state.lines.is_empty() {
                        display.note("", &state.summary);
                    }
                    last = state.summary;
                }
                Err(error) if error.is_lasting() => return Err(self.access.explain(error)),
                // The API server may answer again.
                Err(error) => display.note("", &error.to_string()),
            }
            if self.timeout.is_some_and(|timeout| display.elapsed() >= timeout) {
                return Ok(End::TimedOut(last));
            }
            tokio::select! {
                () = tokio::time::sleep(POLL_INTERVAL) => {}
                _ = interrupts.recv() => return Ok(End::Interrupted),
            }
        }
    }

    /// None: it was deleted.
    async fn read(&self, selector: &str, may_list: &mut bool) -> Result<Option<Snapshot>, Error> {
        let (cluster, namespace) = (&self.access.cluster, &self.access.namespace);
        let Some(deployment) = cluster.get::<BoshDeployment>(namespace, self.name).await? else {
            return Ok(None);
        };
        let mut groups = Vec::new();
        if *may_list {
            match cluster.list_in_pages(namespace, selector).await {
                Ok(found) => groups = found,
                Err(error) if error.kind == ErrorKind::Forbidden && self.scope == Scope::Deployment => {
                    *may_list = false;
                    let why = forbidden_message(&error, namespace);
                    output::eprint(&format!("instance groups are not shown: {why}\n"));
                }
                Err(error) => return Err(error),
            }
        }
        let mut pods = Vec::new();
        if let Scope::Instance { group, index, .. } = &self.scope {
            let found = cluster.list_in_pages(namespace, &instances::pods(selector)).await?;
            let is_it = |one: &Instance| one.group == *group && one.index == Some(*index);
            let all = Instance::among(&deployment, &groups, found);
            pods = all.into_iter().filter(is_it).filter_map(|one| one.pod).collect();
        }
        Ok(Some(Snapshot {
            deployment,
            groups,
            pods,
        }))
    }
}

// === impl End ===

impl End {
    /// Reports an end that is no success.
    ///
    /// # Errors
    /// It is none.
    pub fn report(self, access: &Access, name: &str) -> Result<(), ExitError> {
        let namespace = &access.namespace;
        let status = format!("`host status -d {name} -n {namespace}`");
        // How to follow it again.
        let goes_on =
            format!("the rollout continues: see {status}, or `host wait {name} -n {namespace}` until it is ready");
        match self {
            Self::Ready => Ok(()),
            Self::Failed(why) => {
                output::eprint(&format!("error: deployment '{name}' has failed: {why}\nsee {status}\n"));
                Err(ExitError::Input)
            }
            Self::TimedOut(what) => {
                output::eprint(&format!("error: the timeout has expired: {what}; {goes_on}\n"));
                Err(ExitError::TimedOut)
            }
            Self::Interrupted => {
                output::eprint(&format!("\nno longer followed; {goes_on}\n"));
                Err(ExitError::Interrupted)
            }
        }
    }
}

// === impl Snapshot ===

impl Snapshot {
    /// `generation`: conditions about an earlier one do not count. A later one is of another change, which this one is
    /// part of.
    fn state(&self, generation: i64, scope: &Scope) -> State {
        let waiting = |summary: &str| State {
            end: None,
            summary: summary.into(),
            lines: BTreeMap::new(),
        };
        let Some(status) = &self.deployment.status else {
            return waiting("waiting for the operator");
        };
        let observed = status.observed_generation.unwrap_or_default();
        if observed < generation || Some(observed) != self.deployment.metadata.generation {
            return waiting("waiting for the operator to read the change");
        }
        let deployment = &self.deployment;
        let named = |one: &QuarksStatefulSet| (instance_group(one), Group::of(one));
        let groups: BTreeMap<String, Group> = self.groups.iter().map(named).collect();
        let end = match (deployment.first_false(&["Converted", "Applied"]), scope) {
            (Some(refused), _) => Some(End::Failed(condition_text(refused))),
            (None, Scope::Deployment) => self.end_of_deployment(),
            (None, _) if !deployment.is("Applied") => None,
            (None, Scope::Groups(wanted)) => end_of_groups(wanted, &groups),
            (None, Scope::Instance { group, wanted, .. }) => self.end_of_instance(groups.get(group), wanted),
        };
        State {
            end,
            summary: deployment.condition("Ready").map(condition_text).unwrap_or_default(),
            lines: groups.into_iter().map(|(name, group)| (name, group.line)).collect(),
        }
    }

    fn end_of_deployment(&self) -> Option<End> {
        let deployment = &self.deployment;
        let is_lasting = |one: &&Condition| FINAL_REASONS.contains(&one.reason.as_str());
        let lasting = deployment.first_false(&["Ready"]).filter(is_lasting);
        // The condition may be about the rollout before, until the operator has read the status of the groups.
        let is_stale = self.groups.iter().any(|one| !is_observed(one));
        let stopped = deployment.first_false(&[PROGRESSING]).filter(|_| !is_stale);
        let failed = lasting.or(stopped).map(|one| End::Failed(condition_text(one)));
        failed.or_else(|| deployment.is("Ready").then_some(End::Ready))
    }

    /// `group`: none if it was deleted meanwhile.
    fn end_of_instance(&self, group: Option<&Group>, wanted: &Wanted) -> Option<End> {
        let Some(group) = group else {
            return Some(End::Ready);
        };
        let state = |pod: &Pod| InstanceState::of_pod(pod);
        let is_new = |pod: &&Pod| match wanted {
            Wanted::Stopped => true,
            Wanted::Running(time) => pod.metadata.creation_timestamp >= *time && state(pod) != InstanceState::Stopped,
        };
        let mut new = self.pods.iter().filter(is_new);
        let is_done = match wanted {
            Wanted::Stopped => new.clone().all(|pod| state(pod) == InstanceState::Stopped),
            Wanted::Running(_) => new.clone().any(|pod| state(pod) == InstanceState::Running),
        };
        if is_done {
            return Some(End::Ready);
        }
        // Before it has its pod, the failure is that of another instance.
        let failure = group.failure.clone().filter(|_| new.next().is_some());
        failure.filter(|_| *wanted != Wanted::Stopped).map(End::Failed)
    }
}

/// A group that was deleted meanwhile is done.
fn end_of_groups(wanted: &BTreeSet<String>, groups: &BTreeMap<String, Group>) -> Option<End> {
    let mut wanted = groups.iter().filter(|(name, _)| wanted.contains(*name));
    let failure = |(name, group): (&String, &Group)| Some(format!("{name}: {}", group.failure.as_ref()?));
    let failed = wanted.clone().find_map(failure).map(End::Failed);
    failed.or_else(|| wanted.all(|(_, group)| group.line.is_done).then_some(End::Ready))
}

fn condition_text(condition: &Condition) -> String {
    format!("{}: {}", condition.reason, condition.message)
}

fn is_observed(group: &QuarksStatefulSet) -> bool {
    let observed = group.status.as_ref().and_then(|status| status.observed_generation);
    observed == group.metadata.generation
}

// === impl Group ===

impl Group {
    fn of(group: &QuarksStatefulSet) -> Self {
        let status = group.status.as_ref();
        let rollout = status.and_then(|status| status.condition(PROGRESSING));
        let stopped = rollout.filter(|one| one.status == ConditionStatus::False);
        Self {
            line: rollout_line(group),
            failure: stopped.filter(|_| is_observed(group)).map(condition_text),
        }
    }
}

/// How far the rollout of an instance group is.
pub fn rollout_line(group: &QuarksStatefulSet) -> Line {
    let status = group.status.clone().unwrap_or_default();
    let number = |count: Option<i32>| count.unwrap_or_default();
    let (desired, updated, ready) = (
        number(status.replicas),
        number(status.updated_replicas),
        number(status.ready_replicas),
    );
    let rollout = status.rollout();
    let mut text = format!("{updated} of {desired} updated, {ready} ready");
    if let Some((_, message)) = rollout {
        let rule = status.held_by.as_ref().map(|rule| format!("{rule}, "));
        text.push_str(&format!(": {}{message}", rule.unwrap_or_default()));
    }
    for problem in &status.problems {
        text.push_str(&format!("; {}: {}", problem.pod, problem.reason));
    }
    Line {
        text,
        is_done: is_observed(group) && rollout.is_none() && status.ready,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_api::stateful_set::ROLLED_OUT;
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

    fn seen(observed: i64, conditions: &Value, groups: &[QuarksStatefulSet]) -> Snapshot {
        Snapshot {
            deployment: deployment(observed, conditions),
            groups: groups.to_vec(),
            pods: Vec::new(),
        }
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
        let end = |observed, conditions: &Value| seen(observed, conditions, &[]).state(2, &Scope::Deployment).end;
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
        let end = |observed: i64| {
            let stopped = json!([condition(PROGRESSING, "False", "CanaryFailed")]);
            let groups = [updating("CanaryFailed", observed)];
            seen(2, &stopped, &groups).state(2, &Scope::Deployment).end
        };
        assert_eq!(end(2), None);
        assert_eq!(end(3), Some(End::Failed("CanaryFailed: words".into())));
    }

    #[test]
    fn a_group_has_a_line() {
        let found = rollout_line(&updating("Updating", 3));
        let wanted = "1 of 3 updated, 2 ready: Canaries, words; d-web-v2-0: OOMKilled";
        assert_eq!((found.text.as_str(), found.is_done), (wanted, false));
        let done = web(&json!({
            "observedGeneration": 3, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3, "ready": true,
            "conditions": [condition(PROGRESSING, "True", ROLLED_OUT)],
        }));
        let found = rollout_line(&done);
        assert_eq!((found.text.as_str(), found.is_done), ("3 of 3 updated, 3 ready", true));
    }

    #[test]
    fn a_change_of_groups_is_done_when_these_are_rolled_out() {
        let scope = Scope::Groups(["web".to_string()].into());
        let end = |observed: i64, groups: &[QuarksStatefulSet]| {
            let conditions = json!([
                condition("Applied", "True", "Applied"),
                condition("Ready", "False", "GroupsNotReady")
            ]);
            seen(observed, &conditions, groups).state(2, &scope).end
        };
        let group = |observed: i64, is_ready: bool, status: &str, reason: &str| {
            let conditions = json!([condition(PROGRESSING, status, reason)]);
            web(&json!({"ready": is_ready, "observedGeneration": observed, "conditions": conditions}))
        };
        let done = group(3, true, "True", ROLLED_OUT);
        assert_eq!(end(1, std::slice::from_ref(&done)), None, "not observed");
        assert_eq!(end(2, &[]), Some(End::Ready), "the group was deleted meanwhile");
        assert_eq!(end(2, &[group(2, true, "True", ROLLED_OUT)]), None);
        assert_eq!(end(2, &[group(3, false, "True", "Updating")]), None);
        assert_eq!(end(2, &[group(3, false, "True", ROLLED_OUT)]), None);
        let failed = Some(End::Failed("web: UpdateFailed: words".into()));
        assert_eq!(end(2, &[group(3, false, "False", "UpdateFailed")]), failed);
        assert_eq!(end(2, &[done]), Some(End::Ready));
    }

    #[test]
    fn one_instance_does_not_wait_for_others() {
        let pod = |created: i64, is_ready: bool| -> Pod {
            let time = k8s_openapi::jiff::Timestamp::from_second(created).unwrap().to_string();
            let ready = if is_ready { "True" } else { "False" };
            let status = json!({"conditions": [{"type": "Ready", "status": ready}]});
            serde_json::from_value(json!({"metadata": {"creationTimestamp": time}, "status": status})).unwrap()
        };
        let end = |wanted: &Wanted, pods: &[Pod]| {
            let scope = Scope::Instance {
                group: "web".into(),
                index: 0,
                wanted: wanted.clone(),
            };
            let failed = web(&json!({"observedGeneration": 3,
                "conditions": [condition(PROGRESSING, "False", "UpdateFailed")]}));
            let mut seen = seen(2, &json!([condition("Applied", "True", "Applied")]), &[failed]);
            seen.pods = pods.to_vec();
            seen.state(2, &scope).end
        };
        let time = k8s_openapi::jiff::Timestamp::from_second(10).unwrap();
        let restarted = Wanted::Running(Some(Time(time)));
        assert_eq!(end(&restarted, &[pod(9, true)]), None);
        assert_eq!(end(&restarted, &[]), None);
        assert_eq!(end(&restarted, &[pod(10, true)]), Some(End::Ready));
        let failed = Some(End::Failed("UpdateFailed: words".into()));
        assert_eq!(end(&restarted, &[pod(10, false)]), failed, "this one has failed");
        assert_eq!(end(&Wanted::Stopped, &[pod(9, true)]), None);
        assert_eq!(end(&Wanted::Stopped, &[]), Some(End::Ready));
    }
}
