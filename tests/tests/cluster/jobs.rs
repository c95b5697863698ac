//! QuarksJobs as their users meet them. Jobs are run by Kubernetes' own controller; what a node would do to their pods is done here.

use crate::faults::{Death, Line};
use crate::stage::Stage;
use boson_controllers::api::{Condition, ConditionStatus, QuarksJob};
use futures::StreamExt;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Secret, ServiceAccount};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Patience for one step, on a machine that does other things too.
const PATIENCE: Duration = Duration::from_secs(90);
const TICK: Duration = Duration::from_millis(50);

/// A template with one container, and what else its pod has.
fn template(pod: &Value) -> Value {
    let mut spec = json!({"restartPolicy": "Never", "containers": [{"name": "work", "image": "work:1"}]});
    for (key, value) in pod.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    json!({"spec": {"backoffLimit": 0, "template": {"metadata": {"labels": {"delete": "pod"}}, "spec": spec}}})
}

async fn ask(stage: &Stage, name: &str, spec: &Value) {
    let object = json!({
        "apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "QuarksJob", "metadata": {"name": name}, "spec": spec
    });
    let parameters = PatchParams::apply("user").force();
    stage
        .api::<QuarksJob>()
        .patch(name, &parameters, &Patch::Apply(object))
        .await
        .unwrap();
}

async fn trigger(stage: &Stage, name: &str, strategy: &str) {
    let patch = json!({"spec": {"trigger": {"strategy": strategy}}});
    stage
        .api::<QuarksJob>()
        .patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
}

/// Waits until the object is so, and gives it.
async fn until(stage: &Stage, name: &str, what: &str, good: impl Fn(&QuarksJob) -> bool) -> QuarksJob {
    let waited = tokio::time::timeout(PATIENCE, async {
        loop {
            match stage.api::<QuarksJob>().get(name).await {
                Ok(object) if good(&object) => return object,
                _ => tokio::time::sleep(TICK).await,
            }
        }
    });
    match waited.await {
        Ok(object) => object,
        Err(_) => panic!(
            "{name}: {what}: {:#?}",
            stage
                .api::<QuarksJob>()
                .get(name)
                .await
                .map(|object| (object.spec.trigger, object.status))
        ),
    }
}

fn condition<'o>(object: &'o QuarksJob, kind: &str) -> Option<&'o Condition> {
    let status = object.status.as_ref()?;
    let current = status.observed_generation == object.metadata.generation;
    status
        .conditions
        .iter()
        .find(|condition| current && condition.kind == kind)
}

fn says(object: &QuarksJob, kind: &str, status: ConditionStatus, reason: &str) -> bool {
    condition(object, kind).is_some_and(|condition| condition.status == status && condition.reason == reason)
}

fn is_running(object: &QuarksJob) -> bool {
    says(object, "Complete", ConditionStatus::False, "Running")
}

fn has_succeeded(object: &QuarksJob) -> bool {
    says(object, "Complete", ConditionStatus::True, "Succeeded")
}

async fn jobs(stage: &Stage) -> Vec<Job> {
    stage.api::<Job>().list(&ListParams::default()).await.unwrap().items
}

/// A pod of the QuarksJob that no node has run yet.
async fn waiting_pod(stage: &Stage, name: &str) -> Option<Pod> {
    let query = ListParams::default().labels(&format!("quarks.cloudfoundry.org/qjob-name={name}"));
    let pods = stage.api::<Pod>().list(&query).await.unwrap().items;
    let waits = |pod: &Pod| {
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        phase == Some("Pending") && pod.metadata.deletion_timestamp.is_none()
    };
    pods.into_iter().find(waits)
}

async fn pod(stage: &Stage, name: &str) -> Pod {
    let waited = tokio::time::timeout(PATIENCE, async {
        loop {
            match waiting_pod(stage, name).await {
                Some(pod) => return pod,
                None => tokio::time::sleep(TICK).await,
            }
        }
    });
    waited.await.unwrap_or_else(|_| panic!("{name} has no pod"))
}

