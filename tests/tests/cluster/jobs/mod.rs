//! QuarksJobs from the user's view. Kubernetes' own controller runs the Jobs; the tests do what a node would do to
//! their pods.

mod deaths;
mod hands;
mod kept;

use crate::stage::Stage;
use boson_api::{ConditionStatus, QuarksJob};
use hands::{
    PATIENCE, TICK, ask, condition, events, has_succeeded, is_running, jobs, pod, run, says, secret, template, trigger,
    until,
};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use std::time::Duration;

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

    // Asked again while it runs: the next run comes afterwards.
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
    let deleted = async {
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
    tokio::time::timeout(PATIENCE, deleted)
        .await
        .expect("Job and pod go after the success");

    // No writes once converged, even with two operators.
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

#[tokio::test(flavor = "multi_thread")]
async fn a_finished_job_reruns_when_its_inputs_change_and_a_failure_stays_visible() {
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

    // A new version of another series, or changed labels, do not count as changes.
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
    let reported = events(&stage).await;
    assert!(
        reported.iter().any(|event| event.contains("ended with code 3")),
        "{reported:?}"
    );
    assert!(
        !format!("{reported:?} {object:?}").contains("CANARY"),
        "what a container wrote is shown"
    );

    // A run in progress is cancelled for a newer configuration.
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
async fn an_error_of_the_server_is_reported_and_fixing_the_object_is_enough() {
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
async fn output_pods_have_an_account_with_few_permissions() {
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

    // The namespace may name another account.
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
