//! Versions that take over from each other, in a model of the StatefulSet controller.

use super::tests::{owner, set, updated};
use super::*;
use boson_cluster::client::AnyObject;
use boson_cluster::objects;
use boson_manifest::labels;
use kube::ResourceExt;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const MAX_IN_FLIGHT: usize = 2;
const BROKEN: &str = "i:broken";

#[derive(Clone)]
struct Member {
    image: String,
    is_ready: bool,
}

/// What is in the cluster.
#[derive(Default)]
struct Model {
    status: Value,
    sets: Vec<Value>,
    /// By StatefulSet and ordinal.
    pods: BTreeMap<(String, usize), Member>,
    /// Whether pods are created at once, but deleted a step later: each StatefulSet is changed by itself.
    deletes_late: bool,
    /// Pods whose deletion begins with the next step.
    leaving: BTreeSet<(String, usize)>,
}

fn group(image: &str, replicas: u32) -> QuarksStatefulSet {
    scalable(updated(image, replicas, false))
}

/// One whose pods are replaced in place.
fn in_place(image: &str, replicas: u32) -> QuarksStatefulSet {
    let mut set = group(image, replicas);
    set.spec
        .template
        .change(|it| it["metadata"]["annotations"][labels::VM_STRATEGY] = labels::DELETE_CREATE.into());
    set
}

