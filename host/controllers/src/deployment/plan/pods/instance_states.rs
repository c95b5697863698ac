//! Desired states of instances, which users ask for beside the manifest. Each QuarksStatefulSet gets those of its
//! group. An ignored instance must not be lost with a change of the manifest. Pure.

use crate::codes;
use crate::deployment::plan::object;
use boson_api::{InstanceState, PodState, QuarksStatefulSetSpec};
use boson_cluster::client::AnyObject;
use boson_manifest::instances::Spread;
use boson_pipeline::Diagnostic;
use serde::Deserialize;
use serde_json::{Value, json};

/// The states, and how instances are counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct InstanceStates<'a> {
    pub all: &'a [InstanceState],
    pub spread: Spread,
}

// === impl InstanceStates ===

impl InstanceStates<'_> {
    /// Tells each QuarksStatefulSet its states.
    pub fn set_in(self, objects: &mut [Value]) {
        if self.all.is_empty() {
            return;
        }
        for object in objects.iter_mut().filter(|object| object::is_stateful_set(object)) {
            let Some(spec) = spec_of(object) else { continue };
            let group = object::group(object);
            let of_group = self.all.iter().filter(|one| one.target().0 == group);
            let states: Vec<PodState> = of_group.filter_map(|one| self.pod_state(one, &spec)).collect();
            if !states.is_empty() {
                object["spec"]["instances"] = json!(states);
            }
        }
    }

    /// Warnings about states of instances that the deployment does not have, such as those with a misspelt name.
    /// `sets`: all its QuarksStatefulSets.
    pub fn unknown_instances(self, sets: &[Value]) -> Vec<Diagnostic> {
        let sets = || sets.iter().filter(|object| object::is_stateful_set(object));
        let known: Vec<&str> = sets().map(object::group).collect();
        let warning = |state: &InstanceState| {
            let (group, index) = state.target();
            let spec = sets().find(|set| object::group(set) == group).and_then(spec_of);
            let what = match (&spec, index) {
                (None, _) => "there is no such group of services",
                (Some(spec), Some(index)) if locate(spec, index, self.spread).is_none() => {
                    "the group has no such instance"
                }
                _ => return None,
            };
            let message = format!("the state of '{}' in spec.instances has no effect: {what}", state.name);
            let warning = Diagnostic::warning(codes::DEPLOYMENT_UNKNOWN_INSTANCE, message);
            Some(if spec.is_none() {
                warning.suggest(group, known.iter().copied())
            } else {
                warning
            })
        };
        self.all.iter().filter_map(warning).collect()
    }

    /// None: the group has no such instance.
    fn pod_state(&self, state: &InstanceState, spec: &QuarksStatefulSetSpec) -> Option<PodState> {
        let place = match state.target().1 {
            Some(index) => Some(locate(spec, index, self.spread)?),
            None => None,
        };
        let (zone, ordinal) = place.unzip();
        Some(PodState {
            zone: zone.unwrap_or_default().into(),
            ordinal: ordinal.and_then(|ordinal| ordinal.try_into().ok()),
            desired: state.desired.clone(),
        })
    }

    /// The error if ignored instances would be deleted, or their indexes would be those of others.
    pub fn ignored_instance_error(self, wanted: &[Value], live: &[Value]) -> Option<Diagnostic> {
        let placed = |objects: &[Value], group: &str, index: usize| {
            let mut sets = objects.iter().filter(|object| object::is_stateful_set(object));
            let spec = sets.find(|set| object::group(set) == group).and_then(spec_of)?;
            let (zone, ordinal) = locate(&spec, index, self.spread)?;
            Some((zone.to_string(), ordinal))
        };
        let ignored = self.all.iter().filter(|one| one.desired.ignored);
        let lost = ignored.filter(|one| {
            let (group, index) = one.target();
            index.is_some_and(|index| {
                let before = placed(live, group, index);
                before.is_some() && before != placed(wanted, group, index)
            })
        });
        let lost: Vec<String> = lost.map(|one| format!("'{}'", one.name)).collect();
        let first = lost.first()?.trim_matches('\'');
        let help = format!("keep it in the manifest, or run `host unignore {first}`");
        let message = format!(
            "an ignored instance cannot be deleted or get another index: {}",
            lost.join(", ")
        );
        Some(Diagnostic::error(codes::DEPLOYMENT_IGNORED_INSTANCE, message).help(help))
    }
}

/// The specification of a QuarksStatefulSet.
fn spec_of(set: &Value) -> Option<QuarksStatefulSetSpec> {
    QuarksStatefulSetSpec::deserialize(set.spec()?).ok()
}

