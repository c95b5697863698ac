//! What a plan writes, deletes and leaves alone.

use super::*;
use boson_cluster::objects::DIGEST;
use boson_manifest::labels;
use serde_json::json;

fn names() -> Names {
    Names::new("d", "n", "cluster.local").unwrap()
}

fn service(name: &str, group: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Service",
        "metadata": {"name": name, "labels": {labels::INSTANCE_GROUP_NAME: group}}, "spec": {"clusterIP": "None"}})
}

fn group(name: &str) -> Value {
    json!({"apiVersion": labels::API_VERSION, "kind": "QuarksStatefulSet",
        "metadata": {"name": name, "labels": {labels::INSTANCE_GROUP_NAME: name}}, "spec": {"template": {}}})
}

fn secret(policy: &str) -> Value {
    json!({"apiVersion": labels::API_VERSION, "kind": "QuarksSecret", "metadata": {"name": "d.var-a"},
        "spec": {"type": "password", "secretName": "d.var-a", "reclaimPolicy": policy}})
}

fn desired(objects: &[Value]) -> Desired {
    Desired {
        objects: objects.to_vec(),
        manifest: "d.desired-manifest-v2".into(),
        sources: JobSources::default(),
        held_back: HeldBack::default(),
    }
}

fn live(objects: &[Value]) -> Live {
    Live {
        objects: objects.to_vec(),
        ..Live::default()
    }
}

fn planned(desired: &Desired, live: &Live, mode: ConversionMode) -> Plan {
    let settings = Settings {
        names: &names(),
        mode,
        retain: Retain::WithClaims,
        operator_image: "host:1",
        states: InstanceStates::default(),
        is_paused: false,
        causes: Causes {
            status: None,
            generation: Some(1),
            inputs: Vec::new(),
            plugins: &[],
        },
    };
    plan(desired, live, &settings)
}

fn applying(desired: &Desired, live: &Live, mode: ConversionMode) -> Applying {
    match planned(desired, live, mode) {
        Plan::Apply(applying) => *applying,
        Plan::Retain(_) => unreachable!("no value has to be retained"),
    }
}

fn called(objects: &[Value]) -> Vec<&str> {
    let names = objects.iter().map(|object| object["metadata"]["name"].as_str());
    names.map(Option::unwrap).collect()
}

#[test]
fn objects_of_groups_that_are_held_back_are_neither_written_nor_deleted() {
    let there = [service("d-web", "web"), service("d-db", "db"), service("d-old", "old")];
    let mut desired = desired(&[service("d-db", "db"), service("d-new", "new")]);
    let problem = crate::deployment::error::DeployProblem {
        reason: "RenderFailed".into(),
        message: "no".into(),
        ..Default::default()
    };
    desired.held_back.add(["web".to_string()], problem);
    let plan = applying(&desired, &live(&there), ConversionMode::InProcess);
    assert_eq!(called(&plan.objects.delete), ["d-old"]);
    assert_eq!(called(&plan.objects.apply), ["d-db", "d-new"]);
}

#[test]
fn jobs_of_the_conversion_are_leftovers_only_in_the_other_mode() {
    let job = |name: &str| {
        json!({"apiVersion": labels::API_VERSION, "kind": "QuarksJob", "metadata": {"name": name},
            "spec": {"trigger": {"strategy": "done"}, "template": {}}})
    };
    let there = live(&[job("bpm-configs-d"), job("d-errand")]);
    let deleted = |mode| applying(&desired(&[]), &there, mode).objects.delete;
    assert_eq!(
        called(&deleted(ConversionMode::InProcess)),
        ["bpm-configs-d", "d-errand"]
    );
    assert_eq!(called(&deleted(ConversionMode::Jobs)), ["d-errand"]);
}

#[test]
fn values_are_retained_before_a_group_with_a_claim_is_written() {
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"}});
    let wanted = desired(&[secret("Delete"), group("web"), claim.clone()]);
    let there = objects::plan(vec![secret("Delete")], &[]).apply;
    let Plan::Retain(first) = planned(&wanted, &live(&there), ConversionMode::InProcess) else {
        unreachable!("a value has to be retained")
    };
    assert_eq!(called(&first.secrets.apply), ["d.var-a"]);
    assert_eq!(first.secrets.apply[0]["spec"]["reclaimPolicy"], "Retain");
    let then = applying(&wanted, &live(&first.secrets.apply), ConversionMode::InProcess);
    assert_eq!(called(&then.objects.apply), ["web", "c"]);
    assert!(then.objects.delete.is_empty());
}

#[test]
fn what_pods_mount_is_written_before_them_and_the_event_names_the_group() {
    let plan = applying(
        &desired(&[group("web"), service("d-web", "web")]),
        &live(&[]),
        ConversionMode::InProcess,
    );
    let [first, then] = plan.in_order();
    assert_eq!(
        (&first[0]["kind"], &then[0]["kind"]),
        (&"Service".into(), &"QuarksStatefulSet".into())
    );
    let change = plan.change.as_ref().unwrap();
    assert_eq!(change.note, "created web, Service (1); because of the new deployment");
    assert_eq!(then[0]["metadata"]["labels"][labels::DEPLOYMENT_VERSION], "2");
}

#[test]
fn a_plan_for_the_present_objects_does_nothing() {
    let wanted = desired(&[group("web"), service("d-web", "web")]);
    let written = applying(&wanted, &live(&[]), ConversionMode::InProcess).objects.apply;
    let again = applying(&wanted, &live(&written), ConversionMode::InProcess);
    assert!(again.objects.apply.is_empty() && again.objects.delete.is_empty() && again.change.is_none());
    assert_eq!(called(&again.wanted), ["web", "d-web"], "they are still wanted");
}

#[test]
fn a_service_that_is_still_being_deleted_is_waited_for() {
    let mut with_address = service("d-web", "web");
    with_address["spec"] = json!({"clusterIP": "10.0.0.1"});
    with_address["metadata"]["annotations"] = json!({ DIGEST: "x" });
    let wanted = desired(&[service("d-web", "web")]);
    let leaving = |there: &Value| {
        let plan = applying(&wanted, &live(std::slice::from_ref(there)), ConversionMode::InProcess);
        plan.terminating_service().map(str::to_string)
    };
    assert_eq!(leaving(&with_address), None, "it is deleted and created again");
    with_address["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    assert_eq!(leaving(&with_address), Some("d-web".into()));
}
