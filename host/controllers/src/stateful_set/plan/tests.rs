use super::super::live::{INCOMPLETE, RESTARTED_AT, REVISION, is_named};
use super::*;
use boson_cluster::client::{AnyObject, ErrorKind};
use boson_manifest::{labels, pod_contract};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;

pub(super) fn set(image: &str, replicas: u32, claims: bool) -> QuarksStatefulSet {
    let claims = if claims {
        json!([{"metadata": {"name": "data"}}])
    } else {
        json!([])
    };
    let set = json!({
        "apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "QuarksStatefulSet",
        "metadata": {"name": "d-g", "namespace": "n", "labels": {labels::DEPLOYMENT_NAME: "d"}},
        "spec": {"zones": ["a", "b"], "template": {"metadata": {}, "spec": {
            "replicas": replicas, "volumeClaimTemplates": claims,
            "template": {"metadata": {}, "spec": {"containers": [{"name": "c", "image": image}]}}}}}
    });
    serde_json::from_value(set).unwrap()
}

pub(super) fn owner() -> OwnerReference {
    OwnerReference {
        uid: "u".into(),
        ..OwnerReference::default()
    }
}

/// As the server has it, with this many ready pods.
pub(super) fn live(plan: &Plan, ready: i64) -> Vec<Value> {
    let one = |object: &Value| {
        let mut object = object.clone();
        object["metadata"]["generation"] = 1.into();
        object["status"] = json!({
            "replicas": ready, "observedGeneration": 1, "readyReplicas": ready, "updatedReplicas": ready,
            "updateRevision": "new"
        });
        object
    };
    plan.apply.iter().map(one).collect()
}

pub(super) fn names(objects: &[Value]) -> Vec<&str> {
    objects
        .iter()
        .map(|object| object["metadata"]["name"].as_str().unwrap())
        .collect()
}

pub(super) fn of(set: &QuarksStatefulSet, live: &[Value]) -> Plan {
    with(set, live, &[])
}

fn with(set: &QuarksStatefulSet, live: &[Value], claims: &[PersistentVolumeClaim]) -> Plan {
    let seen = Seen {
        live: Live::of(live.to_vec()).unwrap(),
        claims: claims.to_vec(),
        pods: Some(live.iter().flat_map(pods).collect()),
        ..Seen::default()
    };
    plan_at(set, &seen, Timestamp::UNIX_EPOCH)
}

pub(super) fn plan_at(set: &QuarksStatefulSet, seen: &Seen, now: Timestamp) -> Plan {
    plan(set, seen, &owner(), now).ok().unwrap()
}