/// Does what a node would: each container of the pod ends with this code and message.
async fn run(stage: &Stage, name: &str, code: i32, message: &str) {
    let pod = pod(stage, name).await;
    end(stage, &pod, code, message).await;
}

async fn end(stage: &Stage, pod: &Pod, code: i32, message: &str) {
    let containers = pod.spec.as_ref().unwrap().containers.iter();
    let reason = if code == 0 { "Completed" } else { "Error" };
    let ended = json!({"exitCode": code, "reason": reason, "message": message});
    let statuses: Vec<Value> = containers
        .map(|one| {
            json!({"name": one.name, "image": one.image, "imageID": "", "ready": false, "restartCount": 0, "state": {"terminated": ended}})
        })
        .collect();
    let phase = if code == 0 { "Succeeded" } else { "Failed" };
    let patch = json!({"status": {"phase": phase, "containerStatuses": statuses}});
    // A pod that went meanwhile has ended, too.
    let _ = stage
        .api::<Pod>()
        .patch_status(&pod.name_any(), &PatchParams::default(), &Patch::Merge(patch))
        .await;
}

async fn secret(stage: &Stage, name: &str, versioned: bool, text: &str) {
    let labels = if versioned {
        json!({"quarks.cloudfoundry.org/secret-kind": "versionedSecret"})
    } else {
        json!({})
    };
    let object = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "labels": labels}, "stringData": {"k": text}
    });
    let parameters = PatchParams::apply("user").force();
    stage
        .api::<Secret>()
        .patch(name, &parameters, &Patch::Apply(object))
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_errand_runs_when_it_is_asked_to_and_once() {
    let stage = Stage::set("errand").await;
    let (one, two) = (stage.operator("one"), stage.operator("two"));
    ask(
        &stage,
        "errand",
        &json!({"trigger": {"strategy": "manual"}, "template": template(&json!({}))}),
    )
    .await;
    until(&stage, "errand", "idle", |object| {
        says(object, "Complete", ConditionStatus::False, "Idle")
    })
    .await;
    assert!(jobs(&stage).await.is_empty());

    trigger(&stage, "errand", "now").await;
    let object = until(&stage, "errand", "running", is_running).await;
    assert_eq!(serde_json::to_value(object.spec.trigger).unwrap()["strategy"], "manual");
    assert_eq!(jobs(&stage).await.len(), 1);
    let spec = pod(&stage, "errand").await.spec.unwrap();
    assert_eq!(spec.automount_service_account_token, Some(false));

    // Asked once more while it runs: afterwards.
    trigger(&stage, "errand", "now").await;
    run(&stage, "errand", 0, "").await;
    until(&stage, "errand", "second run", |object| {
        is_running(object)
            && object
                .status
                .as_ref()
                .is_some_and(|status| status.runs == 2 && !status.completed)
    })
    .await;
    run(&stage, "errand", 0, "").await;
    until(&stage, "errand", "success", has_succeeded).await;
    let gone = async {
        while !jobs(&stage).await.is_empty()
            || !stage
                .api::<Pod>()
                .list(&ListParams::default())
                .await
                .unwrap()
                .items
                .is_empty()
        {
            tokio::time::sleep(TICK).await;
        }
    };
    tokio::time::timeout(PATIENCE, gone)
        .await
        .expect("Job and pod go after the success");

    // Converged is silent, also with two operators.
    let before = (
        stage.api::<QuarksJob>().get("errand").await.unwrap().resource_version(),
        events(&stage).await,
    );
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(
        (
            stage.api::<QuarksJob>().get("errand").await.unwrap().resource_version(),
            events(&stage).await
        ),
        before
    );
    assert!(jobs(&stage).await.is_empty());
    one.stop().await;
    two.stop().await;
}

