//! Versions that take over from each other, in a model of the StatefulSet controller.

use super::tests::{owner, set, updated};
use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const MAX_IN_FLIGHT: usize = 2;
const BROKEN: &str = "i:broken";

/// What is in the cluster.
#[derive(Default)]
struct Model {
    status: Value,
    sets: Vec<Value>,
    /// By StatefulSet and ordinal: whether it is ready.
    pods: BTreeMap<(String, usize), bool>,
}

fn group(image: &str, replicas: u32) -> QuarksStatefulSet {
    let mut set = updated(image, replicas, false);
    set.spec.inject_replicas_env = false;
    set
}

fn image(set: &Value) -> &str {
    let image = set.pointer("/spec/template/spec/containers/0/image");
    image.and_then(Value::as_str).unwrap()
}

impl Model {
    /// With a group that is ready.
    fn ready(image: &str, replicas: u32) -> Self {
        let mut model = Self::default();
        model.settle(&group(image, replicas));
        model
    }

    fn plan(&self, set: &QuarksStatefulSet) -> Plan {
        let mut set = set.clone();
        set.status = serde_json::from_value(self.status.clone()).unwrap();
        let pod = |((set, ordinal), is_ready): (&(String, usize), &bool)| {
            let ready = if *is_ready { "True" } else { "False" };
            let pod = json!({
                "metadata": {"name": format!("{set}-{ordinal}"), "creationTimestamp": Timestamp::UNIX_EPOCH.to_string()},
                "spec": {"containers": []}, "status": {"conditions": [{"type": "Ready", "status": ready}]}
            });
            serde_json::from_value(pod).unwrap()
        };
        let seen = Seen {
            live: Live::of(self.sets.clone()).unwrap(),
            pods: Some(self.pods.iter().map(pod).collect()),
            ..Seen::default()
        };
        plan(&set, &seen, &owner(), Timestamp::UNIX_EPOCH)
            .ok()
            .unwrap()
            .unwrap()
    }

    /// One reconcile, and what the StatefulSet controller and the kubelets make of it.
    fn step(&mut self, set: &QuarksStatefulSet) -> Plan {
        let plan = self.plan(set);
        let is_deleted = |one: &Value| plan.delete.iter().any(|gone| gone.name() == one.name());
        self.sets.retain(|one| !is_deleted(one));
        for one in &plan.resize {
            let found = self
                .sets
                .iter_mut()
                .find(|set| set.name() == one.set.metadata.name.as_deref());
            let (spec, members) = (&mut found.unwrap()["spec"], one.members());
            spec["replicas"] = members["spec"]["replicas"].clone();
            spec["ordinals"] = members["spec"]["ordinals"].clone();
        }
        for object in &plan.apply {
            let mut object = object.clone();
            let found = self.sets.iter().position(|one| one.name() == object.name());
            if let Some(at) = found {
                // A server-side apply leaves what it does not name.
                object["spec"]["ordinals"] = self.sets.remove(at)["spec"]["ordinals"].clone();
            }
            self.sets.push(object);
        }
        self.kubernetes();
        self.status = json!({
            "version": plan.versions.newest, "templateDigest": plan.versions.digest, "readyVersion": plan.versions.ready
        });
        plan
    }

    fn kubernetes(&mut self) {
        let mut pods = BTreeMap::new();
        for set in &mut self.sets {
            let name = set.name().unwrap().to_string();
            let first = set.pointer("/spec/ordinals/start").and_then(Value::as_u64).unwrap_or(0);
            let count = set["spec"]["replicas"].as_u64().unwrap();
            let is_good = image(set) != BROKEN;
            let mut ready = 0;
            for ordinal in first..first + count {
                let key = (name.clone(), usize::try_from(ordinal).unwrap());
                // It is created first, and ready at the next look.
                let is_ready = is_good && self.pods.contains_key(&key);
                ready += i64::from(is_ready);
                pods.insert(key, is_ready);
            }
            set["metadata"]["generation"] = 1.into();
            set["status"] = json!({
                "replicas": count, "observedGeneration": 1, "readyReplicas": ready, "updatedReplicas": count,
                "updateRevision": "new"
            });
        }
        self.pods = pods;
    }

    fn settle(&mut self, set: &QuarksStatefulSet) {
        for _ in 0..60 {
            let plan = self.step(set);
            if plan.ready && plan.delete.is_empty() {
                return;
            }
        }
        panic!("it does not end: {:?} {:?}", self.sizes(), self.plan(set).rollout);
    }

    /// Zones and ordinals of the ready instances.
    fn ready_instances(&self) -> BTreeSet<(String, usize)> {
        let zone = |set: &str| set.rsplit_once("-v").unwrap().0.to_string();
        let ready = self.pods.iter().filter(|(_, is_ready)| **is_ready);
        ready.map(|((set, ordinal), _)| (zone(set), *ordinal)).collect()
    }

    /// The ordinals of each StatefulSet.
    fn sizes(&self) -> Vec<String> {
        let mut of: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (set, ordinal) in self.pods.keys() {
            of.entry(set).or_default().push(*ordinal);
        }
        let of = of.into_iter();
        of.map(|(set, ordinals)| format!("{} {ordinals:?}", set.trim_start_matches("d-g-")))
            .collect()
    }
}

