//! QuarksJobs from the user's view. Kubernetes' own controller runs the Jobs; the tests do what a node would do to
//! their pods.

mod crashes;
mod output;
mod users;

use crate::operator_tasks::OperatorTasks;
use anyhow::ensure;
use boson_api::{ConditionStatus, QuarksJob};
use boson_tests::cluster::shared;
use boson_tests::{is_quiet, wait_for_value, wait_until};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use users::{ask, condition, events, has_succeeded, is_running, jobs, pod, run, says, secret, template, trigger};

#[tokio::test(flavor = "multi_thread")]
async fn an_errand_runs_when_it_is_asked_to_and_once() {
    let env = OperatorTasks::set("errand").await;
    let (one, two) = (env.operator("one"), env.operator("two"));
    ask(
        &env,
        "errand",
        &json!({"trigger": {"strategy": "manual"}, "template": template(&json!({}))}),
    )
    .await;
    env.wait_for_object("errand", "idle", |object| {
        says(object, "Complete", ConditionStatus::False, "Idle")
    })
    .await;
    assert!(jobs(&env).await.is_empty());

    trigger(&env, "errand", "now").await;
    let object = env.wait_for_object("errand", "running", is_running).await;
    assert_eq!(serde_json::to_value(object.spec.trigger).unwrap()["strategy"], "manual");
    assert_eq!(jobs(&env).await.len(), 1);
    let spec = pod(&env, "errand").await.spec.unwrap();
    assert_eq!(spec.automount_service_account_token, Some(false));

    // Asked again while it runs: the next run comes afterwards.
    trigger(&env, "errand", "now").await;
    run(&env, "errand", 0, "").await;
    env.wait_for_object("errand", "second run", |object| {
        is_running(object)
            && object
                .status
                .as_ref()
                .is_some_and(|status| status.runs == 2 && !status.completed)
    })
    .await;
    run(&env, "errand", 0, "").await;
    env.wait_for_object("errand", "success", has_succeeded).await;
    wait_until("the end of Job and pod after the success", async || {
        let pods = env.api::<Pod>().list(&ListParams::default()).await.unwrap();
        jobs(&env).await.is_empty() && pods.items.is_empty()
    })
    .await;

    // No writes once converged, even with two operators.
    let state = async || {
        let errand = env.api::<QuarksJob>().get("errand").await.unwrap();
        (errand.resource_version(), events(&env).await, jobs(&env).await)
    };
    let before = state().await;
    is_quiet("another operator", &before, state()).await;
    one.stop().await;
    two.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finished_job_reruns_when_its_inputs_change_and_a_failure_stays_visible() {
    let env = OperatorTasks::set("renewed").await;
    let operator = env.operator("one");
    let volumes = json!({"volumes": [
        {"name": "a", "secret": {"secretName": "series-v1"}}, {"name": "b", "configMap": {"name": "map"}},
        {"name": "c", "secret": {"secretName": "absent", "optional": true}}
    ]});
    let spec = json!({"trigger": {"strategy": "once"}, "updateOnConfigChange": true, "template": template(&volumes)});
    secret(&env, "series-v1", true, "1").await;
    secret(&env, "series-v2", true, "2").await;
    secret(&env, "series-other-v9", true, "9").await;
    ask(&env, "auto", &spec).await;
    let object = env
        .wait_for_object("auto", "waiting", |object| {
            says(object, "Complete", ConditionStatus::False, "Waiting")
        })
        .await;
    assert!(
        condition(&object, "Complete")
            .unwrap()
            .message
            .contains("ConfigMap 'map'")
    );
    assert!(jobs(&env).await.is_empty());

    let map: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "map"}, "data": {"k": "1"}})).unwrap();
    env.api().create(&PostParams::default(), &map).await.unwrap();
    env.wait_for_object("auto", "running", is_running).await;
    assert_eq!(first_secret(&pod(&env, "auto").await), "series-v2");
    run(&env, "auto", 0, "").await;
    let object = env.wait_for_object("auto", "success", has_succeeded).await;
    assert_eq!(serde_json::to_value(object.spec.trigger).unwrap()["strategy"], "done");

    what_is_no_input_causes_no_run(&env).await;
    secret(&env, "series-v3", true, "3").await;
    env.wait_for_object("auto", "second run", |object| is_in_run(object, 2))
        .await;
    assert_eq!(first_secret(&pod(&env, "auto").await), "series-v3");
    a_failure_stays_visible_without_what_a_container_wrote(&env).await;

    a_newer_configuration_cancels_a_run(&env).await;
    env.api::<QuarksJob>()
        .delete("auto", &DeleteParams::default())
        .await
        .unwrap();
    operator.stop().await;
}

/// A new version of another series, or changed labels, do not count as changes.
async fn what_is_no_input_causes_no_run(env: &OperatorTasks) {
    secret(env, "series-other-v10", true, "10").await;
    let label = json!({"metadata": {"labels": {"x": "y"}}});
    env.api::<ConfigMap>()
        .patch("map", &PatchParams::default(), &Patch::Merge(label))
        .await
        .unwrap();
    is_quiet("a label", &1, async {
        env.api::<QuarksJob>().get("auto").await.unwrap().status.unwrap().runs
    })
    .await;
}