async fn events(stage: &Stage) -> Vec<String> {
    let events = stage.api::<Event>().list(&ListParams::default()).await.unwrap();
    let ours = events
        .items
        .into_iter()
        .filter(|event| event.regarding.as_ref().and_then(|about| about.kind.as_deref()) == Some("QuarksJob"));
    let mut told: Vec<String> = ours
        .map(|event| {
            format!(
                "{}: {}",
                event.reason.unwrap_or_default(),
                event.note.unwrap_or_default()
            )
        })
        .collect();
    told.sort();
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_done_runs_again_with_what_changed_and_a_failure_stays_in_sight() {
    let stage = Stage::set("renewed").await;
    let operator = stage.operator("one");
    let volumes = json!({"volumes": [
        {"name": "a", "secret": {"secretName": "series-v1"}}, {"name": "b", "configMap": {"name": "map"}},
        {"name": "c", "secret": {"secretName": "absent", "optional": true}}
    ]});
    let spec = json!({"trigger": {"strategy": "once"}, "updateOnConfigChange": true, "template": template(&volumes)});
    secret(&stage, "series-v1", true, "1").await;
    secret(&stage, "series-v2", true, "2").await;
    secret(&stage, "series-other-v9", true, "9").await;
    ask(&stage, "auto", &spec).await;
    let object = until(&stage, "auto", "waiting", |object| {
        says(object, "Complete", ConditionStatus::False, "Waiting")
    })
    .await;
    assert!(
        condition(&object, "Complete")
            .unwrap()
            .message
            .contains("ConfigMap 'map'")
    );
    assert!(jobs(&stage).await.is_empty());

    let map: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "map"}, "data": {"k": "1"}})).unwrap();
    stage.api().create(&PostParams::default(), &map).await.unwrap();
    until(&stage, "auto", "running", is_running).await;
    let used = |pod: &Pod| {
        pod.spec.as_ref().unwrap().volumes.as_ref().unwrap()[0]
            .secret
            .as_ref()
            .unwrap()
            .secret_name
            .clone()
            .unwrap()
    };
    assert_eq!(used(&pod(&stage, "auto").await), "series-v2");
    run(&stage, "auto", 0, "").await;
    let object = until(&stage, "auto", "success", has_succeeded).await;
    assert_eq!(serde_json::to_value(object.spec.trigger).unwrap()["strategy"], "done");

    // A new version of another series, or labels alone, are no change.
    secret(&stage, "series-other-v10", true, "10").await;
    let label = json!({"metadata": {"labels": {"x": "y"}}});
    stage
        .api::<ConfigMap>()
        .patch("map", &PatchParams::default(), &Patch::Merge(label))
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(
        stage.api::<QuarksJob>().get("auto").await.unwrap().status.unwrap().runs,
        1
    );

    secret(&stage, "series-v3", true, "3").await;
    until(&stage, "auto", "second run", |object| {
        is_running(object) && object.status.as_ref().is_some_and(|status| status.runs == 2)
    })
    .await;
    assert_eq!(used(&pod(&stage, "auto").await), "series-v3");
    run(&stage, "auto", 3, "CANARY").await;
    let object = until(&stage, "auto", "failure", |object| {
        says(object, "Failed", ConditionStatus::True, "BackoffLimitExceeded")
    })
    .await;
    let message = &condition(&object, "Failed").unwrap().message;
    assert!(message.contains("container 'work' ended with code 3"), "{message}");
    assert!(!object.status.as_ref().unwrap().completed);
    assert_eq!(jobs(&stage).await.len(), 1, "a failed Job stays");
    let told = events(&stage).await;
    assert!(told.iter().any(|event| event.contains("ended with code 3")), "{told:?}");
    assert!(
        !format!("{told:?} {object:?}").contains("CANARY"),
        "what a container wrote is shown"
    );

    // A run that has not ended gives way to a newer configuration.
    let data = json!({"data": {"k": "2"}});
    stage
        .api::<ConfigMap>()
        .patch("map", &PatchParams::default(), &Patch::Merge(data))
        .await
        .unwrap();
    until(&stage, "auto", "third run", |object| {
        is_running(object) && object.status.as_ref().is_some_and(|status| status.runs == 3)
    })
    .await;
    secret(&stage, "absent", false, "now it is there").await;
    until(&stage, "auto", "fourth run", |object| {
        is_running(object) && object.status.as_ref().is_some_and(|status| status.runs == 4)
    })
    .await;
    run(&stage, "auto", 0, "").await;
    until(&stage, "auto", "success", has_succeeded).await;

    stage
        .api::<QuarksJob>()
        .delete("auto", &DeleteParams::default())
        .await
        .unwrap();
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_server_refuses_is_told_and_mending_it_is_enough() {
    let stage = Stage::set("refused").await;
    let operator = stage.operator("one");
    let spec = |pod: Value| json!({"trigger": {"strategy": "once"}, "template": template(&pod)});
    ask(
        &stage,
        "wrong",
        &spec(json!({"containers": [{"name": "work", "image": "i", "imagePulPolicy": "Always"}]})),
    )
    .await;
    let object = until(&stage, "wrong", "refusal", |object| {
        says(object, "Failed", ConditionStatus::True, "Refused")
    })
    .await;
    let message = &condition(&object, "Failed").unwrap().message;
    assert!(message.contains("imagePulPolicy"), "{message}");
    ask(&stage, "wrong", &spec(json!({}))).await;
    until(&stage, "wrong", "running", is_running).await;

    let mut unknown = spec(json!({}));
    unknown["output"] = json!({"outputMap": {"other": {"output.json": {"name": "s"}}}});
    ask(&stage, "unknown", &unknown).await;
    let object = until(&stage, "unknown", "refusal", |object| {
        says(object, "Failed", ConditionStatus::True, "Refused")
    })
    .await;
    assert!(condition(&object, "Failed").unwrap().message.contains("'other'"));
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_that_keep_output_have_an_account_with_few_rights() {
    let stage = Stage::set("account").await;
    let operator = stage.operator("one");
    let mut spec = json!({"trigger": {"strategy": "now"}, "template": template(&json!({}))});
    spec["output"] = json!({"outputMap": {"work": {"output.json": {"name": "result"}}}});
    ask(&stage, "kept", &spec).await;
    let pod = pod(&stage, "kept").await.spec.unwrap();
    assert_eq!(pod.service_account_name.as_deref(), Some("boson-output"));
    let names: Vec<_> = pod.containers.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["work", "output-persist"]);
    let mounts = |nth: usize| {
        pod.containers[nth]
            .volume_mounts
            .iter()
            .flatten()
            .map(|one| one.mount_path.as_str())
            .collect::<Vec<_>>()
    };
    assert_eq!(mounts(0), ["/mnt/quarks"], "the work sees no token");
    assert!(mounts(1).contains(&"/var/run/secrets/kubernetes.io/serviceaccount"));
    let role = stage.api::<Role>().get("boson-output").await.unwrap();
    let rules: Vec<_> = role
        .rules
        .unwrap()
        .into_iter()
        .map(|rule| (rule.resources.unwrap(), rule.verbs))
        .collect();
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_string()).collect::<Vec<_>>();
    assert_eq!(
        rules,
        [
            (owned(&["pods"]), owned(&["get"])),
            (owned(&["secrets"]), owned(&["get", "list", "create", "update"]))
        ]
    );
    stage.api::<RoleBinding>().get("boson-output").await.unwrap();

    // The namespace may name another.
    let label = json!({"metadata": {"labels": {"quarks.cloudfoundry.org/qjob-service-account": "mine"}}});
    let namespaces: Api<Namespace> = Api::all(stage.client.clone());
    namespaces
        .patch(&stage.namespace, &PatchParams::default(), &Patch::Merge(label))
        .await
        .unwrap();
    ask(&stage, "other", &spec).await;
    let object = until(&stage, "other", "waiting", |object| {
        says(object, "Complete", ConditionStatus::False, "Waiting")
    })
    .await;
    assert!(condition(&object, "Complete").unwrap().message.contains("'mine'"));
    let mine: ServiceAccount = serde_json::from_value(json!({"metadata": {"name": "mine"}})).unwrap();
    stage.api().create(&PostParams::default(), &mine).await.unwrap();
    until(&stage, "other", "running", is_running).await;
    assert_eq!(
        self::pod(&stage, "other")
            .await
            .spec
            .unwrap()
            .service_account_name
            .as_deref(),
        Some("mine")
    );
    operator.stop().await;
}