/// Another number of replicas is the same template.
fn scalable(mut set: QuarksStatefulSet) -> QuarksStatefulSet {
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
        model.converge(&group(image, replicas));
        model
    }

    fn plan(&self, set: &QuarksStatefulSet) -> Plan {
        self.plan_at(set, Timestamp::UNIX_EPOCH)
    }

    fn plan_at(&self, set: &QuarksStatefulSet, now: Timestamp) -> Plan {
        let mut set = set.clone();
        set.status = serde_json::from_value(self.status.clone()).unwrap();
        let pod = |((set, ordinal), member): (&(String, usize), &Member)| {
            let ready = if member.is_ready { "True" } else { "False" };
            let pod = json!({
                "metadata": {"name": format!("{set}-{ordinal}"), "labels": {"controller-revision-hash": member.image},
                    "creationTimestamp": Timestamp::UNIX_EPOCH.to_string()},
                "spec": {"containers": []}, "status": {"conditions": [{"type": "Ready", "status": ready}]}
            });
            serde_json::from_value(pod).unwrap()
        };
        let seen = Seen {
            live: Live::of(self.sets.clone()).unwrap(),
            pods: Some(self.pods.iter().map(pod).collect()),
            ..Seen::default()
        };
        plan(&set, &seen, &owner(), now).ok().unwrap()
    }

    /// One reconcile, and what the StatefulSet controller and the kubelets make of it.
    fn step(&mut self, set: &QuarksStatefulSet) -> Plan {
        self.step_at(set, Timestamp::UNIX_EPOCH)
    }

    fn step_at(&mut self, set: &QuarksStatefulSet, now: Timestamp) -> Plan {
        let plan = self.plan_at(set, now);
        let is_deleted = |one: &Value| plan.delete.iter().any(|gone| gone.name() == one.name());
        self.sets.retain(|one| !is_deleted(one));
        for one in &plan.resize {
            let found = self
                .sets
                .iter_mut()
                .find(|set| set.name() == one.set.metadata.name.as_deref());
            let (found, members) = (found.unwrap(), one.members());
            found["spec"]["replicas"] = members["spec"]["replicas"].clone();
            found["spec"]["ordinals"] = members["spec"]["ordinals"].clone();
            found.set_annotation(objects::DIGEST, members.annotation(objects::DIGEST));
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
        for pod in &plan.replace {
            let name = pod.name_any();
            self.pods.retain(|(set, ordinal), _| format!("{set}-{ordinal}") != name);
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
            let (mut ready, mut updated) = (0, 0);
            for ordinal in first..first + count {
                let key = (name.clone(), usize::try_from(ordinal).unwrap());
                // It is created first, and ready at the next look.
                let before = self.pods.get(&key).map(|pod| pod.image.clone());
                let is_ready = before.as_ref().is_some_and(|image| image != BROKEN);
                let image = before.unwrap_or_else(|| image(set).into());
                ready += i64::from(is_ready);
                updated += i64::from(image == self::image(set));
                pods.insert(key, Member { image, is_ready });
            }
            set["status"] = json!({
                "replicas": count, "observedGeneration": 1, "readyReplicas": ready, "updatedReplicas": updated,
                "updateRevision": image(set)
            });
        }
        let has_set = |set: &str| self.sets.iter().any(|one| one.name() == Some(set));
        let mut leaving = std::mem::take(&mut self.pods);
        leaving.retain(|key, _| {
            self.deletes_late && has_set(&key.0) && !pods.contains_key(key) && !self.leaving.contains(key)
        });
        self.leaving = leaving.keys().cloned().collect();
        pods.extend(leaving);
        self.pods = pods;
        for set in &mut self.sets {
            let is_observed = self.leaving.iter().all(|(of, _)| Some(of.as_str()) != set.name());
            set["metadata"]["generation"] = if is_observed { 1 } else { 2 }.into();
        }
    }

    fn insert(&mut self, set: &str, ordinal: usize, is_ready: bool) {
        let image = "i:2".into();
        self.pods.insert((set.into(), ordinal), Member { image, is_ready });
    }

    fn converge(&mut self, set: &QuarksStatefulSet) {
        let ends = self.converges_at(set, Timestamp::UNIX_EPOCH);
        assert!(ends, "it does not end: {:?} {:?}", self.sizes(), self.plan(set).rollout);
    }

    fn converges_at(&mut self, set: &QuarksStatefulSet, now: Timestamp) -> bool {
        (0..60).any(|_| {
            let plan = self.step_at(set, now);
            plan.ready && plan.delete.is_empty()
        })
    }

    /// Zones and ordinals of the ready instances.
    fn ready_instances(&self) -> BTreeSet<(String, usize)> {
        let zone = |set: &str| set.rsplit_once("-v").unwrap().0.to_string();
        let stays = |pod: &(String, usize)| !self.leaving.contains(pod);
        let ready = self.pods.iter().filter(|(pod, member)| member.is_ready && stays(pod));
        ready.map(|((set, ordinal), _)| (zone(set), *ordinal)).collect()
    }

    /// Whether a version is ready, and another one not deleted yet.
    fn has_both(&self) -> bool {
        let mut of: BTreeMap<&str, usize> = BTreeMap::new();
        for ((set, _), member) in &self.pods {
            *of.entry(set.rsplit_once('-').unwrap().1).or_default() += usize::from(member.is_ready);
        }
        of.len() > 1 && of.values().any(|ready| *ready == 6)
    }

    fn images(&self) -> BTreeSet<&str> {
        self.pods.values().map(|pod| pod.image.as_str()).collect()
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
        // What the older version is about to lose counts as one of the two in flight.
        ["z0-v1 [1, 2]", "z0-v2 [0, 1]", "z1-v1 [0, 1, 2]", ""],
        ["z0-v1 [1, 2]", "z0-v2 [0, 1, 2]", "z1-v1 [0, 1, 2]", ""],
        ["z0-v1 [2]", "z0-v2 [0, 1, 2]", "z1-v1 [0, 1, 2]", ""],
        ["z0-v2 [0, 1, 2]", "z1-v1 [0, 1, 2]", "z1-v2 [0]", ""],
        ["z0-v2 [0, 1, 2]", "z1-v1 [0, 1, 2]", "z1-v2 [0, 1]", ""],
        ["z0-v2 [0, 1, 2]", "z1-v1 [1, 2]", "z1-v2 [0, 1]", ""],
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
    let midway = ["z0-v2 [0, 1, 2]", "z1-v1 [0, 1, 2]", "z1-v2 [0, 1]"];
    let is_midway = |_: &usize| {
        model.step(&second);
        model.sizes() == midway
    };
    assert!((0..9).find(is_midway).is_some());
    let mut steps = Vec::new();
    for _ in 0..20 {
        model.step(&first);
        if steps.last() != Some(&model.sizes()[..2].to_vec()) {
            steps.push(model.sizes()[..2].to_vec());
        }
    }
    let expected = [
        ["z0-v2 [0, 1, 2]", "z1-v1 [0, 1, 2]"],
        ["z0-v1 [1, 2]", "z0-v2 [0, 1, 2]"],
        ["z0-v1 [1, 2]", "z0-v2 [0]"],
        ["z0-v1 [0, 1, 2]", "z0-v2 [0]"],
        ["z0-v1 [0, 1, 2]", "z1-v1 [0, 1, 2]"],
    ];
    assert_eq!(steps, expected);
    model.converge(&first);
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
    model.converge(&third);
    assert_eq!(model.sizes(), ["z0-v3 [0, 1, 2]", "z1-v3 [0, 1, 2]"]);
}

#[test]
fn an_instance_that_was_handed_over_stays_while_it_is_not_ready() {
    for again in ["i:1", "i:3"] {
        let mut model = Model::ready("i:1", 3);
        for _ in 0..4 {
            model.step(&group("i:2", 3));
        }
        assert_eq!(model.sizes()[..2], ["z0-v1 [1, 2]", "z0-v2 [0, 1, 2]"]);
        model.insert("d-g-z0-v2", 0, false);
        model.step(&group(again, 3));
        assert!(
            model.sizes().contains(&"z0-v2 [0]".to_string()),
            "{again}: {:?}",
            model.sizes()
        );
    }
}

#[test]
fn pods_that_are_about_to_be_deleted_count_for_no_instance() {
    let mut model = Model::ready("i:1", 3);
    for _ in 0..4 {
        model.step(&group("i:2", 3));
    }
    // The StatefulSet controller has not seen yet that the older version lost its first instance.
    model.insert("d-g-z0-v1", 0, true);
    let plan = model.plan(&group("i:3", 3));
    let gone: Vec<&str> = plan.delete.iter().filter_map(AnyObject::name).collect();
    assert!(!gone.contains(&"d-g-z0-v2"), "it alone has instance 0: {gone:?}");
}

#[test]
fn pods_that_kubernetes_does_not_delete_keep_no_version_from_taking_over() {
    let mut model = Model::ready("i:1", 3);
    for _ in 0..20 {
        model.step(&group("i:2", 3));
        // It cannot create a pod of the older version, and then deletes none either.
        let names = model.sets.iter().filter_map(AnyObject::name).map(String::from);
        let older: Vec<String> = names.filter(|name| name.ends_with("v1")).collect();
        for (set, ordinal) in older.iter().flat_map(|set| [(set, 0), (set, 1)]) {
            model.insert(set, ordinal, true);
        }
    }
    assert_eq!(model.sizes(), ["z0-v2 [0, 1, 2]", "z1-v2 [0, 1, 2]"]);
}

#[test]
fn a_pod_that_is_not_ready_for_long_does_not_keep_a_version_from_getting_its_instances_back() {
    let mut model = Model::ready("i:1", 3);
    for _ in 0..4 {
        model.step(&group("i:2", 3));
    }
    for ordinal in 1..3 {
        model.insert("d-g-z0-v1", ordinal, false);
    }
    let first = group("i:1", 3);
    let waiting = model.plan(&first);
    let of_first = |plan: &Plan| {
        let mut resized = plan.resize.iter().filter(|one| one.set.name_any() == "d-g-z0-v1");
        resized.next().is_some()
    };
    assert!(!of_first(&waiting) && waiting.rollout.again.is_some());
    let later = model.plan_at(&first, Timestamp::from_second(600).unwrap());
    assert!(of_first(&later));
}

#[test]
fn a_broken_pod_of_a_version_with_its_first_disk_is_replaced_by_its_fix() {
    let with_disk = |image| scalable(updated(image, 3, true));
    let mut model = Model::ready("i:1", 3);
    model.step(&with_disk(BROKEN));
    model.step(&with_disk("i:2"));
    // Its only pod is of the earlier template.
    for set in model.sets.iter_mut().filter(|set| set.name() == Some("d-g-z0-v2")) {
        set["status"]["updateRevision"] = "newer".into();
    }
    model.insert("d-g-z0-v2", 0, false);
    let plan = model.plan(&with_disk("i:2"));
    let replaced: Vec<String> = plan.replace.iter().map(Pod::name_any).collect();
    assert_eq!(replaced, ["d-g-z0-v2-0"]);
}

#[test]
fn instances_that_are_no_longer_wanted_go_first() {
    let mut model = Model::ready("i:1", 3);
    model.step(&group("i:2", 2));
    assert_eq!(model.sizes(), ["z0-v1 [0, 1]", "z1-v1 [0, 1]"]);
    model.step(&group("i:2", 2));
    assert_eq!(model.sizes(), ["z0-v1 [0, 1]", "z0-v2 [0]", "z1-v1 [0, 1]"]);
}

#[test]
fn with_delete_create_pods_are_replaced_in_place() {
    let mut model = Model::default();
    model.converge(&in_place("i:1", 3));
    let second = in_place("i:2", 3);
    let mut replaced = Vec::new();
    for _ in 0..20 {
        let plan = model.step(&second);
        let names: Vec<String> = plan.replace.iter().map(Pod::name_any).collect();
        replaced.extend((!names.is_empty()).then(|| names.join(" ")));
    }
    let expected = [
        "d-g-z0-v1-0",
        "d-g-z0-v1-1 d-g-z0-v1-2",
        "d-g-z1-v1-0 d-g-z1-v1-1",
        "d-g-z1-v1-2",
    ];
    assert_eq!(replaced, expected);
    model.converge(&second);
    assert_eq!(model.images(), BTreeSet::from(["i:2"]));
}

#[test]
fn a_version_that_cannot_start_beside_the_other_one_gives_way_to_delete_create() {
    let mut model = Model::ready("i:1", 3);
    for _ in 0..4 {
        model.step(&group(BROKEN, 3));
    }
    assert_eq!(model.sizes()[..2], ["z0-v1 [0, 1, 2]", "z0-v2 [0]"]);
    model.converge(&in_place("i:3", 3));
    assert_eq!(model.sizes(), ["z0-v1 [0, 1, 2]", "z1-v1 [0, 1, 2]"]);
    assert_eq!(model.images(), BTreeSet::from(["i:3"]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn manifests_that_follow_each_other_at_any_step_lose_no_instance_and_need_few_more_pods(
        edits in prop::collection::vec((0..4_usize, 1..6_u32, any::<bool>(), 0..8_usize), 1..6),
        scales in any::<bool>(),
        pauses in any::<bool>(),
        deletes_late in any::<bool>()
    ) {
        let images = ["i:1", "i:2", "i:3", BROKEN];
        let mut model = Model::ready("i:1", 3);
        model.deletes_late = deletes_late;
        let (mut before, mut history, mut has_both) = (3, Vec::new(), false);
        for (image, replicas, paused, steps) in &edits {
            let replicas = if scales { *replicas } else { 3 };
            let mut wanted = group(images[*image], replicas);
            wanted.spec.paused = pauses && *paused;
            has_both |= model.has_both();
            for _ in 0..*steps {
                let had = model.ready_instances();
                model.step(&wanted);
                history.push(model.sizes());
                let has = model.ready_instances();
                let is_lost = |one: &&(String, usize)| one.1 < replicas as usize && !has.contains(*one);
                let lost: Vec<_> = had.iter().filter(is_lost).collect();
                prop_assert!(lost.is_empty(), "{lost:?}: {history:#?}");
                // Instances that are added start at once, and a paused group deletes no version. One that is changed
                // after the newer version became ready, and before the older one is deleted, has both. Any other change
                // finds at most the pods in flight of the change before it.
                let instances = 2 * before.max(replicas) as usize;
                let added = match edits.len() {
                    _ if scales || pauses || has_both => instances,
                    1 => MAX_IN_FLIGHT,
                    _ => 2 * MAX_IN_FLIGHT,
                };
                prop_assert!(model.pods.len() <= instances + added, "{history:#?}");
            }
            before = before.max(replicas);
        }
        model.converge(&group("i:2", 3));
        model.step(&group("i:2", 3));
        prop_assert_eq!(model.pods.len(), 6);
        prop_assert!(model.sets.iter().all(|one| one["spec"]["ordinals"].is_null()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn another_strategy_at_any_step_ends_with_what_is_wanted(
        edits in prop::collection::vec((0..4_usize, any::<bool>(), 0..8_usize), 1..6),
        ends_in_place in any::<bool>()
    ) {
        let of = |is_in_place: bool| if is_in_place { in_place } else { group };
        let mut model = Model::ready("i:1", 3);
        for (image, is_in_place, steps) in &edits {
            let wanted = of(*is_in_place)(["i:1", "i:2", "i:3", BROKEN][*image], 3);
            for _ in 0..*steps {
                let had = model.ready_instances();
                model.step(&wanted);
                let has = model.ready_instances();
                prop_assert!(had.difference(&has).count() <= MAX_IN_FLIGHT, "{:?}", model.sizes());
            }
        }
        let last = of(ends_in_place)("i:2", 3);
        // What a version gets back may be of a broken template: it is not waited for longer than it may take to start.
        let later = Timestamp::from_second(3600).unwrap();
        prop_assert!([Timestamp::UNIX_EPOCH, later].iter().any(|now| model.converges_at(&last, *now)));
        prop_assert_eq!((model.pods.len(), model.images()), (6, BTreeSet::from(["i:2"])));
        prop_assert!(model.sets.iter().all(|one| one["spec"]["ordinals"].is_null()));
    }
}

#[test]
fn a_group_without_limits_starts_all_instances_beside_the_others() {
    let unlimited = |image| scalable(set(image, 2, false));
    let mut model = Model::default();
    model.converge(&unlimited("i:1"));
    model.step(&unlimited("i:2"));
    assert_eq!(model.pods.len(), 8);
    model.converge(&unlimited("i:2"));
    assert_eq!(model.pods.len(), 4);
}