async fn a_newer_configuration_cancels_a_run(env: &OperatorTasks) {
    let data = json!({"data": {"k": "2"}});
    env.api::<ConfigMap>()
        .patch("map", &PatchParams::default(), &Patch::Merge(data))
        .await
        .unwrap();
    env.wait_for_object("auto", "third run", |object| is_in_run(object, 3))
        .await;
    secret(env, "absent", false, "now it is there").await;
    env.wait_for_object("auto", "fourth run", |object| is_in_run(object, 4))
        .await;
    run(env, "auto", 0, "").await;
    env.wait_for_object("auto", "success", has_succeeded).await;
}

fn is_in_run(object: &QuarksJob, number: i64) -> bool {
    is_running(object) && object.status.as_ref().is_some_and(|status| status.runs == number)
}

/// The Secret of the first volume of a pod.
fn first_secret(pod: &Pod) -> &str {
    let volumes = pod.spec.as_ref().and_then(|spec| spec.volumes.as_ref()).unwrap();
    volumes[0].secret.as_ref().unwrap().secret_name.as_deref().unwrap()
}

async fn a_failure_stays_visible_without_what_a_container_wrote(env: &OperatorTasks) {
    run(env, "auto", 3, "CANARY").await;
    let object = env
        .wait_for_object("auto", "failure", |object| {
            says(object, "Failed", ConditionStatus::True, "BackoffLimitExceeded")
        })
        .await;
    let message = &condition(&object, "Failed").unwrap().message;
    assert!(message.contains("container 'work' ended with code 3"), "{message}");
    assert!(!object.status.as_ref().unwrap().completed);
    assert_eq!(jobs(env).await.len(), 1, "a failed Job stays");
    // The event follows the status.
    let reported = wait_for_value("the event of the failure", async || {
        let reported = events(env).await;
        let is_reported = reported.iter().any(|event| event.contains("ended with code 3"));
        ensure!(is_reported, "{reported:?}");
        Ok(reported)
    })
    .await;
    assert!(
        !format!("{reported:?} {object:?}").contains("CANARY"),
        "what a container wrote is shown"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_the_server_is_reported_and_fixing_the_object_is_enough() {
    let env = OperatorTasks::set("refused").await;
    let operator = env.operator("one");
    let spec = |pod: Value| json!({"trigger": {"strategy": "once"}, "template": template(&pod)});
    ask(
        &env,
        "wrong",
        &spec(json!({"containers": [{"name": "work", "image": "i", "imagePulPolicy": "Always"}]})),
    )
    .await;
    let object = env
        .wait_for_object("wrong", "refusal", |object| {
            says(object, "Failed", ConditionStatus::True, "Refused")
        })
        .await;
    let message = &condition(&object, "Failed").unwrap().message;
    assert!(message.contains("imagePulPolicy"), "{message}");
    ask(&env, "wrong", &spec(json!({}))).await;
    env.wait_for_object("wrong", "running", is_running).await;

    let mut unknown = spec(json!({}));
    unknown["output"] = json!({"outputMap": {"other": {"output.json": {"name": "s"}}}});
    ask(&env, "unknown", &unknown).await;
    let object = env
        .wait_for_object("unknown", "refusal", |object| {
            says(object, "Failed", ConditionStatus::True, "Refused")
        })
        .await;
    assert!(condition(&object, "Failed").unwrap().message.contains("'other'"));
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn output_pods_have_an_account_with_few_permissions() {
    let env = OperatorTasks::set("account").await;
    let operator = env.operator("one");
    let mut spec = json!({"trigger": {"strategy": "now"}, "template": template(&json!({}))});
    spec["output"] = json!({"outputMap": {"work": {"output.json": {"name": "result"}}}});
    ask(&env, "kept", &spec).await;
    let pod = pod(&env, "kept").await.spec.unwrap();
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
    let role = env.api::<Role>().get("boson-output").await.unwrap();
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
    env.api::<RoleBinding>().get("boson-output").await.unwrap();

    // The namespace may name another account.
    let label = "quarks.cloudfoundry.org/qjob-service-account";
    shared()
        .unwrap()
        .label_namespace(&env.namespace, label, "mine")
        .unwrap();
    ask(&env, "other", &spec).await;
    let object = env
        .wait_for_object("other", "waiting", |object| {
            says(object, "Complete", ConditionStatus::False, "Waiting")
        })
        .await;
    assert!(condition(&object, "Complete").unwrap().message.contains("'mine'"));
    let mine: ServiceAccount = serde_json::from_value(json!({"metadata": {"name": "mine"}})).unwrap();
    env.api().create(&PostParams::default(), &mine).await.unwrap();
    env.wait_for_object("other", "running", is_running).await;
    assert_eq!(
        self::pod(&env, "other")
            .await
            .spec
            .unwrap()
            .service_account_name
            .as_deref(),
        Some("mine")
    );
    operator.stop().await;
}
