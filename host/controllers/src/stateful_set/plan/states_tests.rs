//! Desired states of instances: pods that are replaced on request, ignored and stopped ones.

use super::super::live::REVISION;
use super::super::live::states::is_gated;
use super::super::rollout::Rule;
use super::tests::{carry_out, live, made_before, names, of, plan_at, reported, revised, seen};
use super::*;
use boson_api::{DesiredState, PodState};
use boson_cluster::client::AnyObject;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use proptest::prelude::*;

/// A group of two instances in each of two zones.
fn group(image: &str, claims: bool, states: &Value) -> QuarksStatefulSet {
    let mut set = revised(image, claims, &["1", "1"]);
    set.spec.instances = serde_json::from_value(states.clone()).unwrap();
    set
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// The scheduling gates in the template of a StatefulSet.
fn gates(set: &Value) -> Value {
    set["spec"]["template"]["spec"]["schedulingGates"].clone()
}

/// What is in the cluster.
struct Model {
    there: Vec<Value>,
    pods: Vec<Pod>,
    now: i64,
}

impl Model {
    fn ready(image: &str, claims: bool) -> Self {
        let there = live(&of(&group(image, claims, &json!([])), &[]), 2);
        let pods = made_before(&there);
        Self { there, pods, now: 100 }
    }

    fn plan(&self, set: &QuarksStatefulSet) -> Plan {
        let mut there = self.there.clone();
        for one in &mut there {
            let of_set = |pod: &&Pod| pod.name_any().starts_with(one.name().unwrap());
            let pods = self.pods.iter().filter(of_set);
            let updated = pods.filter(|pod| is_gated(pod) != gates(one).is_null()).count();
            one["status"]["updatedReplicas"] = updated.into();
        }
        plan_at(set, &seen(&there, &self.pods), at(self.now))
    }

    /// Carries out what is planned until nothing is left to do; the pods that were replaced, in their order.
    fn converge(&mut self, set: &QuarksStatefulSet) -> Vec<Vec<String>> {
        let mut steps = Vec::new();
        for _ in 0..50 {
            let plan = self.plan(set);
            carry_out(&mut self.there, &plan);
            if plan.ready {
                return steps;
            }
            self.now += 1;
            for pod in &plan.replace {
                self.create_again(&pod.name_any());
            }
            if !plan.replace.is_empty() {
                steps.push(plan.replace.iter().map(Pod::name_any).collect());
            }
        }
        panic!("it does not end: {:?}", self.plan(set).rollout)
    }

    fn create_again(&mut self, name: &str) {
        self.set_ready(name, 2);
        let mut made = made_before(&self.there);
        let at_name = made.iter().position(|pod| pod.name_any() == name).unwrap();
        let mut pod = made.swap_remove(at_name);
        pod.metadata.creation_timestamp = Some(Time(at(self.now)));
        pod.labels_mut().insert(REVISION.into(), "new".into());
        let set = self.there.iter().find(|set| name.starts_with(set.name().unwrap()));
        pod.spec.as_mut().unwrap().scheduling_gates = serde_json::from_value(gates(set.unwrap())).unwrap();
        self.pods.retain(|pod| pod.name_any() != name);
        let is_gated = is_gated(&pod);
        self.pods.push(pod);
        if is_gated {
            self.fail(name);
        }
    }

    fn fail(&mut self, name: &str) {
        let pod = self.pods.iter_mut().find(|pod| pod.name_any() == name).unwrap();
        pod.status.as_mut().unwrap().conditions.as_mut().unwrap()[0].status = "False".into();
        self.set_ready(name, 1);
    }

    /// How many pods of the StatefulSet of this one are ready.
    fn set_ready(&mut self, pod: &str, count: i64) {
        let set = self.there.iter_mut().find(|set| pod.starts_with(set.name().unwrap()));
        set.unwrap()["status"]["readyReplicas"] = count.into();
    }
}

#[test]
fn a_request_replaces_the_pods_from_before_it_once_and_in_the_order_of_a_rollout() {
    let of_all = json!([{"replacePodsCreatedBefore": at(10).to_string()}]);
    let of_one = json!([{"zone": "b", "ordinal": 1, "replacePodsCreatedBefore": at(10).to_string()}]);
    let all = [["d-g-z0-v1-0"], ["d-g-z0-v1-1"]].map(Vec::from);
    for claims in [false, true] {
        let mut model = Model::ready("i:1", claims);
        let wanted = reported(group("i:1", claims, &of_all), 1, 1, "RolledOut");
        let mut steps = model.converge(&wanted);
        assert_eq!(steps.split_off(2), [["d-g-z1-v1-0", "d-g-z1-v1-1"]], "{claims}");
        assert_eq!(steps, all, "the canary first");
        assert!(model.converge(&wanted).is_empty(), "it is done");

        let mut model = Model::ready("i:1", claims);
        let wanted = reported(group("i:1", claims, &of_one), 1, 1, "RolledOut");
        assert_eq!(model.converge(&wanted), [["d-g-z1-v1-1"]]);
    }
}

#[test]
fn a_request_for_a_later_time_waits_for_it() {
    let model = Model::ready("i:1", true);
    let states = json!([{"replacePodsCreatedBefore": at(130).to_string()}]);
    let plan = model.plan(&reported(group("i:1", true, &states), 1, 1, "RolledOut"));
    assert!(plan.replace.is_empty() && plan.ready);
    assert_eq!(plan.rollout.again.map(|time| time.as_secs()), Some(30));
}

#[test]
fn an_instance_that_is_not_ready_after_a_request_stops_it_without_another_template() {
    let states = json!([{"replacePodsCreatedBefore": at(10).to_string()}]);
    let wanted = group("i:1", true, &states);
    let mut model = Model::ready("i:1", true);
    for pod in &mut model.pods {
        pod.labels_mut().insert(REVISION.into(), "new".into());
    }
    model.create_again("d-g-z0-v1-0");
    model.fail("d-g-z0-v1-0");
    model.now += 700;
    let plan = model.plan(&wanted);
    assert_eq!((plan.rollout.failure(), plan.rollout.left), (Some("CanaryFailed"), 3));
    assert!(plan.replace.is_empty() && plan.set_back.is_empty() && plan.apply.is_empty());
}

#[test]
fn an_ignored_instance_keeps_its_pod_and_is_not_waited_for() {
    let ignored = json!([{"zone": "a", "ordinal": 0, "ignored": true}]);
    let others = ["d-g-z0-v1-1", "d-g-z1-v1-0", "d-g-z1-v1-1"];
    for claims in [false, true] {
        let mut model = Model::ready("i:1", claims);
        model.fail("d-g-z0-v1-0");
        let mut steps = model.converge(&group("i:2", claims, &ignored)).concat();
        steps.sort_unstable();
        assert_eq!(steps, others, "{claims}");
        model.fail("d-g-z0-v1-0");
        assert!(
            model.plan(&group("i:2", claims, &ignored)).ready,
            "it need not be ready"
        );
        let steps = model.converge(&group("i:2", claims, &json!([])));
        assert_eq!(steps, [["d-g-z0-v1-0"]], "it follows when it is no longer ignored");
        model.fail("d-g-z0-v1-1");
        assert!(!model.plan(&group("i:2", claims, &ignored)).ready, "the others must be");
    }
}

#[test]
fn a_zone_gets_no_disk_while_an_ignored_pod_lacks_it() {
    let model = Model::ready("i:1", true);
    let plan = |states: &Value| {
        let mut wanted = group("i:1", true, states);
        let claims = json!([{"metadata": {"name": "data"}}, {"metadata": {"name": "more"}}]);
        let template = &mut wanted.spec.template;
        template.change(|it| it["spec"]["volumeClaimTemplates"] = claims);
        model.plan(&wanted)
    };
    let held = plan(&json!([{"zone": "a", "ordinal": 1, "ignored": true}]));
    assert!(held.renew.is_empty() && held.replace.is_empty() && !held.ready);
    assert_eq!(
        (held.rollout.held_by, held.rollout.left),
        (Some(Rule::IgnoredInstance), 3)
    );
    let renewed = plan(&json!([])).renew;
    assert_eq!(
        renewed.iter().map(|(old, _)| old.name_any()).collect::<Vec<_>>(),
        ["d-g-z0-v1"]
    );
}

#[test]
fn a_version_that_takes_over_stops_at_an_ignored_instance_of_the_older_one() {
    let wanted = |states: &[PodState]| {
        let mut set = group("i:2", false, &json!([]));
        set.spec.instances = states.to_vec();
        reported(set, 2, 1, "Updating")
    };
    let mut there = Model::ready("i:1", false).there;
    let begun = of(&reported(wanted(&[]), 1, 1, "RolledOut"), &there);
    carry_out(&mut there, &begun);
    assert!(!of(&wanted(&[]), &there).apply.is_empty(), "it goes on");
    let ignored = PodState {
        zone: "a".into(),
        ordinal: Some(1),
        desired: DesiredState {
            ignored: true,
            ..DesiredState::default()
        },
    };
    let plan = of(&wanted(&[ignored]), &there);
    assert_eq!(names(&plan.apply), [""; 0]);
    assert_eq!(
        (plan.rollout.held_by, plan.rollout.left),
        (Some(Rule::IgnoredInstance), 3)
    );
}

#[test]
fn a_stopped_group_has_no_pods_and_keeps_its_version() {
    for claims in [false, true] {
        let mut model = Model::ready("i:1", claims);
        let stopped = reported(group("i:1", claims, &json!([{"stopped": true}])), 1, 1, "RolledOut");
        let plan = model.plan(&stopped);
        let replicas = |plan: &Plan| -> Vec<i64> {
            let all = plan.apply.iter();
            all.map(|one| one["spec"]["replicas"].as_i64().unwrap()).collect()
        };
        assert_eq!((replicas(&plan), plan.replicas, plan.ready), (vec![0, 0], 0, false));
        carry_out(&mut model.there, &plan);
        model.pods.clear();
        let plan = model.plan(&stopped);
        assert!(
            plan.ready && plan.apply.is_empty() && !plan.rollout.is_underway(),
            "{claims}"
        );
        // Another manifest begins nothing, and the pods that follow are of it.
        let changed = reported(group("i:2", claims, &json!([{"stopped": true}])), 1, 1, "RolledOut");
        assert!(model.converge(&changed).is_empty());
        let started = model.plan(&group("i:2", claims, &json!([])));
        let version = if claims { 1 } else { 2 };
        assert_eq!((replicas(&started), started.versions.wanted), (vec![2, 2], version));
    }
}

#[test]
fn a_stopped_instance_has_a_pod_with_a_gate_and_the_others_keep_theirs() {
    let states = json!([{"zone": "a", "ordinal": 1, "stopped": true}]);
    for claims in [false, true] {
        let mut model = Model::ready("i:1", claims);
        let stopped = reported(group("i:1", claims, &states), 1, 1, "RolledOut");
        assert_eq!(model.converge(&stopped), [["d-g-z0-v1-1"]], "{claims}");
        let gated: Vec<String> = model
            .pods
            .iter()
            .filter(|pod| is_gated(pod))
            .map(Pod::name_any)
            .collect();
        assert_eq!(gated, ["d-g-z0-v1-1"]);
        assert!(
            model.there.iter().all(|set| gates(set).is_null()),
            "no other pod gets one"
        );
        assert_eq!(model.plan(&stopped).replicas, 3);

        let mut others = model.converge(&group("i:2", claims, &states)).concat();
        others.sort_unstable();
        assert_eq!(others, ["d-g-z0-v1-0", "d-g-z1-v1-0", "d-g-z1-v1-1"]);
        let started = reported(group("i:2", claims, &json!([])), 1, 1, "RolledOut");
        assert_eq!(model.converge(&started), [["d-g-z0-v1-1"]]);
        assert!(!model.pods.iter().any(is_gated));
    }
}

#[test]
fn a_pod_that_is_lost_while_another_one_is_stopped_is_created_again_without_the_gate() {
    let states = json!([{"zone": "a", "ordinal": 1, "stopped": true}]);
    let stopped = reported(group("i:1", true, &states), 1, 1, "RolledOut");
    let mut model = Model::ready("i:1", true);
    let begun = model.plan(&stopped);
    carry_out(&mut model.there, &begun);
    model.create_again("d-g-z0-v1-0");
    assert!(model.pods.iter().any(is_gated));
    assert_eq!(model.converge(&stopped), [["d-g-z0-v1-0"], ["d-g-z0-v1-1"]]);
}

/// What is desired of an instance.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Desired {
    Nothing,
    Replaced,
    Ignored,
    Stopped,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_pod_is_replaced_once_if_at_all_and_only_stopped_ones_have_a_gate(
        desired in proptest::collection::vec(
            prop_oneof![Just(Desired::Nothing), Just(Desired::Replaced), Just(Desired::Ignored), Just(Desired::Stopped)],
            4
        ),
        changes in any::<bool>(),
        claims in any::<bool>()
    ) {
        // Otherwise another version takes over.
        let is_exception = |one: &Desired| matches!(one, Desired::Ignored | Desired::Stopped);
        let keeps_version = claims || !changes || desired.iter().any(is_exception);
        prop_assume!(keeps_version);
        let places = [("a", 0), ("a", 1), ("b", 0), ("b", 1)];
        let state = |((zone, ordinal), desired): (&(&str, i32), &Desired)| PodState {
            zone: (*zone).into(),
            ordinal: Some(*ordinal),
            desired: DesiredState {
                replace_pods_created_before: (*desired == Desired::Replaced).then(|| Time(at(10))),
                stopped: *desired == Desired::Stopped,
                ignored: *desired == Desired::Ignored,
            },
        };
        let states: Vec<PodState> = places.iter().zip(&desired).map(state).collect();
        let image = if changes { "i:2" } else { "i:1" };
        let mut model = Model::ready("i:1", claims);
        let mut replaced = model.converge(&group(image, claims, &json!(states))).concat();
        replaced.sort_unstable();
        let names = ["d-g-z0-v1-0", "d-g-z0-v1-1", "d-g-z1-v1-0", "d-g-z1-v1-1"];
        let of = |is_meant: &dyn Fn(Desired) -> bool| -> Vec<&str> {
            let meant = names.iter().zip(&desired).filter(|(_, desired)| is_meant(**desired));
            meant.map(|(name, _)| *name).collect()
        };
        let wanted = of(&|desired| match desired {
            Desired::Nothing => changes,
            Desired::Replaced | Desired::Stopped => true,
            Desired::Ignored => false,
        });
        prop_assert_eq!(replaced, wanted);
        let mut gated: Vec<String> = model.pods.iter().filter(|pod| is_gated(pod)).map(Pod::name_any).collect();
        gated.sort_unstable();
        prop_assert_eq!(gated, of(&|desired| desired == Desired::Stopped));
        prop_assert!(model.there.iter().all(|set| gates(set).is_null()));
    }
}