/// One life that ends as told, and one after it. How many writes there were in the first.
async fn two_lives(name: String, death: Death) -> usize {
    let stage = Stage::set(&name).await;
    let (first, second) = (Line::default(), Line::default());
    let operator = stage.operator_through(first.client(stage.client.clone(), death), "first");
    let mut spec = json!({"trigger": {"strategy": "now"}, "template": template(&json!({}))});
    spec["output"] = json!({"outputMap": {"work": {"output.json": {"name": "result"}}}});
    ask(&stage, "errand", &spec).await;
    let node = async {
        loop {
            if let Some(pod) = waiting_pod(&stage, "errand").await {
                end(&stage, &pod, 0, "").await;
            }
            tokio::time::sleep(TICK).await;
        }
    };
    let lives = async {
        if matches!(death, Death::Never) {
            until(&stage, "errand", "success", has_succeeded).await;
            // The last write comes after it: the Job goes.
            tokio::time::sleep(Duration::from_secs(2)).await;
        } else {
            let cut = async {
                while !first.is_cut() {
                    tokio::time::sleep(TICK).await;
                }
            };
            // With fewer writes than usual there is no such death.
            let _ = tokio::time::timeout(Duration::from_secs(20), cut).await;
        }
        operator.kill().await;
        let operator = stage.operator_through(second.client(stage.client.clone(), Death::Never), "second");
        until(&stage, "errand", "success", has_succeeded).await;
        while !jobs(&stage).await.is_empty() {
            tokio::time::sleep(TICK).await;
        }
        operator.stop().await;
    };
    tokio::select! { () = node => {}, () = lives => {} }
    let landed = [first.landed(), second.landed()].concat();
    let count = |method: &str, part: &str| {
        landed
            .iter()
            .filter(|what| what.starts_with(method) && what.contains(part))
            .count()
    };
    assert_eq!(count("POST", "/jobs"), 1, "{death:?}: {landed:#?}");
    assert_eq!(count("PATCH", "/jobs/"), 1, "{death:?}: it started once: {landed:#?}");
    assert_eq!(count("DELETE", "/jobs/"), 1, "{death:?}: {landed:#?}");
    let status = stage.api::<QuarksJob>().get("errand").await.unwrap().status.unwrap();
    assert_eq!(
        (status.runs, status.ended_runs, status.completed),
        (1, 1, true),
        "{death:?}"
    );
    first.writes.load(Ordering::SeqCst)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_that_dies_at_any_write_runs_an_errand_once() {
    let writes = two_lives("job-death-never".into(), Death::Never).await;
    assert!(writes >= 9, "three for the account, six for the run: {writes}");
    let before = (0..writes).map(|at| (format!("job-death-before-{at}"), Death::Before(at)));
    let after = (0..writes).map(|at| (format!("job-death-after-{at}"), Death::After(at)));
    let lives = futures::stream::iter(before.chain(after)).map(|(name, death)| two_lives(name, death));
    lives.buffer_unordered(6).collect::<Vec<_>>().await;
}