/// The pods of a StatefulSet, according to its status: those of its newest revision first, and the ready ones.
fn pods(set: &Value) -> Vec<Pod> {
    let number = |pointer| set.pointer(pointer).and_then(Value::as_i64).unwrap_or(0);
    let pod = |ordinal: i64| {
        let revision = if ordinal < number("/status/updatedReplicas") {
            "new"
        } else {
            "old"
        };
        let ready = if ordinal < number("/status/readyReplicas") {
            "True"
        } else {
            "False"
        };
        let name = format!("{}-{ordinal}", set.name().unwrap());
        let pod = json!({
            "metadata": {"name": name, "labels": {"controller-revision-hash": revision},
                "creationTimestamp": Timestamp::UNIX_EPOCH.to_string()},
            "spec": {"containers": [], "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]},
            "status": {"conditions": [{"type": "Ready", "status": ready}]}
        });
        serde_json::from_value(pod).unwrap()
    };
    let first = number("/spec/ordinals/start");
    (first..first + number("/spec/replicas")).map(pod).collect()
}

#[test]
fn each_is_owned_and_one_that_is_unreadable_is_a_defect() {
    let first = of(&set("i:1", 1, false), &[]);
    assert_eq!(first.apply[0]["metadata"]["ownerReferences"], json!([owner()]));
    let mut there = live(&first, 1);
    there[1]["spec"]["replicas"] = "many".into();
    let error = Live::of(there).unwrap_err();
    assert_eq!((error.kind, error.name.as_str()), (ErrorKind::Unreadable, "d-g-z1-v1"));
}

#[test]
fn ordinals_are_not_the_users() {
    let mut set = set("i:1", 1, false);
    set.spec
        .template
        .change(|it| it["spec"]["ordinals"] = json!({"start": 5}));
    let seen = Seen::default();
    let Err(PlanError::Problem(Problem { reason, message })) = plan(&set, &seen, &owner(), Timestamp::UNIX_EPOCH)
    else {
        panic!("it is taken")
    };
    assert_eq!(reason, INVALID);
    assert!(message.contains("spec.template.spec.ordinals"), "{message}");
}

#[test]
fn each_zone_has_one_and_ready_pods_make_it_ready() {
    let first = of(&set("i:1", 2, false), &[]);
    assert_eq!(names(&first.apply), ["d-g-z0-v1", "d-g-z1-v1"]);
    assert!(!first.ready);
    let waiting = of(&set("i:1", 2, false), &live(&first, 1));
    assert!(waiting.apply.is_empty() && !waiting.ready);
    assert!(of(&set("i:1", 2, false), &live(&first, 2)).ready);
}

#[test]
fn a_changed_template_makes_a_version_and_the_old_one_stays_until_it_is_ready() {
    let first = of(&set("i:1", 1, false), &[]);
    let mut there = live(&first, 1);
    let second = of(&set("i:2", 1, false), &there);
    assert_eq!(names(&second.apply), ["d-g-z0-v2", "d-g-z1-v2"]);
    assert!(second.delete.is_empty());
    there.extend(live(&second, 0));
    let waiting = of(&set("i:2", 1, false), &there);
    assert!(waiting.apply.is_empty() && waiting.delete.is_empty() && !waiting.ready);
    let mut there = live(&first, 1);
    there.extend(live(&second, 1));
    let done = of(&set("i:2", 1, false), &there);
    assert_eq!(names(&done.delete), ["d-g-z0-v1", "d-g-z1-v1"]);
    assert!(done.ready);
}

#[test]
fn a_version_that_was_never_ready_is_deleted_for_its_fix() {
    let (good, broken, fixed) = (set("i:1", 1, false), set("i:2", 1, false), set("i:3", 1, false));
    let first = of(&good, &[]);
    let mut there = live(&first, 1);
    there.extend(live(&of(&broken, &there), 0));
    let fix = of(&fixed, &there);
    assert_eq!(names(&fix.apply), ["d-g-z0-v3", "d-g-z1-v3"]);
    assert_eq!(
        names(&fix.delete),
        ["d-g-z0-v2", "d-g-z1-v2"],
        "v1 serves, and v2 never did"
    );
    assert_eq!((fix.versions.newest, fix.versions.ready), (3, Some(1)));
    // Even if the serving version has lost a pod, because the status records it.
    let mut there = live(&first, 0);
    there.extend(live(&of(&broken, &live(&first, 1)), 0));
    let mut recorded = fixed.clone();
    let status = json!({"version": 2, "templateDigest": "", "readyVersion": 1});
    recorded.status = serde_json::from_value(status).unwrap();
    assert_eq!(names(&of(&recorded, &there).delete), ["d-g-z0-v2", "d-g-z1-v2"]);
    // After a revert, nothing has to start.
    let back = of(&good, &there);
    assert!(back.apply.is_empty(), "{back:?}");
    assert_eq!(names(&back.delete), ["d-g-z0-v2", "d-g-z1-v2"]);
}

#[test]
fn scaling_keeps_the_version_and_so_do_pods_with_claims() {
    let first = of(&set("i:1", 1, false), &[]);
    let more = of(&set("i:1", 3, false), &live(&first, 1));
    assert_eq!(names(&more.apply), ["d-g-z0-v1"], "REPLICAS replaces pods");
    assert_eq!(more.rollout.left, 2);
    let plain = |replicas| {
        let mut set = set("i:1", replicas, false);
        set.spec.inject_replicas_env = false;
        set
    };
    let mut there = live(&of(&plain(1), &[]), 1);
    there[0]["status"]["readyReplicas"] = 0.into();
    assert_eq!(
        names(&of(&plain(3), &there).apply),
        ["d-g-z0-v1", "d-g-z1-v1"],
        "no pod is replaced"
    );
    let mut uneven = set("i:1", 1, false);
    uneven.spec.zone_replicas = vec![1, 0];
    let fewer = of(&uneven, &live(&first, 1)).apply;
    assert_eq!(names(&fewer), ["d-g-z1-v1"], "the other zone stays as it is");
    assert_eq!(fewer[0]["spec"]["replicas"], 0);
    let first = of(&set("i:1", 1, true), &[]);
    let second = of(&set("i:2", 1, true), &live(&first, 1));
    assert_eq!(names(&second.apply), ["d-g-z0-v1"]);
    assert!(second.renew.is_empty());
}

#[test]
fn pods_with_claims_are_replaced_zone_by_zone_and_a_broken_zone_is_repaired() {
    let first = of(&set("i:1", 1, true), &[]);
    let mut there = live(&first, 1);
    // As the server has it after this zone was changed, with this many ready pods.
    let change = |there: &mut Vec<Value>, zone: usize, image: &str, ready: i64| {
        let plan = of(&set(image, 1, true), there);
        assert_eq!(names(&plan.apply), [format!("d-g-z{zone}-v1")]);
        there[zone] = live(&plan, ready).remove(0);
        of(&set(image, 1, true), there)
    };
    let waiting = change(&mut there, 0, "i:broken", 0);
    assert!(
        waiting.apply.is_empty() && !waiting.ready,
        "the broken template stays in one zone"
    );
    assert_eq!(waiting.rollout.awaited, ["d-g-z0-v1-0"]);
    let repaired = change(&mut there, 0, "i:2", 1);
    assert_eq!(names(&repaired.apply), ["d-g-z1-v1"]);
    assert!(change(&mut there, 1, "i:2", 1).ready);
    // Changed by hand in every zone.
    for one in &mut there {
        one["spec"]["template"]["spec"]["containers"][0]["image"] = "i:meddled".into();
    }
    assert_eq!(names(&of(&set("i:2", 1, true), &there).apply), ["d-g-z0-v1"]);
}

/// With an update block.
pub(super) fn updated(image: &str, replicas: u32, claims: bool) -> QuarksStatefulSet {
    let mut set = set(image, replicas, claims);
    let update = [
        (labels::CANARIES, "1"),
        (labels::MAX_IN_FLIGHT, "2"),
        (labels::CANARY_WATCH_TIME, "5000"),
    ];
    set.spec
        .template
        .change(|it| it["metadata"] = json!({"annotations": BTreeMap::from(update)}));
    set
}

/// Replicas of the StatefulSets of an image.
fn sizes(there: &[Value], image: &str) -> Vec<i64> {
    let of_image = |one: &&Value| one.pointer("/spec/template/spec/containers/0/image").unwrap() == image;
    let mut all: Vec<(&str, i64)> = there
        .iter()
        .filter(of_image)
        .map(|one| (one.name().unwrap(), one["spec"]["replicas"].as_i64().unwrap()))
        .collect();
    all.sort_unstable();
    all.into_iter().map(|(_, size)| size).collect()
}

/// Carries the plan out. All pods of good images become ready.
pub(super) fn carry_out(there: &mut Vec<Value>, plan: &Plan) {
    for object in &plan.apply {
        let is_good = object.pointer("/spec/template/spec/containers/0/image").unwrap() != "i:broken";
        let size = if is_good {
            object["spec"]["replicas"].as_i64().unwrap()
        } else {
            0
        };
        let mut made = live(plan, size);
        made.retain(|one| one.name() == object.name());
        there.retain(|one| one.name() != object.name());
        there.append(&mut made);
    }
    for one in &plan.resize {
        let mut sets = there.iter_mut().filter(|set| is_named(&one.set, set));
        let (set, members) = (sets.next().unwrap(), one.members());
        set["spec"]["ordinals"] = members["spec"]["ordinals"].clone();
        set["spec"]["replicas"] = members["spec"]["replicas"].clone();
    }
    let is_deleted = |one: &Value| plan.delete.iter().any(|gone| gone.name() == one.name());
    there.retain(|one| !is_deleted(one));
}

#[test]
fn a_new_version_starts_with_its_canaries_and_goes_on_zone_by_zone() {
    let mut there = live(&of(&updated("i:1", 3, false), &[]), 3);
    let second = updated("i:2", 3, false);
    let mut steps = Vec::new();
    for _ in 0..9 {
        let plan = of(&second, &there);
        carry_out(&mut there, &plan);
        steps.push((sizes(&there, "i:1").len(), sizes(&there, "i:2")));
        if plan.ready {
            break;
        }
    }
    let expected = [[1, 0], [2, 0], [3, 0], [3, 1], [3, 2], [3, 3]].map(|new| (2, new));
    let expected = [&expected[..], &[(0, [3, 3])]].concat();
    let expected = expected.into_iter().map(|(old, new)| (old, new.to_vec()));
    assert_eq!(steps, expected.collect::<Vec<_>>());
    assert!(there.iter().all(|one| one.annotation(INCOMPLETE).is_none()));
}

#[test]
fn a_failed_canary_stops_the_version_and_another_manifest_ends_it() {
    let mut there = live(&of(&updated("i:1", 3, false), &[]), 3);
    let broken = updated("i:broken", 3, false);
    let plan = of(&broken, &there);
    carry_out(&mut there, &plan);
    assert_eq!(sizes(&there, "i:broken"), [1, 0]);
    let seen = |there: &[Value]| Seen {
        live: Live::of(there.to_vec()).unwrap(),
        pods: Some(there.iter().flat_map(pods).collect()),
        ..Seen::default()
    };
    let later = Timestamp::from_second(700).unwrap();
    let stopped = plan_at(&broken, &seen(&there), later);
    assert!(stopped.apply.is_empty() && stopped.delete.is_empty() && !stopped.ready);
    assert_eq!(stopped.rollout.failure(), Some("CanaryFailed"));
    assert_eq!(
        (stopped.rollout.failed, stopped.rollout.left),
        (vec!["d-g-z0-v2-0".to_string()], 5)
    );
    assert_eq!(stopped.versions.ready, Some(1));
    let back = of(&updated("i:1", 3, false), &there);
    assert!(back.apply.is_empty() && back.rollout.failure().is_none());
    assert_eq!(names(&back.delete), ["d-g-z0-v2", "d-g-z1-v2"]);
    let fixed = of(&updated("i:3", 3, false), &there);
    assert_eq!(names(&fixed.delete), ["d-g-z0-v2", "d-g-z1-v2"]);
    carry_out(&mut there, &fixed);
    assert_eq!((sizes(&there, "i:1"), sizes(&there, "i:3")), (vec![3, 3], vec![1, 0]));
}

#[test]
fn a_version_with_its_first_instances_is_not_the_one_that_serves() {
    let mut there = live(&of(&updated("i:1", 3, false), &[]), 3);
    let second = of(&updated("i:2", 3, false), &there);
    carry_out(&mut there, &second);
    let third = of(&updated("i:3", 3, false), &there);
    assert_eq!((third.versions.newest, third.versions.ready), (3, Some(1)));
    assert_eq!(names(&third.delete), ["d-g-z0-v2", "d-g-z1-v2"]);
}

#[test]
fn pods_with_claims_are_replaced_after_the_canary() {
    let mut there = live(&of(&updated("i:1", 3, true), &[]), 3);
    let second = updated("i:2", 3, true);
    let replaced = |there: &[Value]| -> Vec<String> { of(&second, there).replace.iter().map(Pod::name_any).collect() };
    let plan = of(&second, &there);
    assert_eq!((names(&plan.apply), plan.replace.len()), (vec!["d-g-z0-v1"], 0));
    assert_eq!(plan.apply[0]["spec"]["updateStrategy"], json!({"type": "OnDelete"}));
    carry_out(&mut there, &plan);
    for (updated, ready, expected) in [
        (0, 3, &["d-g-z0-v1-0"][..]),
        (1, 0, &["d-g-z0-v1-1", "d-g-z0-v1-2"]),
        (1, 3, &["d-g-z0-v1-1", "d-g-z0-v1-2"]),
        (3, 2, &[]),
    ] {
        let zone = there.iter_mut().find(|one| one.name() == Some("d-g-z0-v1")).unwrap();
        zone["status"]["updatedReplicas"] = updated.into();
        zone["status"]["readyReplicas"] = ready.into();
        assert_eq!(replaced(&there), expected, "{updated} {ready}");
    }
    let zone = there.iter_mut().find(|one| one.name() == Some("d-g-z0-v1")).unwrap();
    zone["status"]["readyReplicas"] = 3.into();
    assert_eq!(names(&of(&second, &there).apply), ["d-g-z1-v1"]);
}

#[test]
fn what_replaces_no_pods_waits_for_no_zone() {
    let mut set = set("i:1", 1, true);
    let mut there = live(&of(&set, &[]), 1);
    there[0]["status"]["readyReplicas"] = 0.into();
    set.spec
        .template
        .change(|it| it["metadata"] = json!({"annotations": {"a": "b"}}));
    assert_eq!(names(&of(&set, &there).apply), ["d-g-z0-v1", "d-g-z1-v1"]);
}

#[test]
fn a_first_disk_makes_a_version_and_another_disk_makes_the_same_one_again() {
    let first = of(&set("i:1", 1, false), &[]);
    assert_eq!(
        names(&of(&set("i:1", 1, true), &live(&first, 1)).apply),
        ["d-g-z0-v2", "d-g-z1-v2"]
    );
    let first = of(&set("i:1", 1, true), &[]);
    for templates in [
        json!([]),
        json!([{"metadata": {"name": "data"}}, {"metadata": {"name": "more"}}]),
    ] {
        let mut changed = set("i:1", 1, true);
        changed
            .spec
            .template
            .change(|it| it["spec"]["volumeClaimTemplates"] = templates);
        let mut there = live(&first, 1);
        let plan = of(&changed, &there);
        assert!(plan.apply.is_empty() && plan.delete.is_empty() && !plan.ready);
        let pairs: Vec<String> = plan.renew.iter().map(|(old, _)| old.name_any()).collect();
        assert_eq!(pairs, ["d-g-z0-v1"], "zone by zone");
        there[0]["metadata"]["deletionTimestamp"] = json!(Time(Timestamp::UNIX_EPOCH));
        let waiting = of(&changed, &there);
        assert!(waiting.apply.is_empty() && waiting.renew.is_empty() && !waiting.ready);
        there.remove(0);
        let again = of(&changed, &there);
        assert_eq!(names(&again.apply), ["d-g-z0-v1"], "the deleted one");
        assert!(again.renew.is_empty());
    }
}

#[test]
fn a_deleted_stateful_set_is_created_again_for_its_remaining_claims() {
    let claim = json!({"metadata": {"labels": {labels::STATEFUL_SET_NAME: "d-g-z1-v4"}}});
    let claims: [PersistentVolumeClaim; 1] = [serde_json::from_value(claim).unwrap()];
    let back = with(&set("i:1", 1, true), &[], &claims);
    assert_eq!(names(&back.apply), ["d-g-z0-v4", "d-g-z1-v4"]);
    let there = live(&of(&set("i:1", 1, true), &[]), 1);
    let other = with(&set("i:2", 1, true), &there, &claims);
    assert_eq!(
        names(&other.apply),
        ["d-g-z0-v1"],
        "not v4: it is of claims without pods"
    );
}

#[test]
fn the_stateful_set_of_a_removed_zone_is_deleted() {
    let first = of(&set("i:1", 1, true), &[]);
    let mut fewer = set("i:1", 1, true);
    fewer.spec.zones.truncate(1);
    let there = live(&first, 1);
    let changed = of(&fewer, &there);
    let mut there = live(&changed, 1);
    there.push(live(&first, 1).remove(1));
    assert_eq!(names(&of(&fewer, &there).delete), ["d-g-z1-v1"]);
}

/// A group of the operator. `revisions`: of the instances of both zones.
pub(super) fn revised(image: &str, claims: bool, revisions: &[&str]) -> QuarksStatefulSet {
    let mut set = updated(image, u32::try_from(revisions.len()).unwrap(), claims);
    let both = BTreeMap::from([("a", revisions), ("b", revisions)]);
    let annotations = json!({
        labels::INSTANCE_REVISIONS: json!(both).to_string(), labels::RENDERED_AS: format!("d.bpm.g-v{}", revisions.len())
    });
    let template = &mut set.spec.template;
    template.change(|it| it["spec"]["template"]["metadata"]["annotations"] = annotations);
    set
}

/// Ready pods that were made from these StatefulSets before they were changed.
pub(super) fn made_before(there: &[Value]) -> Vec<Pod> {
    let of = |set: &Value| {
        let mut pods = pods(set);
        for pod in &mut pods {
            let annotations = set.pointer("/spec/template/metadata/annotations");
            pod.metadata.annotations = annotations.and_then(|all| serde_json::from_value(all.clone()).ok());
            pod.metadata.labels = Some([("controller-revision-hash".to_string(), "old".to_string())].into());
        }
        pods
    };
    there.iter().flat_map(of).collect()
}

pub(super) fn seen(there: &[Value], pods: &[Pod]) -> Seen {
    Seen {
        live: Live::of(there.to_vec()).unwrap(),
        pods: Some(pods.to_vec()),
        ..Seen::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_leaves_the_files_of_an_instance_replaces_no_pod(
        claims in any::<bool>(),
        count in 0..5_usize,
        label in prop::option::of("[a-c]"),
        annotation in prop::option::of("[a-c]"),
        limits in prop::option::of(("[0-3]", "[1-9]")),
        document in "[a-c]"
    ) {
        let first = live(&of(&revised("i:1", claims, &["1", "1"]), &[]), 2);
        let before = made_before(&first);
        let mut wanted = revised("i:1", claims, &["1", "1", "2", "2"][..count]);
        wanted.spec.template.change(|template| {
            if let Some((canaries, max_in_flight)) = &limits {
                let update = &mut template["metadata"]["annotations"];
                update[labels::CANARIES] = canaries.as_str().into();
                update[labels::MAX_IN_FLIGHT] = max_in_flight.as_str().into();
            }
            let metadata = &mut template["spec"]["template"]["metadata"];
            metadata["annotations"][labels::RENDERED_AS] = document.into();
            if let Some(value) = annotation {
                metadata["annotations"]["team"] = value.into();
            }
            if let Some(value) = label {
                metadata["labels"] = json!({"team": value});
            }
        });
        let plan = plan_at(&wanted, &seen(&first, &before), Timestamp::UNIX_EPOCH);
        prop_assert_eq!(names(&plan.apply), ["d-g-z0-v1", "d-g-z1-v1"]);
        prop_assert_eq!((plan.replace.len(), plan.rollout.left, plan.delete.len(), plan.renew.len()), (0, 0, 0, 0));
        // Kubernetes has made pods for new instances only.
        let mut there = live(&plan, 2);
        for one in &mut there {
            one["status"]["updatedReplicas"] = 0.into();
            one["status"]["readyReplicas"] = one["spec"]["replicas"].clone();
        }
        let is_new = |pod: &Pod| ["-2", "-3"].iter().any(|end| pod.name_any().ends_with(end));
        let pods = [before, made_before(&there).into_iter().filter(is_new).collect()].concat();
        let done = plan_at(&wanted, &seen(&there, &pods), Timestamp::from_second(60).unwrap());
        prop_assert!(done.apply.is_empty() && done.replace.is_empty() && done.ready, "{:?}", done);
        prop_assert_eq!(done.versions.ready, Some(1));
    }
}

/// A group of the operator with this many instances in each of these zones.
fn in_zones(claims: bool, zones: &[&str], count: usize) -> QuarksStatefulSet {
    let mut set = revised("i:1", claims, &vec!["1"; count]);
    let revisions: BTreeMap<&str, Vec<&str>> = zones.iter().map(|zone| (*zone, vec!["1"; count])).collect();
    let version = if zones.len() > 1 {
        pod_contract::WITH_SEVERAL_ZONES
    } else {
        pod_contract::COMMON_VERSION
    };
    set.spec.template.change(|template| {
        let pods = &mut template["spec"]["template"];
        pods["metadata"]["annotations"][labels::INSTANCE_REVISIONS] = json!(revisions).to_string().into();
        pods["spec"]["initContainers"] = json!([{"name": "template-render", "image": "h:1", "env": [
            {"name": pod_contract::AZ_COUNT_VARIABLE, "value": zones.len().to_string()},
            {"name": pod_contract::VERSION_VARIABLE, "value": version.to_string()}
        ]}]);
    });
    set.spec.zones = zones.iter().map(ToString::to_string).collect();
    set
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn zones_that_are_added_or_removed_at_the_end_replace_no_pod_of_the_others(
        claims in any::<bool>(),
        before in 1..5_usize,
        after in 1..5_usize,
        count in 1..4_u8
    ) {
        let group = |zones: usize| in_zones(claims, &["a", "b", "c", "d"][..zones], count.into());
        let made = |zones: Range<usize>| zones.map(|zone| format!("d-g-z{zone}-v1")).collect::<Vec<_>>();
        let mut there = live(&of(&group(before), &[]), count.into());
        let old = made_before(&there);
        let plan = plan_at(&group(after), &seen(&there, &old), Timestamp::UNIX_EPOCH);
        let changes = (plan.replace.len(), plan.rollout.left, plan.delete.len(), plan.renew.len());
        prop_assert_eq!(changes, (0, 0, 0, 0));
        let written = if before == after { 0 } else { after };
        prop_assert_eq!(names(&plan.apply), made(0..written));
        // Kubernetes has made pods in new zones only.
        carry_out(&mut there, &plan);
        for one in &mut there {
            one["status"]["updatedReplicas"] = 0.into();
        }
        let is_new = |pod: &Pod| old.iter().all(|old| old.name_any() != pod.name_any());
        let pods = [old.clone(), made_before(&there).into_iter().filter(is_new).collect()].concat();
        let done = plan_at(&group(after), &seen(&there, &pods), Timestamp::from_second(60).unwrap());
        prop_assert!(done.apply.is_empty() && done.replace.is_empty() && done.ready, "{:?}", done);
        prop_assert_eq!(names(&done.delete), made(after..before));
        prop_assert_eq!(done.versions.ready, Some(1));
    }
}

/// A group whose containers have this limit of memory, in MiB.
fn sized(claims: bool, count: usize, memory: u32) -> QuarksStatefulSet {
    let mut set = revised("i:1", claims, &vec!["1"; count]);
    let resources = json!({"limits": {"memory": format!("{memory}Mi")}});
    let template = &mut set.spec.template;
    template.change(|it| it["spec"]["template"]["spec"]["containers"][0]["resources"] = resources);
    set
}

/// In a cluster that can resize pods.
fn resizing(there: &[Value], pods: &[Pod]) -> Seen {
    Seen {
        resizes: true,
        ..seen(there, pods)
    }
}

/// As a reconcile plans: with pods only if they are needed.
fn planned(set: &QuarksStatefulSet, there: &[Value], pods: &[Pod]) -> Plan {
    let now = Timestamp::from_second(60).unwrap();
    let unlisted = Seen {
        pods: None,
        ..resizing(there, pods)
    };
    match plan(set, &unlisted, &owner(), now) {
        Err(PlanError::NeedsPods) => plan_at(set, &resizing(there, pods), now),
        planned => planned.ok().unwrap(),
    }
}

/// Notes what a pod records of a resize.
fn annotate(pods: &mut [Pod], resized: &Pod, members: &Value) {
    let mut found = pods.iter_mut().filter(|pod| pod.name_any() == resized.name_any());
    let annotations = found.next().unwrap().annotations_mut();
    for (key, value) in members["metadata"]["annotations"].as_object().unwrap() {
        match value.as_str() {
            Some(value) => drop(annotations.insert(key.clone(), value.into())),
            None => drop(annotations.remove(key)),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn other_amounts_of_memory_replace_no_pod_and_resize_each_once(
        claims in any::<bool>(),
        count in 1..30_usize,
        reverts in any::<bool>(),
        after in 0..4_usize
    ) {
        let mut there = live(&of(&sized(claims, count, 64), &[]), i64::try_from(count).unwrap());
        let mut pods = made_before(&there);
        // With pods that have the resources of the manifest before it, after some steps of this one.
        let edits = if reverts { vec![(128, after), (64, 9)] } else { vec![(128, 9)] };
        for (memory, steps) in edits {
            let wanted = reported(sized(claims, count, memory), 1, 1, "RolledOut");
            let mut resized: BTreeMap<String, usize> = BTreeMap::new();
            let mut is_done = false;
            for _ in 0..steps {
                let plan = planned(&wanted, &there, &pods);
                let replaced = (plan.replace.len(), plan.rollout.left, plan.delete.len(), plan.renew.len());
                prop_assert_eq!(replaced, (0, 0, 0, 0));
                is_done = plan.apply.is_empty() && plan.resizes.now.is_empty();
                prop_assert_eq!(is_done, plan.ready, "{:?}", plan.rollout);
                for one in &plan.resizes.now {
                    *resized.entry(one.pod.name_any()).or_default() += 1;
                    annotate(&mut pods, &one.pod, &one.members_when_done());
                }
                carry_out(&mut there, &plan);
                // An earlier template has its revision again, so nothing tells that its pods have had another one.
                let updated = if memory == 64 { count } else { 0 };
                for one in &mut there {
                    one["status"]["updatedReplicas"] = updated.into();
                }
            }
            prop_assert!(resized.values().all(|times| *times == 1), "{resized:?}");
            if steps == 9 {
                prop_assert!(is_done);
                let digest = Digest::of(json!(wanted.spec));
                let has = |pod: &Pod| {
                    let recorded = pod.annotations().get(labels::RESOURCES_DIGEST);
                    recorded.map(String::as_str) == digest.of_resources()
                };
                prop_assert!(pods.iter().all(has));
                prop_assert!(reverts || resized.len() == 2 * count);
            }
        }
    }
}

#[test]
fn other_amounts_of_memory_restart_the_group_where_the_cluster_cannot_resize_pods() {
    let plan = |claims| {
        let there = live(&of(&sized(claims, 2, 64), &[]), 2);
        let seen = seen(&there, &made_before(&there));
        plan_at(&sized(claims, 2, 128), &seen, Timestamp::UNIX_EPOCH)
    };
    assert_eq!(names(&plan(false).apply), ["d-g-z0-v2", "d-g-z1-v2"]);
    let in_place = plan(true);
    assert_eq!((names(&in_place.apply), in_place.rollout.left), (vec!["d-g-z0-v1"], 4));
    assert!(in_place.resizes.now.is_empty());
}

#[test]
fn pods_that_are_refused_their_resources_are_replaced_in_the_order_of_a_rollout() {
    for claims in [false, true] {
        let mut there = live(&of(&sized(claims, 3, 64), &[]), 3);
        let mut pods = made_before(&there);
        let wanted = sized(claims, 3, 128);
        let plan = |there: &[Value], pods: &[Pod]| plan_at(&wanted, &resizing(there, pods), Timestamp::UNIX_EPOCH);
        let first = plan(&there, &pods);
        assert_eq!((first.resizes.now.len(), first.apply.len()), (6, 2));
        for one in &first.resizes.now {
            let is_refused = one.pod.name_any().starts_with("d-g-z0");
            let members = if is_refused {
                one.members_when_refused()
            } else {
                one.members_when_done()
            };
            annotate(&mut pods, &one.pod, &members);
        }
        carry_out(&mut there, &first);
        for one in &mut there {
            one["status"]["updatedReplicas"] = 0.into();
        }
        let second = plan(&there, &pods);
        let replaced: Vec<String> = second.replace.iter().map(Pod::name_any).collect();
        assert_eq!(
            (replaced, second.rollout.left),
            (vec!["d-g-z0-v1-0".to_string()], 3),
            "{claims}"
        );
        assert!(second.resizes.now.is_empty());
    }
}

#[test]
fn zones_in_another_order_replace_the_group() {
    for claims in [false, true] {
        let there = live(&of(&in_zones(claims, &["a", "b", "c"], 1), &[]), 1);
        let before = made_before(&there);
        for (zones, left) in [(["b", "a", "c"], 2), (["a", "c", "b"], 2), (["a", "x", "c"], 1)] {
            let wanted = in_zones(claims, &zones, 1);
            let plan = plan_at(&wanted, &seen(&there, &before), Timestamp::UNIX_EPOCH);
            let (version, left) = if claims { (1, left) } else { (2, 3) };
            assert_eq!((plan.versions.wanted, plan.rollout.left), (version, left), "{zones:?}");
        }
    }
}

#[test]
fn a_version_that_takes_over_gets_the_memory_that_its_first_instances_lack() {
    let group = |image: &str, memory: u32| {
        let mut set = sized(false, 3, memory);
        set.spec
            .template
            .change(|it| it["spec"]["template"]["spec"]["containers"][0]["image"] = image.into());
        set
    };
    let mut there = live(&of(&group("i:1", 64), &[]), 3);
    let mut pods = made_before(&there);
    let second = plan_at(&group("i:broken", 64), &resizing(&there, &pods), Timestamp::UNIX_EPOCH);
    carry_out(&mut there, &second);
    assert_eq!(sizes(&there, "i:broken"), [1, 0]);
    let started = there.iter().filter(|one| one.name().unwrap().ends_with("v2"));
    pods.extend(made_before(&started.cloned().collect::<Vec<_>>()));
    let plan = plan_at(&group("i:broken", 128), &resizing(&there, &pods), Timestamp::UNIX_EPOCH);
    let resized: Vec<String> = plan.resizes.now.iter().map(|one| one.pod.name_any()).collect();
    assert_eq!((resized, plan.versions.newest), (vec!["d-g-z0-v2-0".to_string()], 2));
}

#[test]
fn only_instances_whose_files_differ_are_replaced_where_pods_have_disks() {
    let first = live(&of(&revised("i:1", true, &["1", "1", "1"]), &[]), 3);
    let before = made_before(&first);
    let wanted = revised("i:1", true, &["1", "2", "2"]);
    let plan = plan_at(&wanted, &seen(&first, &before), Timestamp::UNIX_EPOCH);
    assert_eq!(
        (names(&plan.apply), plan.replace.len(), plan.rollout.left),
        (vec!["d-g-z0-v1"], 0, 4)
    );
    let mut there = first.clone();
    carry_out(&mut there, &plan);
    let set = there.iter_mut().find(|one| one.name() == Some("d-g-z0-v1")).unwrap();
    set["status"]["updatedReplicas"] = 0.into();
    let next =
        |pods: &[Pod], second: i64| plan_at(&wanted, &seen(&there, pods), Timestamp::from_second(second).unwrap());
    let canary = next(&before, 0);
    let replaced = |plan: &Plan| plan.replace.iter().map(Pod::name_any).collect::<Vec<_>>();
    assert_eq!(
        replaced(&canary),
        ["d-g-z0-v1-1"],
        "instance 0 stays, so the canary is the next one"
    );
    // It was made again, from the present template.
    let mut pods = before.clone();
    let again = made_before(&there)
        .into_iter()
        .find(|pod| pod.name_any() == "d-g-z0-v1-1")
        .unwrap();
    let at = pods.iter().position(|pod| pod.name_any() == "d-g-z0-v1-1").unwrap();
    pods[at] = again;
    pods[at].metadata.labels = Some([("controller-revision-hash".to_string(), "new".to_string())].into());
    assert_eq!(replaced(&next(&pods, 60)), ["d-g-z0-v1-2"]);
    pods[at].status.as_mut().unwrap().conditions.as_mut().unwrap()[0].status = "False".into();
    assert_eq!(replaced(&next(&pods, 60)), [""; 0], "the canary is not ready yet");
    let back = plan_at(
        &revised("i:1", true, &["1", "1", "1"]),
        &seen(&there, &pods),
        Timestamp::UNIX_EPOCH,
    );
    assert_eq!(back.rollout.left, 1, "only the canary runs something else");
}

#[test]
fn a_group_without_disks_is_handed_over_if_an_instance_that_it_has_differs() {
    let first = live(&of(&revised("i:1", false, &["1", "1"]), &[]), 2);
    let before = made_before(&first);
    let plan = |wanted: &QuarksStatefulSet| plan_at(wanted, &seen(&first, &before), Timestamp::UNIX_EPOCH);
    assert_eq!(
        names(&plan(&revised("i:1", false, &["1", "2"])).apply),
        ["d-g-z0-v2", "d-g-z1-v2"]
    );
    assert_eq!(
        names(&plan(&revised("i:2", false, &["1", "1"])).apply),
        ["d-g-z0-v2", "d-g-z1-v2"]
    );
}

#[test]
fn kubectl_rollout_restart_replaces_pods_whatever_their_revisions() {
    let mut there = live(&of(&revised("i:1", true, &["1"]), &[]), 1);
    let before = made_before(&there);
    there[0]["spec"]["template"]["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"] = "now".into();
    there[0]["status"]["updatedReplicas"] = 0.into();
    let plan = plan_at(
        &revised("i:1", true, &["1"]),
        &seen(&there, &before),
        Timestamp::UNIX_EPOCH,
    );
    let replaced: Vec<String> = plan.replace.iter().map(Pod::name_any).collect();
    assert_eq!(replaced, ["d-g-z0-v1-0"]);
}

#[test]
fn a_group_waits_for_the_groups_before_it_until_its_own_rollout_has_begun() {
    for claims in [false, true] {
        let first = live(&of(&revised("i:1", claims, &["1", "1"]), &[]), 2);
        let before = made_before(&first);
        let held = |set: &QuarksStatefulSet, there: &[Value], pods: &[Pod]| {
            let seen = Seen {
                before: vec!["d-db".into()],
                ..seen(there, pods)
            };
            plan_at(set, &seen, Timestamp::UNIX_EPOCH)
        };
        let second = revised("i:2", claims, &["1", "1"]);
        let waiting = held(&second, &first, &before);
        let text = "4 instances are yet to be updated, after 'd-db'";
        assert_eq!(waiting.rollout.text().unwrap(), text, "{claims}");
        assert!(waiting.replace.is_empty() && waiting.rollout.again.is_some() && !waiting.ready);
        let started: i64 = waiting
            .apply
            .iter()
            .map(|one| one["spec"]["replicas"].as_i64().unwrap())
            .sum();
        assert_eq!(started, 0, "{claims}: no pod of the new template is created");
        // What restarts nothing does not wait.
        let more = held(&revised("i:1", claims, &["1", "1", "1"]), &first, &before);
        assert_eq!(more.apply.len(), 2);
        let mut there = first.clone();
        carry_out(
            &mut there,
            &plan_at(&second, &seen(&first, &before), Timestamp::UNIX_EPOCH),
        );
        if !claims {
            let begun = held(&second, &there, &before);
            assert_eq!(begun.rollout.awaited, ["d-g-z0-v2-0"], "it does not stop on its way");
        }
    }
}

fn paused(mut set: QuarksStatefulSet) -> QuarksStatefulSet {
    set.spec.paused = true;
    set
}

#[test]
fn a_paused_group_keeps_its_pods_until_it_is_resumed() {
    for claims in [false, true] {
        let first = of(&set("i:1", 2, claims), &[]);
        let there = live(&first, 2);
        let mut ready = set("i:2", 2, claims);
        ready.status = serde_json::from_value(json!({"version": 1, "templateDigest": "", "readyVersion": 1})).unwrap();
        let waits = of(&paused(ready.clone()), &there);
        let changes = (&waits.apply, &waits.delete, &waits.replace, &waits.new_objects);
        assert_eq!(changes, (&vec![], &vec![], &vec![], &vec![]), "{claims}");
        assert!(!waits.ready && waits.rollout.is_paused() && waits.rollout.left == 4);
        let text = "4 instances are yet to be updated, when it is no longer paused";
        assert_eq!(waits.rollout.text().as_deref(), Some(text));
        let resumed = of(&ready, &there);
        assert!(!resumed.apply.is_empty() && !resumed.rollout.is_paused(), "{claims}");
        let there = live(&of(&revised("i:1", claims, &["1", "1"]), &[]), 2);
        let more = paused(revised("i:1", claims, &["1", "1", "1"]));
        let scaled = plan_at(&more, &seen(&there, &made_before(&there)), Timestamp::UNIX_EPOCH);
        assert_eq!((scaled.apply.len(), scaled.rollout.is_paused()), (2, false), "{claims}");
    }
}

#[test]
fn a_paused_group_starts_nothing_new_and_keeps_what_it_has() {
    let first = of(&paused(set("i:1", 1, false)), &[]);
    assert!(first.apply.is_empty() && !first.ready && first.rollout.left == 2);
    // A version that is not ready stays, although its fix waits.
    let there = live(&of(&set("i:1", 1, false), &[]), 0);
    let fix = of(&paused(set("i:2", 1, false)), &there);
    assert!(fix.apply.is_empty() && fix.delete.is_empty());
    let mut lost = paused(set("i:1", 1, false));
    let digest = Digest::of(json!(set("i:1", 1, false).spec));
    let status = json!({"version": 1, "templateDigest": digest.text(), "readyVersion": 1});
    lost.status = serde_json::from_value(status).unwrap();
    assert_eq!(
        names(&of(&lost, &[]).apply),
        ["d-g-z0-v1", "d-g-z1-v1"],
        "it has served"
    );
}

/// The StatefulSet of the first zone after the canary of `second` has failed, and all pods.
fn with_failed_canary(first: &QuarksStatefulSet, second: &QuarksStatefulSet) -> (Vec<Value>, Vec<Pod>) {
    let mut there = live(&of(first, &[]), 3);
    let mut pods = made_before(&there);
    let plan = plan_at(second, &seen(&there, &pods), Timestamp::UNIX_EPOCH);
    carry_out(&mut there, &plan);
    let at = there.iter().position(|one| one.name() == Some("d-g-z0-v1")).unwrap();
    there.swap(0, at);
    there[0]["metadata"]["uid"] = "s".into();
    there[0]["status"] = json!({"observedGeneration": 1, "replicas": 3, "readyReplicas": 2, "updatedReplicas": 1, "updateRevision": "new"});
    let canary = pods.iter_mut().find(|pod| pod.name_any() == "d-g-z0-v1-0").unwrap();
    canary.labels_mut().insert(REVISION.into(), "new".into());
    let annotations = there[0].pointer("/spec/template/metadata/annotations");
    canary.metadata.annotations = annotations.and_then(|all| serde_json::from_value(all.clone()).ok());
    canary.status.as_mut().unwrap().conditions.as_mut().unwrap()[0].status = "False".into();
    (there, pods)
}

#[test]
fn a_stopped_rollout_sets_the_template_of_its_zone_back_until_it_goes_on() {
    let later = Timestamp::from_second(700).unwrap();
    let users = |image: &str| updated(image, 3, true);
    let operators = |image: &str| revised(image, true, &["1", "1", "1"]);
    let groups: [&dyn Fn(&str) -> QuarksStatefulSet; 2] = [&users, &operators];
    for group in groups {
        let (first, broken) = (group("i:1"), group("i:broken"));
        let (mut there, mut pods) = with_failed_canary(&first, &broken);
        assert!(
            plan_at(&broken, &seen(&there, &pods), Timestamp::UNIX_EPOCH)
                .set_back
                .is_empty()
        );
        let stopped = plan_at(&broken, &seen(&there, &pods), later);
        let [set_back] = stopped.set_back.as_slice() else {
            panic!("{stopped:?}");
        };
        assert_eq!(set_back.revision, "old");
        let mut earlier = of(&first, &[]).apply[0].pointer("/spec/template").unwrap().clone();
        earlier["$patch"] = "replace".into();
        earlier.set_annotation(RESTARTED_AT, Some("earlier"));
        let mut revision = json!({"metadata": {"name": "old"}, "revision": 1, "data": {"spec": {"template": earlier}}});
        let typed = |revision: &Value| serde_json::from_value(revision.clone()).unwrap();
        assert_eq!(set_back.object(&typed(&revision)), None, "of another StatefulSet");
        revision["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "k", "name": "n", "uid": "s"}]);
        let mut object = set_back.object(&typed(&revision)).unwrap();
        let containers = of(&first, &[]).apply[0]["spec"]["template"]["spec"].clone();
        assert_eq!(object["spec"]["template"]["spec"], containers);
        let annotations = &object["spec"]["template"]["metadata"]["annotations"];
        assert!(annotations.get(RESTARTED_AT).is_none(), "the user's stays: {object:#}");
        for member in ["metadata/uid", "status"] {
            let value = there[0].pointer(&format!("/{member}")).unwrap().clone();
            let parent = object
                .pointer_mut(if member == "status" { "" } else { "/metadata" })
                .unwrap();
            parent[member.rsplit('/').next().unwrap()] = value;
        }
        object["status"]["updateRevision"] = "old".into();
        there[0] = object;
        // The same as long as nothing changes.
        let plan = plan_at(&broken, &seen(&there, &pods), later);
        assert!(plan.apply.is_empty() && plan.set_back.is_empty() && plan.replace.is_empty());
        assert_eq!((plan.rollout.failure(), plan.rollout.left), (Some("CanaryFailed"), 5));
        let canary = pods
            .iter()
            .filter(|pod| !pod.name_any().starts_with("d-g-z0-v1-") || pod.name_any().ends_with("-0"));
        let lost = plan_at(&broken, &seen(&there, &canary.cloned().collect::<Vec<_>>()), later);
        assert!(
            lost.apply.is_empty() && lost.set_back.is_empty(),
            "all others are lost: {lost:?}"
        );
        // With another manifest it goes on, and so it does when the canary becomes ready.
        let fixed = plan_at(&group("i:2"), &seen(&there, &pods), later);
        assert_eq!(
            (names(&fixed.apply), sizes(&fixed.apply, "i:2")),
            (vec!["d-g-z0-v1"], vec![3])
        );
        pods.iter_mut()
            .find(|pod| pod.name_any() == "d-g-z0-v1-0")
            .unwrap()
            .status = pods[1].status.clone();
        let ready = plan_at(&broken, &seen(&there, &pods), later);
        assert_eq!((names(&ready.apply), ready.replace.len()), (vec!["d-g-z0-v1"], 0));
        assert_eq!(sizes(&ready.apply, "i:broken"), [3]);
        assert_eq!(ready.apply[0].annotation("quarks.cloudfoundry.org/set-back-from"), None);
    }
}

#[test]
fn a_pause_sets_the_template_of_its_zone_back_once_what_has_begun_is_done() {
    let (there, mut pods) = with_failed_canary(&updated("i:1", 3, true), &updated("i:2", 3, true));
    let second = paused(updated("i:2", 3, true));
    assert!(
        plan_at(&second, &seen(&there, &pods), Timestamp::UNIX_EPOCH)
            .set_back
            .is_empty()
    );
    pods.iter_mut()
        .find(|pod| pod.name_any() == "d-g-z0-v1-0")
        .unwrap()
        .status = pods[1].status.clone();
    let plan = plan_at(&second, &seen(&there, &pods), Timestamp::from_second(60).unwrap());
    assert_eq!((plan.set_back.len(), plan.replace.len(), plan.rollout.left), (1, 0, 5));
    // It stays the one that most pods are made from.
    let next = pods.iter_mut().find(|pod| pod.name_any() == "d-g-z0-v1-1").unwrap();
    next.labels_mut().insert(REVISION.into(), "new".into());
    let plan = plan_at(&second, &seen(&there, &pods), Timestamp::from_second(60).unwrap());
    assert_eq!((plan.set_back.len(), plan.replace.len(), plan.rollout.left), (0, 0, 4));
}

/// With the status of a change that is not complete, or of one that is.
pub(super) fn reported(mut set: QuarksStatefulSet, newest: u32, ready: u32, reason: &str) -> QuarksStatefulSet {
    let digest = Digest::of(json!(set.spec));
    let condition = json!({"type": "Progressing", "status": "True", "reason": reason, "message": "",
        "lastTransitionTime": Timestamp::UNIX_EPOCH.to_string()});
    let status =
        json!({"version": newest, "templateDigest": digest.text(), "readyVersion": ready, "conditions": [condition]});
    set.status = serde_json::from_value(status).unwrap();
    set
}

#[test]
fn the_last_instances_of_a_change_can_fail_too_and_a_pod_that_fails_later_is_no_update() {
    for claims in [false, true] {
        let group = |image| {
            let mut set = updated(image, 1, claims);
            set.spec.zones.clear();
            set
        };
        let mut there = live(&of(&group("i:1"), &[]), 1);
        let broken = group("i:broken");
        for _ in 0..2 {
            let plan = of(&broken, &there);
            carry_out(&mut there, &plan);
        }
        for one in &mut there {
            let is_broken = one.pointer("/spec/template/spec/containers/0/image").unwrap() == "i:broken";
            one["spec"]["replicas"] = 1.into();
            let ready = i32::from(!is_broken);
            one["status"] = json!({"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": ready,
                "updateRevision": "new"});
        }
        let pods: Vec<Pod> = there.iter().flat_map(pods).collect();
        let later = Timestamp::from_second(700).unwrap();
        let plan = |set: QuarksStatefulSet, now| plan_at(&set, &seen(&there, &pods), now);
        let newest = if claims { 1 } else { 2 };
        let waits = plan(reported(broken.clone(), newest, 1, "Updating"), Timestamp::UNIX_EPOCH);
        assert!(waits.rollout.failure().is_none() && !waits.ready, "{claims}");
        let failed = plan(reported(broken.clone(), newest, 1, "Updating"), later);
        assert_eq!(
            failed.rollout.failure(),
            Some("CanaryFailed"),
            "{claims}: {:?}",
            failed.rollout
        );
        let text = "was not ready within its watch time; it goes on when it is ready, or with another manifest";
        assert!(
            failed.rollout.text().unwrap().ends_with(text),
            "{:?}",
            failed.rollout.text()
        );
        let rested = plan(reported(broken.clone(), newest, newest, "RolledOut"), later);
        assert_eq!(
            (rested.rollout.failure(), rested.rollout.text()),
            (None, None),
            "{claims}"
        );
    }
}

#[test]
fn an_older_version_stays_until_the_watch_time_of_the_last_instances_has_passed() {
    let with_minimum = |image| {
        let mut set = updated(image, 1, false);
        set.spec
            .template
            .change(|it| it["metadata"]["annotations"][labels::CANARY_WATCH_TIME] = "30000-60000".into());
        set.spec
            .template
            .change(|it| it["metadata"]["annotations"][labels::UPDATE_WATCH_TIME] = "30000-60000".into());
        set
    };
    let mut there = live(&of(&with_minimum("i:1"), &[]), 1);
    let second = reported(with_minimum("i:2"), 2, 1, "Updating");
    let at = |there: &[Value], time| {
        let pods: Vec<Pod> = there.iter().flat_map(pods).collect();
        plan_at(&second, &seen(there, &pods), Timestamp::from_second(time).unwrap())
    };
    for time in [0, 40, 40] {
        let plan = at(&there, time);
        carry_out(&mut there, &plan);
    }
    assert_eq!(sizes(&there, "i:2"), [1, 1]);
    let waits = at(&there, 20);
    assert!(!waits.ready && waits.delete.is_empty() && waits.rollout.again.is_some());
    let text = "the update of 'd-g-z0-v2-0', 'd-g-z1-v2-0' is not complete";
    assert_eq!(waits.rollout.text().as_deref(), Some(text));
    let done = at(&there, 80);
    assert_eq!(
        (done.ready, names(&done.delete)),
        (true, vec!["d-g-z0-v1", "d-g-z1-v1"])
    );
}