/// Zone and ordinal of an instance; none if the group does not have it. The zone is empty without zones.
fn locate(spec: &QuarksStatefulSetSpec, index: usize, spread: Spread) -> Option<(&str, usize)> {
    let replicas = spec.replicas_by_zone();
    let (mut zone, mut ordinal) = (index % replicas.len(), index / replicas.len());
    if spread == Spread::PerZone {
        (zone, ordinal) = (0, index);
        while ordinal >= *replicas.get(zone)? {
            ordinal -= replicas.get(zone)?;
            zone += 1;
        }
    }
    let has = replicas.get(zone).is_some_and(|count| ordinal < *count);
    has.then(|| (spec.zones.get(zone).map_or("", String::as_str), ordinal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_manifest::labels;
    use serde_json::from_value;

    fn set(group: &str, zones: &[&str], replicas: &[u32]) -> Value {
        json!({
            "kind": "QuarksStatefulSet",
            "metadata": {"name": format!("d-{group}"), "labels": {labels::INSTANCE_GROUP_NAME: group}},
            "spec": {"template": {"spec": {"replicas": 2}}, "zones": zones, "zoneReplicas": replicas}
        })
    }

    fn states(all: &Value) -> Vec<InstanceState> {
        from_value(all.clone()).unwrap()
    }

    #[test]
    fn each_group_gets_its_states_by_zone_and_ordinal() {
        let time = "2026-11-01T00:00:00Z";
        let all = states(&json!([
            {"name": "web", "replacePodsCreatedBefore": time}, {"name": "web/2", "ignored": true},
            {"name": "db", "stopped": true}, {"name": "gone/0", "ignored": true}, {"name": "other/2", "stopped": true}
        ]));
        let given = |spread| {
            let mut sets = [
                set("web", &["a", "b"], &[2, 1]),
                set("db", &[], &[]),
                set("other", &[], &[]),
            ];
            InstanceStates { all: &all, spread }.set_in(&mut sets);
            sets.map(|set| set["spec"]["instances"].clone())
        };
        let of_web = |zone: &str, ordinal: u32| json!([{"replacePodsCreatedBefore": time}, {"zone": zone, "ordinal": ordinal, "ignored": true}]);
        assert_eq!(
            given(Spread::Total),
            [of_web("a", 1), json!([{"stopped": true}]), Value::Null]
        );
        assert_eq!(given(Spread::PerZone)[0], of_web("b", 0));
    }

    #[test]
    fn a_state_of_an_unknown_instance_is_reported() {
        let all = states(&json!([
            {"name": "web", "stopped": true}, {"name": "web/1", "ignored": true}, {"name": "web/2", "ignored": true},
            {"name": "wbe/0", "ignored": true}
        ]));
        let given = InstanceStates {
            all: &all,
            spread: Spread::Total,
        };
        let warnings = given.unknown_instances(&[set("web", &[], &[])]);
        let messages: Vec<&str> = warnings.iter().map(|one| one.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "the state of 'web/2' in spec.instances has no effect: the group has no such instance",
                "the state of 'wbe/0' in spec.instances has no effect: there is no such group of services"
            ]
        );
        assert!(warnings[1].help.as_ref().unwrap().contains("'web'"), "{warnings:?}");
        assert!(InstanceStates::default().unknown_instances(&[]).is_empty());
    }

    #[test]
    fn an_ignored_instance_is_not_deleted_and_one_that_is_gone_keeps_nothing() {
        let all = states(&json!([{"name": "web/2", "ignored": true}, {"name": "web/0", "stopped": true}]));
        let refusal = |wanted: &[Value], live: &[Value]| {
            let states = InstanceStates {
                all: &all,
                spread: Spread::Total,
            };
            states.ignored_instance_error(wanted, live).map(|error| error.message)
        };
        let (three, two) = ([set("web", &[], &[]), set("db", &[], &[])], [set("web", &[], &[])]);
        let with = |mut sets: [Value; 2], count: u32| {
            sets[0]["spec"]["template"]["spec"]["replicas"] = count.into();
            sets
        };
        let three = with(three, 3);
        let message = "an ignored instance cannot be deleted or get another index: 'web/2'";
        assert_eq!(refusal(&two, &three).as_deref(), Some(message), "scaled down");
        assert_eq!(refusal(&[], &three).as_deref(), Some(message), "the group is deleted");
        assert_eq!(refusal(&three, &three), None);
        assert_eq!(refusal(&two, &two), None, "it was deleted before");
        let (before, after) = ([set("web", &["a"], &[4])], [set("web", &["a", "b"], &[2, 2])]);
        assert_eq!(refusal(&after, &before).as_deref(), Some(message), "it is another one");
    }
}
