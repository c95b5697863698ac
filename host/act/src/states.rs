//! Desired states of instances in `spec.instances` of a BOSHDeployment, which the operator keeps to.

use crate::selection::Selection;
use anyhow::bail;
use boson_api::{BoshDeployment, DesiredState, InstanceState};
use boson_cluster::client::{AnyObject, ErrorKind, FieldManager};
use boson_look::access::Access;
use boson_look::instances::Instance;
use boson_manifest::labels;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::{RoundMode, SignedDuration, Timestamp, TimestampRound, Unit};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Who owns the states that these commands write, so that applying the BOSHDeployment without them keeps them.
const MANAGER: FieldManager = FieldManager("host-instances");
/// The status of a BOSHDeployment can change between a read and a write of it.
const MAX_ATTEMPTS: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Stop,
    Start,
    /// Replace pods, and start what is stopped.
    Restart,
    /// Replace pods. What is stopped stays so.
    Replace,
    Ignore,
    Unignore,
}

/// An instance group or instance to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// `GROUP` or `GROUP/INDEX`.
    pub name: String,
    /// Pods that were created before are replaced; none: there are no pods.
    pub time: Option<Time>,
}

// === impl Target ===

impl Target {
    pub fn of(name: String) -> Self {
        Self { name, time: None }
    }

    /// What is to be replaced. The newest pod gives the time, not the clock of this machine.
    pub fn replacing(selection: &Selection, instances: &[Instance], before: Option<Timestamp>) -> Vec<Self> {
        let mut newest: BTreeMap<String, Option<Timestamp>> = BTreeMap::new();
        for instance in instances.iter().filter(|one| one.index.is_some()) {
            let name = match selection {
                Selection::Instance { .. } => instance.to_string(),
                _ => instance.group.clone(),
            };
            let of_target = newest.entry(name).or_default();
            *of_target = (*of_target).max(creation_time(instance));
        }
        // Kubernetes has no fractions of seconds.
        let up = TimestampRound::new().smallest(Unit::Second).mode(RoundMode::Ceil);
        let before = before.map(|time| time.round(up).unwrap_or(time));
        let after = |created: Timestamp| created.checked_add(SignedDuration::from_secs(1)).unwrap_or(created);
        let target = |(name, newest): (String, Option<Timestamp>)| Self {
            name,
            time: before.or(newest.map(after)).map(Time),
        };
        newest.into_iter().map(target).collect()
    }
}

/// When the pod of an instance was created.
pub fn creation_time(instance: &Instance) -> Option<Timestamp> {
    let pod = instance.pod.as_ref()?;
    Some(pod.metadata.creation_timestamp.as_ref()?.0)
}

/// Changes the states of a deployment; returns it with these.
///
/// # Errors
/// The BOSHDeployment cannot be read or written.
pub async fn write(
    access: &Access,
    deployment: &str,
    targets: &[Target],
    change: Change,
) -> anyhow::Result<BoshDeployment> {
    let written = merge(access, deployment, MANAGER, |found| {
        let wanted = apply_change(&found.spec.instances, targets, change);
        (wanted != found.spec.instances).then(|| json!({"spec": {"instances": wanted}}))
    });
    let written = written.await?;
    if apply_change(&written.spec.instances, targets, change) == written.spec.instances {
        return Ok(written);
    }
    bail!("the cluster has older definitions of Boson's resources: apply those of this version")
}

/// Merges members into a BOSHDeployment, and notes the user; returns it with these. `members`: none if it has them.
///
/// # Errors
/// The BOSHDeployment cannot be read or written.
pub async fn merge(
    access: &Access,
    deployment: &str,
    manager: FieldManager,
    members: impl Fn(&BoshDeployment) -> Option<Value>,
) -> anyhow::Result<BoshDeployment> {
    let user = access.user().await;
    for _ in 0..MAX_ATTEMPTS {
        let found = access.deployment(deployment).await?.deployment;
        let Some(mut members) = members(&found) else {
            return Ok(found);
        };
        members.set_annotation(labels::CHANGED_BY, user.as_deref());
        match access.cluster.merge(manager, &found, members).await {
            Ok(written) => return Ok(written),
            Err(error) if error.kind == ErrorKind::Conflict => {}
            Err(error) => return Err(access.explain(error)),
        }
    }
    bail!("the BOSHDeployment changes all the time: try again")
}

/// The states after a change, sorted.
fn apply_change(states: &[InstanceState], targets: &[Target], change: Change) -> Vec<InstanceState> {
    let mut states = states.to_vec();
    for target in targets {
        let at = states.iter().position(|one| one.name == target.name);
        let mut state = at.map_or_else(InstanceState::default, |at| states.swap_remove(at));
        state.name.clone_from(&target.name);
        match change {
            Change::Stop => state.desired.stopped = true,
            Change::Start => {
                state.desired.stopped = false;
                instances_of(&mut states, target).for_each(|one| one.desired.stopped = false);
            }
            Change::Ignore => state.desired.ignored = true,
            Change::Unignore => state.desired.ignored = false,
            Change::Restart | Change::Replace => {
                let starts = change == Change::Restart;
                state.desired.stopped &= !starts;
                let present = state.desired.replace_pods_created_before.take();
                state.desired.replace_pods_created_before = present.max(target.time.clone());
                for one in instances_of(&mut states, target) {
                    one.desired.stopped &= !starts;
                    // What was requested before is part of this.
                    let is_part = one.desired.replace_pods_created_before <= state.desired.replace_pods_created_before;
                    one.desired.replace_pods_created_before.take_if(|_| is_part);
                }
            }
        }
        states.push(state);
    }
    states.retain(|one| one.desired != DesiredState::default());
    states.sort_by(|one, other| one.name.cmp(&other.name));
    states
}

