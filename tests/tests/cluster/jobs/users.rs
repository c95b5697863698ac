//! What users of QuarksJobs do and read, and what a node would do to their pods.

use crate::kubelet::report;
use crate::operator_tasks::OperatorTasks;
use anyhow::Context;
use boson_api::{Condition, ConditionStatus, QuarksJob};
use boson_tests::wait_for_value;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Pod, Secret};
use k8s_openapi::api::events::v1::Event;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};

/// A template with one container, and the given fields of its pod.
pub fn template(pod: &Value) -> Value {
    let mut spec = json!({"restartPolicy": "Never", "containers": [{"name": "work", "image": "work:1"}]});
    for (key, value) in pod.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    json!({"spec": {"backoffLimit": 0, "template": {"metadata": {"labels": {"delete": "pod"}}, "spec": spec}}})
}

pub async fn ask(env: &OperatorTasks, name: &str, spec: &Value) {
    let object = json!({
        "apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "QuarksJob", "metadata": {"name": name}, "spec": spec
    });
    let parameters = PatchParams::apply("user").force();
    env.api::<QuarksJob>()
        .patch(name, &parameters, &Patch::Apply(object))
        .await
        .unwrap();
}

pub async fn trigger(env: &OperatorTasks, name: &str, strategy: &str) {
    let patch = json!({"spec": {"trigger": {"strategy": strategy}}});
    env.api::<QuarksJob>()
        .patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
}

pub fn condition<'o>(object: &'o QuarksJob, kind: &str) -> Option<&'o Condition> {
    let status = object.status.as_ref()?;
    let current = status.observed_generation == object.metadata.generation;
    status
        .conditions
        .iter()
        .find(|condition| current && condition.kind == kind)
}

pub fn says(object: &QuarksJob, kind: &str, status: ConditionStatus, reason: &str) -> bool {
    condition(object, kind).is_some_and(|condition| condition.status == status && condition.reason == reason)
}

pub fn is_running(object: &QuarksJob) -> bool {
    says(object, "Complete", ConditionStatus::False, "Running")
}

pub fn has_succeeded(object: &QuarksJob) -> bool {
    says(object, "Complete", ConditionStatus::True, "Succeeded")
}

pub async fn jobs(env: &OperatorTasks) -> Vec<Job> {
    env.api::<Job>().list(&ListParams::default()).await.unwrap().items
}

/// A pod of the QuarksJob that has not run yet.
pub async fn pod(env: &OperatorTasks, name: &str) -> Pod {
    let query = ListParams::default().labels(&format!("quarks.cloudfoundry.org/qjob-name={name}"));
    let waits = |pod: &Pod| {
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        phase == Some("Pending") && pod.metadata.deletion_timestamp.is_none()
    };
    wait_for_value(&format!("a pod of {name}"), async || {
        let pods = env.api::<Pod>().list(&query).await.unwrap().items;
        pods.into_iter().find(waits).context("none")
    })
    .await
}

/// Does what a node would: each container of the pod ends with this code and message.
pub async fn run(env: &OperatorTasks, name: &str, code: i32, message: &str) {
    let pod = pod(env, name).await;
    let containers = pod.spec.as_ref().unwrap().containers.iter();
    let reason = if code == 0 { "Completed" } else { "Error" };
    let ended = json!({"exitCode": code, "reason": reason, "message": message});
    let statuses: Vec<Value> = containers
        .map(|one| {
            json!({"name": one.name, "image": one.image, "imageID": "", "ready": false, "restartCount": 0, "state": {"terminated": ended}})
        })
        .collect();
    let phase = if code == 0 { "Succeeded" } else { "Failed" };
    let status = json!({"phase": phase, "containerStatuses": statuses});
    // A pod that was deleted meanwhile has ended, too.
    let _ = report(&env.api(), &pod.metadata, status).await;
}

pub async fn secret(env: &OperatorTasks, name: &str, versioned: bool, text: &str) {
    let labels = if versioned {
        json!({"quarks.cloudfoundry.org/secret-kind": "versionedSecret"})
    } else {
        json!({})
    };
    let object = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "labels": labels}, "stringData": {"k": text}
    });
    let parameters = PatchParams::apply("user").force();
    env.api::<Secret>()
        .patch(name, &parameters, &Patch::Apply(object))
        .await
        .unwrap();
}

pub async fn events(env: &OperatorTasks) -> Vec<String> {
    let events = env.api::<Event>().list(&ListParams::default()).await.unwrap();
    let ours = events
        .items
        .into_iter()
        .filter(|event| event.regarding.as_ref().and_then(|about| about.kind.as_deref()) == Some("QuarksJob"));
    let mut reported: Vec<String> = ours
        .map(|event| {
            format!(
                "{}: {}",
                event.reason.unwrap_or_default(),
                event.note.unwrap_or_default()
            )
        })
        .collect();
    reported.sort();
    reported
}
