//! What `host util persist-output` writes, with only the permissions of its account.

use super::users::{ask, is_running, template};
use crate::operator_tasks::OperatorTasks;
use crate::shared_cluster::connection;
use boson_api::job::{Output, OutputSecret};
use boson_cluster::client::{Cluster, Connection};
use boson_output::{KeepError, keep, secrets};
use k8s_openapi::api::core::v1::{Pod, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config, ResourceExt};
use serde_json::{Value, json};
use std::sync::Arc;

/// The API server as the account of output pods.
async fn as_account(env: &OperatorTasks) -> Cluster {
    let Connection::File { path: Some(path), .. } = connection() else {
        unreachable!("tests have a kubeconfig")
    };
    let file = Kubeconfig::read_from(path).unwrap();
    let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .unwrap();
    config.auth_info.impersonate = Some(format!("system:serviceaccount:{}:boson-output", env.namespace));
    Cluster::new(Client::try_from(config).unwrap(), Arc::default())
}

/// Stores a file, as the container would. Returns the names of its Secrets, or the error.
async fn kept(env: &OperatorTasks, cluster: &Cluster, asked: &Value, text: &str) -> Result<Vec<String>, KeepError> {
    let output: Output = serde_json::from_value(json!({"outputMap": {}, "secretLabels": {"of": "all"}})).unwrap();
    let asked: OutputSecret = serde_json::from_value(asked.clone()).unwrap();
    let owner = OwnerReference {
        api_version: "example.com/v1".into(),
        kind: "Owner".into(),
        name: "owner".into(),
        uid: "11111111-1111-1111-1111-111111111111".into(),
        ..OwnerReference::default()
    };
    let mut names = Vec::new();
    for wanted in secrets("'f'", text.as_bytes(), &output, &asked).unwrap() {
        names.push(keep(cluster, &env.namespace, &owner, &wanted).await?);
    }
    Ok(names)
}

async fn versions(env: &OperatorTasks) -> Vec<(String, Option<String>)> {
    let all = env.api::<Secret>().list(&ListParams::default()).await.unwrap().items;
    all.iter()
        .map(|secret| (secret.name_any(), secret.resource_version()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn output_is_stored_in_versions_and_never_overwrites_secrets_of_others() {
    let env = OperatorTasks::set("kept").await;
    let operator = env.operator("one");
    let mut spec = json!({"trigger": {"strategy": "now"}, "template": template(&json!({}))});
    spec["output"] = json!({"outputMap": {"work": {"output.json": {"name": "result"}}}});
    ask(&env, "kept", &spec).await;
    env.wait_for_object("kept", "running", is_running).await;
    operator.stop().await;
    let cluster = as_account(&env).await;
    let pod: Option<Pod> = cluster.get(&env.namespace, "none").await.unwrap();
    assert!(pod.is_none(), "it may read pods");

    let versioned = |from: &str| json!({"name": "v", "versioned": true, "secretAnnotations": {"from": from}});
    assert_eq!(
        kept(&env, &cluster, &versioned("1"), r#"{"k": "a"}"#).await.unwrap(),
        ["v-v1"]
    );
    assert_eq!(
        kept(&env, &cluster, &versioned("2"), r#"{"k": "a"}"#).await.unwrap(),
        ["v-v1"]
    );
    let first = env.api::<Secret>().get("v-v1").await.unwrap();
    assert_eq!(
        (first.immutable, first.annotations()["from"].as_str()),
        (Some(true), "2")
    );
    assert_eq!(first.labels()["of"], "all");
    assert_eq!(
        kept(&env, &cluster, &versioned("2"), r#"{"k": "b"}"#).await.unwrap(),
        ["v-v2"]
    );

    let plain = json!({"name": "p", "persistencemethod": "fan-out"});
    let file = |value: &str| json!({"x": json!({"k": value}).to_string(), "y": "{}"}).to_string();
    assert_eq!(kept(&env, &cluster, &plain, &file("1")).await.unwrap(), ["p-x", "p-y"]);
    kept(&env, &cluster, &plain, &file("2")).await.unwrap();
    assert_eq!(env.text("p-x", "k").await.as_deref(), Some("2"));
    let before = versions(&env).await;
    kept(&env, &cluster, &plain, &file("2")).await.unwrap();
    kept(&env, &cluster, &versioned("2"), r#"{"k": "b"}"#).await.unwrap();
    assert_eq!(versions(&env).await, before, "what is there is not written again");

    let mine: Secret =
        serde_json::from_value(json!({"metadata": {"name": "mine"}, "stringData": {"k": "mine"}})).unwrap();
    env.api().create(&PostParams::default(), &mine).await.unwrap();
    let stolen = kept(&env, &cluster, &json!({"name": "mine"}), r#"{"k": "stolen"}"#).await;
    assert!(matches!(stolen, Err(KeepError::Foreign(_))), "{stolen:?}");
    assert_eq!(env.text("mine", "k").await.as_deref(), Some("mine"));
}