#[test]
fn the_older_version_loses_each_instance_that_the_newer_one_has() {
    let mut model = Model::ready("i:1", 3);
    let second = group("i:2", 3);
    let mut steps = Vec::new();
    while steps.last().is_none_or(|last: &Vec<String>| last.len() > 2) {
        model.step(&second);
        if steps.last() != Some(&model.sizes()) {
            steps.push(model.sizes());
        }
    }
    let expected = [
        ["z0-v1 [0, 1, 2]", "z0-v2 [0]", "z1-v1 [0, 1, 2]", ""],
        ["z0-v1 [1, 2]", "z0-v2 [0, 1, 2]", "z1-v1 [0, 1, 2]", ""],
        ["z0-v2 [0, 1, 2]", "z1-v1 [0, 1, 2]", "z1-v2 [0, 1]", ""],
        ["z0-v2 [0, 1, 2]", "z1-v1 [2]", "z1-v2 [0, 1, 2]", ""],
        ["z0-v2 [0, 1, 2]", "z1-v2 [0, 1, 2]", "", ""],
    ];
    let expected = expected.map(|step| step.into_iter().filter(|one| !one.is_empty()).collect::<Vec<_>>());
    assert_eq!(steps, expected);
}

#[test]
fn a_version_that_is_wanted_again_gets_its_instances_back_before_the_other_one_goes() {
    let (first, second) = (group("i:1", 3), group("i:2", 3));
    let mut model = Model::ready("i:1", 3);
    for _ in 0..5 {
        model.step(&second);
    }
    assert_eq!(model.sizes(), ["z0-v2 [0, 1, 2]", "z1-v1 [0, 1, 2]", "z1-v2 [0, 1]"]);
    let mut steps = Vec::new();
    while model.sizes().len() != 2 {
        model.step(&first);
        if steps.last() != Some(&model.sizes()[..2].to_vec()) {
            steps.push(model.sizes()[..2].to_vec());
        }
    }
    let expected = [
        ["z0-v1 [1, 2]", "z0-v2 [0, 1, 2]"],
        ["z0-v1 [0, 1, 2]", "z0-v2 [0]"],
        ["z0-v1 [0, 1, 2]", "z1-v1 [0, 1, 2]"],
    ];
    assert_eq!(steps, expected);
    model.settle(&first);
    assert!(model.sets.iter().all(|one| one["spec"]["ordinals"].is_null()));
}

#[test]
fn a_version_that_never_was_ready_stays_for_the_instances_that_only_it_has() {
    let mut model = Model::ready("i:1", 3);
    for _ in 0..3 {
        model.step(&group("i:2", 3));
    }
    let third = group("i:3", 3);
    model.step(&third);
    assert_eq!(model.sizes()[..3], ["z0-v1 [1, 2]", "z0-v2 [0]", "z0-v3 [0]"]);
    for _ in 0..2 {
        model.step(&third);
    }
    let broken = group(BROKEN, 3);
    for _ in 0..4 {
        model.step(&broken);
    }
    assert_eq!(model.sizes()[..3], ["z0-v1 [1, 2]", "z0-v3 [0]", "z0-v4 [0]"]);
    model.settle(&third);
    assert_eq!(model.sizes(), ["z0-v3 [0, 1, 2]", "z1-v3 [0, 1, 2]"]);
}

#[test]
fn instances_that_are_no_longer_wanted_go_first() {
    let mut model = Model::ready("i:1", 3);
    model.step(&group("i:2", 2));
    assert_eq!(model.sizes(), ["z0-v1 [0, 1]", "z0-v2 [0]", "z1-v1 [0, 1]"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn manifests_that_follow_each_other_at_any_step_lose_no_instance_and_need_few_more_pods(
        edits in prop::collection::vec((0..4_usize, 1..6_u32, any::<bool>(), 0..8_usize), 1..6),
        scales in any::<bool>(),
        pauses in any::<bool>()
    ) {
        let images = ["i:1", "i:2", "i:3", BROKEN];
        let mut model = Model::ready("i:1", 3);
        let (mut before, mut history) = (3, Vec::new());
        for (image, replicas, paused, steps) in &edits {
            let replicas = if scales { *replicas } else { 3 };
            let mut wanted = group(images[*image], replicas);
            wanted.spec.paused = pauses && *paused;
            for _ in 0..*steps {
                let had = model.ready_instances();
                model.step(&wanted);
                history.push(model.sizes());
                let has = model.ready_instances();
                let is_lost = |one: &&(String, usize)| one.1 < replicas as usize && !has.contains(*one);
                let lost: Vec<_> = had.iter().filter(is_lost).collect();
                prop_assert!(lost.is_empty(), "{lost:?}: {history:#?}");
                // Instances that are added start at once, and a paused group deletes no version.
                let instances = 2 * before.max(replicas) as usize;
                let added = if scales || pauses { instances } else { MAX_IN_FLIGHT };
                prop_assert!(model.pods.len() <= instances + added, "{history:#?}");
            }
            before = before.max(replicas);
        }
        model.settle(&group("i:2", 3));
        prop_assert_eq!(model.pods.len(), 6);
        prop_assert!(model.sets.iter().all(|one| one["spec"]["ordinals"].is_null()));
    }
}

#[test]
fn a_group_without_limits_starts_all_instances_beside_the_others() {
    let unlimited = |image| {
        let mut set = set(image, 2, false);
        set.spec.inject_replicas_env = false;
        set
    };
    let mut model = Model::default();
    model.settle(&unlimited("i:1"));
    model.step(&unlimited("i:2"));
    assert_eq!(model.pods.len(), 8);
    model.settle(&unlimited("i:2"));
    assert_eq!(model.pods.len(), 4);
}