/// The states of the instances of a group.
fn instances_of<'s>(states: &'s mut [InstanceState], group: &Target) -> impl Iterator<Item = &'s mut InstanceState> {
    let begin = format!("{}/", group.name);
    states.iter_mut().filter(move |one| one.name.starts_with(&begin))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, from_value};

    fn after(states: &Value, targets: &[(&str, Option<&str>)], change: Change) -> Value {
        let states: Vec<InstanceState> = from_value(states.clone()).unwrap();
        let target = |(name, time): &(&str, Option<&str>)| Target {
            name: (*name).into(),
            time: time.map(|time| Time(time.parse().unwrap())),
        };
        json!(apply_change(
            &states,
            &targets.iter().map(target).collect::<Vec<_>>(),
            change
        ))
    }

    const EARLY: &str = "2026-11-28T10:00:00Z";
    const LATE: &str = "2026-11-28T11:00:00Z";

    #[test]
    fn stopped_and_ignored_states_last_until_they_are_ended() {
        let stopped = after(&json!([]), &[("web", None), ("db", None)], Change::Stop);
        assert_eq!(
            stopped,
            json!([{"name": "db", "stopped": true}, {"name": "web", "stopped": true}])
        );
        let both = after(&stopped, &[("web/1", None)], Change::Ignore);
        assert_eq!(both[2], json!({"name": "web/1", "ignored": true}));
        let started = after(&both, &[("db", None), ("web", None)], Change::Start);
        assert_eq!(started, json!([{"name": "web/1", "ignored": true}]));
        assert_eq!(after(&started, &[("web/1", None)], Change::Unignore), json!([]));
        let one = after(&json!([]), &[("web/0", None)], Change::Stop);
        assert_eq!(one, json!([{"name": "web/0", "stopped": true}]));
        assert_eq!(
            after(&one, &[("web", None)], Change::Start),
            json!([]),
            "with its group"
        );
    }

    #[test]
    fn a_request_for_a_group_includes_earlier_ones_for_its_instances_and_starts_it() {
        let one = after(&json!([]), &[("web/0", Some(EARLY))], Change::Restart);
        let before = |name: &str, time: &str| json!({"name": name, "replacePodsCreatedBefore": time});
        assert_eq!(one, json!([before("web/0", EARLY)]));
        assert_eq!(
            after(&one, &[("web/0", Some(LATE))], Change::Restart),
            json!([before("web/0", LATE)])
        );
        assert_eq!(
            after(&one, &[("web", Some(LATE))], Change::Restart),
            json!([before("web", LATE)])
        );
        let later = json!([before("web/0", LATE)]);
        let both = after(&later, &[("web", Some(EARLY))], Change::Restart);
        assert_eq!(both, json!([before("web", EARLY), before("web/0", LATE)]));
        let stopped = json!([{"name": "web", "stopped": true}]);
        assert_eq!(after(&stopped, &[("web", None)], Change::Restart), json!([]));
    }

    #[test]
    fn a_deploy_replaces_pods_without_starting_what_is_stopped() {
        let stopped = json!([{"name": "web", "stopped": true}]);
        let replaced = after(&stopped, &[("web", Some(LATE))], Change::Replace);
        assert_eq!(
            replaced,
            json!([{"name": "web", "stopped": true, "replacePodsCreatedBefore": LATE}])
        );
    }

    #[test]
    fn what_is_replaced_is_older_than_the_newest_pod_of_its_group() {
        let instance = |group: &str, index: Option<usize>, created: Option<&str>| Instance {
            group: group.into(),
            index,
            az: String::new(),
            pod: created.map(|time| from_value(json!({"metadata": {"creationTimestamp": time}})).unwrap()),
        };
        let (early, late) = ("2026-11-28T10:00:00Z", "2026-11-28T11:00:00Z");
        let all = [
            instance("gone", None, Some(late)),
            instance("web", Some(0), Some(late)),
            instance("web", Some(1), Some(early)),
            instance("zero", Some(0), None),
        ];
        let found = |selection: &str, instances: &[Instance], before: Option<&str>| -> Vec<String> {
            let selection = selection.parse().unwrap_or_default();
            let before = before.map(|time| time.parse().unwrap());
            let text = |one: Target| {
                let time = one.time.map(|time| time.0.to_string());
                format!("{} {}", one.name, time.unwrap_or_default())
            };
            Target::replacing(&selection, instances, before)
                .into_iter()
                .map(text)
                .collect()
        };
        assert_eq!(found("", &all, None), ["web 2026-11-28T11:00:01Z", "zero "]);
        assert_eq!(found("web/1", &all[2..3], None), ["web/1 2026-11-28T10:00:01Z"]);
        assert_eq!(found("web", &all[1..3], Some(early)), ["web 2026-11-28T10:00:00Z"]);
        let fraction = Some("2026-11-28T10:00:00.5Z");
        assert_eq!(found("web", &all[1..3], fraction), ["web 2026-11-28T10:00:01Z"]);
    }
}
